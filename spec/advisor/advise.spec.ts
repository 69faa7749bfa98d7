// throttled.advise(): totals of one process or of several over Redis, also after restarts and an outage.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { redisStore, throttle, type Advice, type ThrottleOptions } from '../../lib'
import { manualClock } from '../../lib/testing'
import { insideOf } from '../../lib/throttle/store/store'
import { redisOfTest } from '../support/redis'
import { throttledApp } from '../support/throttled-app'
import { assertIs, above, until } from '../support/until'

/** A process of users with a second an hour. */
async function start(t: TestContext, options: ThrottleOptions) {
  const { throttled, ask } = await throttledApp(t, { limitMs: 1_000, windowMs: 3_600_000, ...options })
  return { throttled, spend: async (who: string, ms: number) => (await ask(who, ms)).status }
}

const isNear = (actual: number | undefined, exact: number, off: number) =>
  assert.ok(actual !== undefined && Math.abs(actual - exact) <= off, `${actual} for ${exact}`)

describe('throttled.advise()', () => {
  it('without a store: the totals of this process, window by window, and the refused requests', async (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1, 12, 10))
    const { throttled, spend } = await start(t, { clock, windowMs: 60_000 })
    for (const [who, ms] of [['ada', 300], ['ada', 900], ['grace', 100], ['mary', 40]] as const) assert.equal(await spend(who, ms), 200) // prettier-ignore
    assert.equal(await spend('ada', 1), 429)
    const [first] = await throttled.advise({ limitsMs: [50, 1_000, 5_000] })
    assert.deepEqual([first?.subjectWindows, first?.refusedRequests, first?.processingMs], [3, 1, 1_340])
    assert.deepEqual(first?.limits.map(({ subjectWindows }) => subjectWindows), [2, 1, 0]) // prettier-ignore
    assert.match(first?.warning ?? '', /^1 request was refused/)
    clock.advance(120_000)
    for (const who of ['ada', 'grace']) assert.equal(await spend(who, 700), 200)
    const [second] = await throttled.advise()
    assert.deepEqual([second?.subjectWindows, second?.processingMs, second?.hours], [5, 2_740, 24])
    isNear(second?.quantilesMs.p50, 700, 65)
    await throttled.reset('grace')
    assert.equal((await throttled.advise())[0]?.subjectWindows, 4)
    clock.advance(3_600_000)
    assert.deepEqual((await throttled.advise({ hours: 1 })).map(({ subjectWindows }) => subjectWindows), [0]) // prettier-ignore
  })

  it('over four processes and Redis: each subject-window once, with its final total, also after restarts', async (t) => {
    const redis = await redisOfTest(t)
    const terms = { limitMs: 2_000_000, windowMs: 86_400_000, dryRun: true } // hardly any window ends meanwhile
    const make = () => start(t, { ...terms, store: redisStore(redis.url) })
    const processes = await Promise.all([make(), make(), make(), make()])
    const exact = Array.from({ length: 60 }, (_, i) => Math.round(400 * 1.12 ** i)) // ms, 0.4 s to 320 s: beside it, what requests take is little
    const parts = exact.flatMap((ms, i) =>
      [0.1, 0.4, 0.2, 0.3].map((part, p) => [i, p, Math.round(ms * part)] as const),
    )
    const spendAll = (which: typeof parts) =>
      Promise.all(which.map(([i, p, ms]) => (processes[p] ?? assert.fail()).spend(`user-${i}`, ms)))
    await spendAll(parts.slice(0, 120))
    await processes[2]?.throttled.close() // a restart: what it counted stays
    processes[2] = await make()
    await spendAll(parts.slice(120))
    let advice: Advice | undefined
    const total = exact.reduce((sum, ms) => sum + ms, 0)
    await until(async () => {
      await Promise.all(processes.map(({ throttled }) => throttled.flush()))
      await Promise.all(processes.map(({ throttled }) => throttled.advise())) // each writes what it has counted
      ;[advice] = await (processes[1] ?? assert.fail()).throttled.advise({ hours: 2, limitsMs: [20_000, 100_000] })
      return advice?.subjectWindows === 60 && Math.abs(advice.processingMs - total) < total / 50
    })
    assert.ok(advice)
    for (const limit of advice.limits) {
      isNear(limit.subjectWindows, exact.filter((ms) => ms > limit.limitMs).length, 1)
    }
    isNear(advice.quantilesMs.p50, exact[29] as number, 0.1 * (exact[29] as number))
    isNear(advice.quantilesMs.max, exact[59] as number, 0.03 * (exact[59] as number))
    const admin = new Redis(redis.port)
    t.after(() => admin.disconnect())
    for (const key of await admin.keys('tollgate:usage:*')) {
      assert.match(key, /^tollgate:usage:\d+:default$/)
      assertIs(await admin.pttl(key), above(6 * 86_400_000))
    }
  })

  it('loses nothing that the store did not take', async (t) => {
    const store = redisStore((await redisOfTest(t)).url)
    t.mock.method(insideOf(store), 'addUsage', () => Promise.reject(new Error('down')), { times: 1 })
    const { throttled, spend } = await start(t, { store, windowMs: 86_400_000 })
    assert.equal(await spend('ada', 300), 200)
    await throttled.flush()
    await until(async () => (await throttled.advise())[0]?.subjectWindows, 1)
  })

  it('says which option is out of its range, and rejects where the store does not answer', async (t) => {
    const { throttled } = await start(t, {})
    await assert.rejects(
      throttled.advise({ hours: 0 }),
      /^RangeError: hours must be a whole number from 1 to 168; received 0/,
    )
    await assert.rejects(throttled.advise({ limitsMs: [5, 0.5] }), /^RangeError: limitsMs must be/)
    const never = { addUsage: () => new Promise<void>(() => {}), readUsage: () => new Promise<never>(() => {}) }
    const store = Object.assign(redisStore('redis://127.0.0.1:1'), never)
    const silent = throttle({ store })
    t.after(() => silent.close())
    await assert.rejects(silent.advise(), /advise\(\): the store does not answer/)
  })
})
