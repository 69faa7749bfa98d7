// How many requests of a subject run at once: after overshoot, with gone clients, with concurrency.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, describe, it } from 'node:test'
import express, { type Response } from 'express'
import { type ThrottleOptions, budgetOf, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { heldApi } from './held-api'
import { connected, serve } from '../../support/serve'
import { assertIs, atMost, above, until } from '../../support/until'

describe('throttle() and the requests of a subject that run at once', () => {
  it('lets 32 run on a fresh budget, whatever the price', async (t) => {
    const { burst, teachQuick } = await heldApi(t)
    await teachQuick()
    assert.equal(await burst(40), 32)
  })

  it('lets fewer run as the budget is used, and one always', async (t) => {
    const { burst, clock, endAll, running, teachQuick } = await heldApi(t)
    await teachQuick('/a')
    await teachQuick('/b')
    await teachQuick('/c')
    assert.equal(await burst(1, '/a'), 1)
    clock.advance(500)
    running.splice(0)[0]?.res.end()
    assert.equal(await burst(20, '/b'), 16)
    endAll()
    assert.equal(await burst(1, '/c'), 1)
    clock.advance(499)
    endAll()
    assert.equal(await burst(3, '/b'), 1)
  })

  it('shares them among routes', async (t) => {
    const { burst, teachQuick } = await heldApi(t)
    for (const path of ['/a', '/b', '/c']) await teachQuick(path)
    assert.equal((await burst(15, '/a')) + (await burst(15, '/b')) + (await burst(15, '/c')), 32)
  })
})

describe('throttle() and a response that has ended before', () => {
  it('takes no place', async () => {
    const app = express().set('tollgate dialect', 'standard')
    app.use('/early', (_req, res, next) => next(void res.end()))
    app.use(throttle({ subject: () => 'ada', windowMs: 3_600_000, concurrency: 1, wait: false }))
    const { get } = await serve(app.get('/', (_req, res) => void res.end()))
    assert.deepEqual([(await get('/early')).status, (await get('/')).status], [200, 200])
  })
})

describe('throttle() and a request that the app destroys in the turn in which it was let in', () => {
  it('frees its place', async (t) => {
    const running: Response[] = []
    const arrived: Response[] = []
    const app = express().use((_req, res, next) => {
      arrived.push(res)
      next()
    })
    const clock = manualClock(Date.UTC(2026, 0, 1))
    app.use(throttle({ subject: () => 'ada', limitMs: 2_000, windowMs: 3_600_000, concurrency: 2, clock }))
    app.get('/charge/:ms', (req, res) => {
      budgetOf(req).charge(Number(req.params.ms))
      res.end()
    })
    app.use((req, res) => {
      if (req.query.held === undefined) {
        budgetOf(req).charge(10)
        return void res.end()
      }
      running.push(res)
      if (running.length === 2) arrived.at(-1)?.destroy()
    })
    const { get, port } = await serve(app)
    const ask = async (path: string) => {
      const count = arrived.length + 1
      const socket = await connected(t, port)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await until(() => arrived.length, count)
    }
    for (let i = 0; i < 8; i++) await get('/work') // at 10 ms
    await get('/charge/915')
    await ask('/unknown?held') // its price is half of the limit, so 5 ms are left
    await ask('/work?held')
    await ask('/work?held')
    assert.equal(running.length, 1)
    running[0]?.end()
    await until(() => running.length, 2)
    await ask('/work?held')
    assert.equal(running.length, 3)
  })
})

describe('throttle() and the places of a subject after it exceeded its limit', () => {
  /** Eight limits in one window: 32 requests of 250 ms. */
  async function overshoot(api: Awaited<ReturnType<typeof heldApi>>) {
    await api.teachQuick('/a')
    assert.equal(await api.burst(32, '/a'), 32)
    api.clock.advance(250)
    api.endAll()
    assert.equal(await api.spentMs(), 8_000)
  }

  it('lets fewer run in the next window also where a request without a limit came', async (t) => {
    const api = await heldApi(t, { limitMs: ({ path }) => (path === '/ping' ? Infinity : 1_000) })
    await overshoot(api)
    await api.burst(1, '/ping')
    api.endAll()
    await api.enterNextWindow()
    await api.teachQuick('/b')
    assert.equal(await api.burst(8, '/b'), 4)
  })

  it('has half as many more after eight windows', async (t) => {
    const api = await heldApi(t)
    await overshoot(api)
    for (let window = 0; window < 10; window++) await api.enterNextWindow()
    await api.teachQuick('/b')
    assert.equal(await api.burst(12, '/b'), 8)
  })
})

describe('throttle() and a request whose client has gone and whose handler nobody sees', () => {
  /** So many requests begin, and lose their clients at once. */
  async function leave({ open, running }: Awaited<ReturnType<typeof heldApi>>, count: number, path = '/work') {
    const [before, sockets] = [running.length, []] as [number, Socket[]]
    for (let i = 0; i < count; i++) sockets.push(await open(path))
    const signals = running.slice(before).map(({ req }) => budgetOf(req).signal)
    for (const socket of sockets) socket.resetAndDestroy()
    await until(() => signals.every(({ aborted }) => aborted))
  }
  /** A route whose requests take 10 ms. */
  async function known(t: TestContext, options?: ThrottleOptions) {
    const api = await heldApi(t, options)
    for (let n = 0; n < 8; n++) {
      await api.burst(1)
      api.clock.advance(10)
      api.endAll()
    }
    return api
  }

  for (const [what, timersAt] of [
    ['', 1],
    [', also where a timer fires early, as in Node one does that is set late in a long turn', 0.5],
  ] as const)
    it(`keeps its hold until it is written off${what}`, async (t) => {
      const api = await heldApi(t)
      const after = api.clock.after.bind(api.clock)
      api.clock.after = (ms, fn) => after(ms * timersAt, fn)
      await leave(api, 2)
      for (const ms of [20, 11]) {
        api.clock.advance(ms)
        assert.equal(await api.burst(1), 0, '500 ms are held for each')
      }
      api.clock.advance(1)
      assert.equal(await api.burst(1), 1)
    })

  it('gives its hold back when the handler ends the response', async (t) => {
    const api = await heldApi(t)
    await leave(api, 2)
    api.clock.advance(5)
    api.endAll()
    assert.equal(await api.spentMs(), 10)
    assert.equal(await api.burst(1), 1)
  })

  it('pays what the route takes, and takes a place until the window ends', async (t) => {
    const api = await known(t)
    await leave(api, 16)
    api.clock.advance(9)
    assert.equal(api.running.length, 16)
    api.clock.advance(1)
    assert.equal(await api.spentMs(), 80 + 160)
    assert.equal(await api.burst(20), 8) // 76 % of the places are left, and 16 may be at work still
  })

  it('pays a 32nd of the limit where nothing is known of the route', async (t) => {
    const api = await heldApi(t)
    await leave(api, 2)
    api.clock.advance(50)
    assert.equal(await api.spentMs(), 62.5)
  })

  it('pays a quarter of the limit from the 33rd of a window on', async (t) => {
    const api = await heldApi(t)
    await api.teachQuick()
    await leave(api, 32)
    assert.equal(await api.spentMs(), 0)
    await leave(api, 1)
    api.clock.advance(500)
    assert.equal(await api.spentMs(), 250)
  })

  it('counts a quarter of a limit each towards the places of the next window', async (t) => {
    const api = await heldApi(t)
    await api.teachQuick()
    await leave(api, 30)
    await api.enterNextWindow()
    assert.equal(await api.burst(12), 4) // 32 / (30 / 4)
  })

  it('costs no more than until then, and frees its place, with endsWithClient', async (t) => {
    const api = await known(t, { routes: { '/work': { limitMs: 1_000, endsWithClient: true } } })
    for (let n = 0; n < 40; n++) {
      await leave(api, 1)
      api.clock.advance(1_000)
    }
    const [, usage] = await api.throttled.usage('ada')
    assert.equal(usage?.spentMs, 80)
    assert.equal(await api.burst(40), 29)
  })

  it('keeps its place with a concurrency until its handler ends, for a limit at most', async (t) => {
    const api = await known(t, { concurrency: 2 })
    await leave(api, 2)
    api.clock.advance(90)
    assert.equal(await api.burst(1), 0)
    api.running[0]?.res.end()
    assert.equal(await api.spentMs(), 80 + 90 + 10)
    assert.equal(await api.burst(2), 1)
    api.running.at(-1)?.res.end()
    api.clock.advance(920)
    assert.equal(await api.burst(3), 2)
    assert.equal(await api.spentMs(), 180)
  })
})

const PLANS: Record<string, number> = { free: 1, pro: 4, team: 100 }

describe('throttle({ concurrency })', () => {
  for (const concurrency of [1, 4, 31, 100])
    it(`runs ${concurrency} of a subject's requests at once on a fresh budget`, async (t) => {
      const { burst, teachQuick } = await heldApi(t, { concurrency })
      await teachQuick()
      assert.equal(await burst(concurrency + 3), concurrency)
    })

  it('runs as many until little of the limit is left', async (t) => {
    const { burst, clock, endAll, teachQuick } = await heldApi(t, { concurrency: 4 })
    for (const path of ['/a', '/b', '/c']) await teachQuick(path)
    await burst(1, '/a')
    clock.advance(870)
    endAll()
    assert.equal(await burst(6, '/b'), 4) // 130 ms are left, and a place is for 32 ms
    endAll()
    await burst(1, '/b')
    clock.advance(60)
    endAll()
    assert.equal(await burst(6, '/c'), 2)
  })

  it('can be a function of the request', async (t) => {
    const subject = (req: { get(name: string): string | undefined }) => `plan:${req.get('x-plan')}`
    const concurrency = (req: { get(name: string): string | undefined }) => PLANS[req.get('x-plan') ?? ''] ?? 1
    const { open, running } = await heldApi(t, { subject, concurrency, limitMs: 1_900_000 })
    for (const [plan, most] of Object.entries(PLANS)) {
      const before = running.length
      for (let n = 0; n < most + 2; n++) await open('/work', `X-Plan: ${plan}\r\n`)
      assert.equal(running.length - before, most, plan)
    }
  })

  it('can be stated for a route', async (t) => {
    const routes = { '/export': { limitMs: 1_000_000, concurrency: 2 }, '/other': { limitMs: 1_000_000 } }
    const { burst } = await heldApi(t, { concurrency: 6, routes, limitMs: 1_000_000 })
    assert.deepEqual([await burst(8, '/export'), await burst(8, '/other'), await burst(8, '/work')], [2, 6, 6])
  })

  it('lets the others wait, first come, first served', async (t) => {
    const { burst, open, running, teachQuick } = await heldApi(t, { concurrency: 4, wait: { maxMs: 60_000 } })
    await teachQuick()
    for (let n = 0; n < 50; n++) await open(`/work?n=${n}`)
    const order: unknown[] = []
    while (order.length < 50) {
      await until(() => running.length, above(0))
      assertIs(running.length, atMost(4), `${running.length} at once`)
      const { req, res } = running.shift() as (typeof running)[0]
      order.push(Number(req.query.n))
      res.end()
      await until(() => running.length, Math.min(4, 50 - order.length))
    }
    assert.deepEqual(
      order,
      Array.from({ length: 50 }, (_, n) => n),
    )
    assert.equal(await burst(1), 1)
  })
})
