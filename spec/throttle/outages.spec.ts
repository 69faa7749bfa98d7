// When a store counts as down and as up again, and what is printed of it, in simulated time.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { throttle } from '../../lib/index'
import { manualClock } from '../../lib/testing'
import type { ThrottleStore } from '../../lib/throttle/store/store'

const REFUSED = Object.assign(new Error('denied'), { name: 'ReplyError' })

/** A throttle whose time and whose store's answers to heartbeats are the spec's: after so many ms, never, or an error. */
function watched(t: TestContext, more: { deadlineMs?: number } = {}) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const server = { latencyMs: 0, error: undefined as Error | undefined, beats: 0 }
  const beat = () =>
    new Promise<{ time: number }>((resolve, reject) => {
      server.beats++
      const { latencyMs, error } = server
      const answer = () => (error ? reject(error) : resolve({ time: Math.round(clock.date() * 1_000) }))
      if (latencyMs < Infinity) clock.after(latencyMs, answer)
    })
  const only = { name: undefined, place: 'redis.test:6379', beat, report: () => new Promise<never>(() => {}) }
  const store = { serverOf: () => only, watch: () => undefined, close: () => Promise.resolve(), ...more }
  const throttled = throttle({ clock, store: store as unknown as ThrottleStore })
  const said: string[] = []
  t.mock.method(process, 'emitWarning', (message: string, { code }: { code: string }) => {
    said.push(`${code}: ${message.replace(/ \(express-tollgate.*/, '')}`)
  })
  const pass = async (ms: number) => {
    const step = ms > 10_000 ? 50 : 5
    for (let passed = 0; passed < ms; passed += step) {
      clock.advance(step)
      await setImmediate()
    }
  }
  /** The store answers so from the next heartbeat on: it is late, or fails. */
  const fail = async (how: number | Error) => {
    server.latencyMs = typeof how === 'number' ? how : 0
    server.error = typeof how === 'number' ? undefined : how
    for (const { beats } = server; server.beats === beats;) await pass(5)
  }
  const heal = () => Object.assign(server, { latencyMs: 0, error: undefined })
  let isDown: boolean | undefined
  const degraded = async () => {
    void throttled.usage('nobody').then(([usage]) => (isDown = usage?.degraded))
    await pass(400) // a report is given up then
    return isDown
  }
  return { fail, heal, said, pass, degraded }
}

describe('throttle() over a store that does not always answer in time', () => {
  const NO_OUTAGES: [string, number | Error, number][] = [
    ['answers of 90 ms for 1.5 s', 90, 1_500],
    ['no answer for 150 ms', Infinity, 150],
    ['a connection that is closed for 150 ms', new Error('Connection is closed.'), 150],
    ['answers of 65 ms for 10 s', 65, 10_000],
  ]
  for (const [name, how, ms] of NO_OUTAGES)
    it(`takes for no outage: ${name}`, async (t) => {
      const { fail, heal, said, pass, degraded } = watched(t)
      await fail(how)
      await pass(ms)
      heal()
      assert.deepEqual([said, await degraded()], [[], false])
    })

  const OUTAGES: [string, number | Error, number, RegExp][] = [
    ['no answer for 250 ms', Infinity, 300, /: no heartbeat was answered in 70 ms\. Until/],
    ['answers that all come late', 90, 2_200, /no heartbeat was answered in 70 ms, though later: set deadlineMs/],
    ['no connection for 250 ms', new Error('connect ECONNREFUSED'), 300, /: connect ECONNREFUSED\. Until/],
    ['a refusal', REFUSED, 20, /: denied\. Until/],
  ]
  for (const [name, how, ms, says] of OUTAGES)
    it(`is down after ${name}, and up after 1 s of answers in time`, async (t) => {
      const { fail, heal, said, pass, degraded } = watched(t)
      await fail(how)
      await pass(ms)
      assert.equal(await degraded(), true)
      assert.match(said.join('\n'), says)
      heal()
      await pass(500)
      assert.equal(await degraded(), true)
      await pass(600)
      assert.equal(await degraded(), false)
      assert.equal(said.length, 2)
      assert.match(said[1] as string, /^TOLLGATE_RECOVERED: .* at redis\.test:6379 answers again after \d\.\d s$/)
    })

  it('prints an outage and its end, and none that begins within a minute of one that was printed', async (t) => {
    const { fail, heal, said, pass } = watched(t)
    for (let i = 0; i < 24; i++) {
      await fail(Infinity)
      await pass(1_000)
      heal()
      await pass(3_000)
    }
    const codes = said.map((line) => line.slice(0, line.indexOf(':')))
    assert.deepEqual(codes, ['TOLLGATE_DEGRADED', 'TOLLGATE_RECOVERED', 'TOLLGATE_DEGRADED', 'TOLLGATE_RECOVERED'])
    await pass(180_000)
    assert.equal(said.length, 4)
  })

  it('prints an outage that begins within a minute of another while it lasts, and a new cause of it', async (t) => {
    const { fail, heal, said, pass } = watched(t)
    await fail(REFUSED)
    await pass(1_000)
    heal()
    await pass(3_000)
    await fail(REFUSED)
    await pass(61_000)
    await fail(Object.assign(new Error('no memory'), { name: 'ReplyError' }))
    await pass(61_000)
    await fail(Infinity) // says less than the refusal
    await pass(61_000)
    heal()
    await pass(3_000)
    const told = said.map((line) => /_RECOVERED|denied|no memory|no heartbeat/.exec(line)?.[0])
    assert.deepEqual(told, ['denied', '_RECOVERED', 'denied', 'no memory', '_RECOVERED'])
  })

  it('waits as long as the store says', async (t) => {
    const { fail, said, pass, degraded } = watched(t, { deadlineMs: 300 })
    await fail(250)
    await pass(10_000)
    assert.deepEqual([said, await degraded()], [[], false])
  })
})
