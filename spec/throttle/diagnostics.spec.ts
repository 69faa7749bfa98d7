// The channels of node:diagnostics_channel, and dry runs.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type Express } from 'express'
import {
  type AdmittedMessage,
  type ChargedMessage,
  type RefusedMessage,
  type ThrottleOptions,
  throttle,
  throttleTest,
  budgetOf,
  redisStore,
} from '../../lib'
import { manualClock } from '../../lib/testing'
import { heard } from '../support/heard'
import { serve, type Answer } from '../support/serve'
import { freePort } from '../support/redis'
import { assertIs, atMost, above } from '../support/until'

async function api(options: Partial<ThrottleOptions> = {}) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const app = express()
  app.use(throttle({ limitMs: 1_000, windowMs: 86_400_000, subject: () => 'ada', clock, ...options }))
  app.get('/work', (_req, res) => {
    clock.advance(200)
    res.end()
  })
  app.get('/after', ({ throttle }, res) => {
    res.end()
    throttle?.charge(70)
  })
  app.get('/throttled', throttleTest())
  const { get } = await serve(app)
  return get
}

describe('node:diagnostics_channel', () => {
  it('hears of each request that is admitted, and of what was charged', async (t) => {
    const admitted = heard<AdmittedMessage>(t, 'admitted')
    const charged = heard<ChargedMessage>(t, 'charged')
    const get = await api()
    await get('/work')
    await get('/work')
    await get('/throttled?processingTime=50')
    const told = admitted.map(({ req, ...rest }) => ({ path: req.path, ...rest }))
    const always = { subject: 'ada', window: 'default' }
    assert.deepEqual(told, [
      { path: '/work', ...always, holdMs: 500, degraded: false },
      { path: '/work', ...always, holdMs: 400, degraded: false },
      { path: '/throttled', ...always, holdMs: 500, degraded: false },
    ])
    assert.deepEqual(
      charged.map(({ req, ...rest }) => ({ path: req.path, ...rest })),
      [
        { path: '/work', ...always, chargedMs: 200, holdMs: 500, by: 'request' },
        { path: '/work', ...always, chargedMs: 200, holdMs: 400, by: 'request' },
        { path: '/throttled', ...always, chargedMs: 50, holdMs: 0, by: 'charge' },
        { path: '/throttled', ...always, chargedMs: 0, holdMs: 500, by: 'request' },
      ],
    )
  })

  it('hears whose request it was that is charged after its response has ended', async (t) => {
    const charged = heard<ChargedMessage>(t, 'charged')
    const get = await api()
    await get('/after')
    assert.deepEqual(
      charged.map(({ req, chargedMs, by }) => [req.path, chargedMs, by]),
      [
        ['/after', 0, 'request'],
        ['/after', 70, 'charge'],
      ],
    )
  })

  it('hears as much given back as was set aside, whatever became of the requests', async (t) => {
    const admitted = heard<AdmittedMessage>(t, 'admitted')
    const charged = heard<ChargedMessage>(t, 'charged')
    const get = await api()
    await Promise.all(Array.from({ length: 40 }, (_, i) => get(i % 3 ? '/work' : '/nowhere')))
    const sum = (messages: { holdMs: number }[]) => messages.reduce((total, { holdMs }) => total + holdMs, 0)
    assertIs(sum(admitted), above(0))
    assert.equal(sum(charged), sum(admitted))
  })
})

const WINDOW = { limitMs: 1_000, windowMs: 86_400_000, subject: () => 'ada' } satisfies ThrottleOptions
const DRY = { ...WINDOW, dryRun: true } satisfies ThrottleOptions

/** An app whose handlers charge as many milliseconds as their path says. */
async function charging(mount: (app: Express) => void) {
  const app = express()
  mount(app)
  app.get('/charge/:ms', (req, res) => {
    budgetOf(req).charge(Number(req.params.ms))
    res.json(budgetOf(req))
  })
  const { get } = await serve(app)
  return get
}

const budgetFields = ({ headers }: Answer) =>
  [...headers.keys()].filter((name) => /throttle|ratelimit|retry-after|processing/.test(name))

describe('throttle({ dryRun: true })', () => {
  for (const headers of [{}, { rateLimit: true }, { throttle: 'always', rateLimit: true }] as const) {
    it(`sends no field of a budget with headers: ${JSON.stringify(headers)}, and tells the app all of it`, async (t) => {
      const told = heard<RefusedMessage>(t, 'refused')
      const get = await charging((app) => {
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

  it('leaves the fields and Retry-After of an enforcing throttle beside it as they are', async () => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const short = { name: 'short', limitMs: 5_000, windowMs: 10_000, clock }
    const get = await charging((app) => {
      app.use(throttle({ ...DRY, clock, headers: { rateLimit: true } }))
      app.use(throttle({ ...WINDOW, ...short, headers: { rateLimit: true } }))
    })
    const passed = await get('/charge/1500')
    assert.deepEqual([passed.number('X-Throttle-Window-Size'), passed.number('X-Throttle-Millis-Left')], [5_000, 3_500])
    assert.match(passed.headers.get('ratelimit') ?? '', /^"short";r=3500;t=\d+$/)
    await get('/charge/4000')
    const refused = await get('/charge/1')
    assert.equal(refused.status, 429)
    assertIs(refused.number('Retry-After'), atMost(10), 'the dry run would have it be a day')
  })

  it('aborts no signal', async () => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const get = await charging((app) => {
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
      const get = await charging((app) => {
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
})
