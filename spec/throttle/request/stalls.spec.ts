// Time in which another handler blocks the event loop is not charged, within a limit.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type Response } from 'express'
import { throttle } from '../../../lib'
import { opaqueStore } from '../../../lib/throttle/store/store'
import { modelStores } from '../adversaries/model-stores'
import { blockableClock } from '../blockable-clock'
import { serve } from '../../support/serve'
import { steppedClock } from '../stepped-clock'
import { not, until } from '../../support/until'

const BLOCKED_MS = 500
const VICTIMS = 4
const DAY_MS = 86_400_000

/** Some requests that are in flight for 20 ms each, amid which another blocks the event loop. Returns what each pays. */
async function charged(when: 'first turn' | 'later turn') {
  const { clock, advance, block } = blockableClock()
  const throttled = throttle({ limitMs: 60_000, windowMs: DAY_MS, subject: (req) => req.get('X-User')!, clock })
  const app = express()
  const victims: Response[] = []
  let goOn: (() => void) | undefined
  app.use(throttled)
  app.get('/victim', (_req, res) => void victims.push(res))
  app.get('/blocks', async (_req, res) => {
    if (when === 'later turn') await new Promise<void>((resolve) => (goOn = resolve))
    block(BLOCKED_MS)
    res.end()
  })
  const { get } = await serve(app)
  const names = Array.from({ length: VICTIMS }, (_, i) => `victim-${i}`)
  const answers = names.map((name) => get('/victim', { 'X-User': name }))
  await until(() => victims.length, VICTIMS)
  advance(10)
  const blocked = get('/blocks', { 'X-User': 'culprit' })
  if (when === 'later turn') {
    await until(() => goOn, not(undefined), { answer: blocked })
    advance(5)
    goOn?.()
  }
  await blocked
  advance(10)
  for (const res of victims) res.end()
  const times = (await Promise.all(answers)).map((answer) => answer.number('X-PROCESSING-TIME'))
  const spentMs = async (name: string) => (await throttled.usage(name))[0]?.spentMs as number
  return { culprit: await spentMs('culprit'), victims: await Promise.all(names.map(spentMs)), times }
}

describe("throttle() where one request's handler blocks the event loop for 500 ms", () => {
  it('charges the request whose first turn it was, and no other', async () => {
    const { culprit, victims, times } = await charged('first turn')
    assert.equal(culprit, 500)
    assert.deepEqual(victims, Array(VICTIMS).fill(20))
    assert.deepEqual(times, victims)
  })

  it('charges all requests in flight an equal part where nobody knows whose turn it was', async () => {
    const { culprit, victims, times } = await charged('later turn')
    // The loop was seen 5 ms before, and 10 ms between looks are usual: 495 of the 505 ms are shared by five.
    assert.equal(culprit, 505 - 495 * 0.8)
    assert.deepEqual(victims, Array(VICTIMS).fill(525 - 495 * 0.8))
    assert.deepEqual(times, victims)
  })

  it('charges each of many that one answer of the store admits from when its own handler begins', async () => {
    const { passUntil, block, ...clock } = steppedClock()
    const [store] = modelStores(1, clock)
    const throttled = throttle({ subject: () => 'ada', windowMs: DAY_MS, clock, store: store && opaqueStore(store) })
    const app = express().use(throttled)
    app.get('/', (_req, res) => void (block(3), res.end()))
    const { get, server } = await serve(app)
    let came = 0
    server.prependListener('request', () => came++)
    const answers = Array.from({ length: 20 }, () => get('/'))
    await until(() => came, 20)
    await passUntil(clock.now() + 200)
    await Promise.all(answers)
    const usage = throttled.usage('ada')
    await passUntil(clock.now() + 200)
    assert.equal((await usage)[0]?.spentMs, 20 * 3)
  })

  /** Requests that wait on something else, while others block the loop for 200 ms each. Returns what they cost. */
  async function beside(blocks: number, limitMs: number) {
    const { clock, advance, block } = blockableClock()
    const app = express()
    const waiting: Response[] = []
    const throttled = throttle({ limitMs, windowMs: DAY_MS, subject: (req) => req.get('X-User')!, clock })
    app.use(throttled)
    app.get('/waits', (_req, res) => void waiting.push(res))
    app.get('/blocks', (_req, res) => {
      block(200)
      res.end()
    })
    const { get } = await serve(app)
    const answer = get('/waits', { 'X-User': 'mallory' })
    await until(() => waiting.length, 1, { answer })
    for (let i = 0; i < blocks; i++) {
      assert.equal((await get('/blocks', { 'X-User': `other-${i}` })).status, 200)
      advance(1)
    }
    waiting[0]?.end()
    await answer
    return (await throttled.usage('mallory'))[0]?.spentMs
  }

  it('excuses others for at most one limit a window', async () => {
    assert.equal(await beside(4, 60_000), 4)
    assert.equal(await beside(4, 500), 804 - 500)
    assert.equal(await beside(2, 400), 2)
  })
})
