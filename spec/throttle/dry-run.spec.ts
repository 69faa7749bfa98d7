import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, it, type TestContext } from 'node:test'
import express, { type Express } from 'express'
import { type RefusedMessage, type ThrottleOptions, budgetOf, redisStore, throttle } from '../../lib'
import { manualClock } from '../../lib/testing'
import { freePort, startRedis } from '../support/redis'
import { type Answer, listen } from '../support/serve'
import { until } from '../support/until'

const WINDOW = { limitMs: 1_000, windowMs: 86_400_000, subject: () => 'ada' } satisfies ThrottleOptions
const DRY = { ...WINDOW, dryRun: true } satisfies ThrottleOptions

/** An app whose handlers charge as many milliseconds as their path says. */
async function api(t: TestContext, mount: (app: Express) => void) {
  const app = express()
  mount(app)
  app.get('/charge/:ms', (req, res) => {
    budgetOf(req).charge(Number(req.params.ms))
    res.json(budgetOf(req))
  })
  const { get, close } = await listen(app)
  t.after(close)
  return get
}

/** What the channel of refusals tells until the test ends. */
function refusals(t: TestContext): RefusedMessage[] {
  const told: RefusedMessage[] = []
  const tell = (message: unknown) => void told.push(message as RefusedMessage)
  subscribe('express-tollgate:refused', tell)
  t.after(() => unsubscribe('express-tollgate:refused', tell))
  return told
}

const budgetFields = ({ headers }: Answer) =>
  [...headers.keys()].filter((name) => /throttle|ratelimit|retry-after|processing/.test(name))

describe('throttle({ dryRun: true })', () => {
  for (const headers of [{}, { rateLimit: true }, { throttle: 'always', rateLimit: true }] as const) {
    it(`sends no field of a budget with headers: ${JSON.stringify(headers)}, and tells the app all of it`, async (t) => {
      const told = refusals(t)
      const get = await api(t, (app) => {
        app.use(throttle({ ...DRY, headers }))
        app.get('/counter', (_req, res) => void res.sendStatus(429))
      })
      assert.deepEqual(budgetFields(await get('/charge/1500')), [])
      const over = await get('/charge/100')
      assert.deepEqual([over.status, budgetFields(over)], [200, []])
      const { subject, limitMs, spentMs, leftMs } = JSON.parse(over.body) as Record<string, number>
      assert.deepEqual([subject, limitMs, Number(spentMs) >= 1_600, leftMs], ['ada', 1_000, true, 0])
      assert.deepEqual(budgetFields(await get('/counter')), [], 'nor on a 429 of something else')
      assert.deepEqual(
        told.map(({ dryRun, status, reason }) => [dryRun, status, reason]),
        Array(2).fill([true, 429, 'spent']),
      )
    })
  }

  it('leaves the fields and Retry-After of an enforcing throttle beside it as they are', async (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const short = { name: 'short', limitMs: 5_000, windowMs: 10_000, clock }
    const get = await api(t, (app) => {
      app.use(throttle({ ...DRY, clock, headers: { rateLimit: true } }))
      app.use(throttle({ ...WINDOW, ...short, headers: { rateLimit: true } }))
    })
    const passed = await get('/charge/1500')
    assert.deepEqual([passed.number('X-Throttle-Window-Size'), passed.number('X-Throttle-Millis-Left')], [5_000, 3_500])
    assert.match(passed.headers.get('ratelimit') ?? '', /^"short";r=3500;t=\d+$/)
    await get('/charge/4000')
    const refused = await get('/charge/1')
    assert.equal(refused.status, 429)
    assert.ok(refused.number('Retry-After') <= 10, 'the dry run would have it be a day')
  })

  it('aborts no signal', async (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const get = await api(t, (app) => {
      app.use(throttle({ ...DRY, clock }))
      app.get('/signal', (req, res) => {
        const { signal } = budgetOf(req)
        budgetOf(req).charge(10_000)
        clock.advance(5_000)
        res.json(signal.aborted)
      })
    })
    assert.equal((await get('/signal')).body, 'false')
  })

  for (const onOutage of ['local', 'closed'] as const) {
    it(`waits for no store, nor for its first answer: onOutage: ${onOutage}`, async (t) => {
      const throttled = throttle({ ...DRY, onOutage, store: redisStore(`redis://127.0.0.1:${await freePort()}`) })
      t.after(() => throttled.close())
      let isReadyFirst = false
      void throttled.ready().catch(() => (isReadyFirst = true))
      let inTheSameTurn = false
      const get = await api(t, (app) => {
        app.use((_req, _res, next) => {
          inTheSameTurn = true
          next()
          inTheSameTurn = false
        })
        app.use(throttled)
        app.get('/turn', (_req, res) => void res.json([inTheSameTurn, isReadyFirst]))
      })
      assert.deepEqual(JSON.parse((await get('/turn')).body), [true, false])
    })
  }

  for (const wait of [undefined, false] as const) {
    it(`over Redis tells of a user who spent the time in another process, with wait: ${wait}`, async (t) => {
      const server = await startRedis()
      t.after(() => server.stop())
      const told = refusals(t)
      const [one, two] = await Promise.all(
        [1, 2].map(async () => {
          const throttled = throttle({ ...DRY, wait, store: redisStore(`redis://127.0.0.1:${server.port}`) })
          t.after(() => throttled.close())
          await until(async () => (await throttled.usage('nobody'))[0]?.degraded === false)
          return { throttled, get: await api(t, (app) => app.use(throttled)) }
        }),
      )
      assert.ok(one && two)
      await one.get('/charge/1500')
      await one.throttled.flush()
      assert.equal((await two.get('/charge/1')).status, 200)
      await until(() => told.length > 0)
      assert.deepEqual([told[0]?.dryRun, told[0]?.status, told[0]?.reason], [true, 429, 'spent'])
    })
  }
})
