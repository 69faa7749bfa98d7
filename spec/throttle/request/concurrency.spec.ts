import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { heldApi } from '../../support/held-api'
import { until } from '../../support/until'

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

  it('leaves fewer after an overshoot', async (t) => {
    const { burst, clock, endAll, enterNextWindow, teachQuick } = await heldApi(t, { concurrency: 8 })
    await teachQuick('/a')
    assert.equal(await burst(9, '/a'), 8)
    clock.advance(500)
    endAll() // 4 limits
    await enterNextWindow()
    await teachQuick('/b')
    assert.equal(await burst(9, '/b'), 2)
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
      await until(() => running.length > 0)
      assert.ok(running.length <= 4, `${running.length} at once`)
      const { req, res } = running.shift() as (typeof running)[0]
      order.push(Number(req.query.n))
      res.end()
      await until(() => running.length === Math.min(4, 50 - order.length))
    }
    assert.deepEqual(
      order,
      Array.from({ length: 50 }, (_, n) => n),
    )
    assert.equal(await burst(1), 1)
  })
})
