// budgetOf().charge() bounds work as measured time does.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import express, { type Response } from 'express'
import { type ThrottleOptions, budgetOf, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { type Handling, heldApi } from './held-api'
import { serve } from '../../support/serve'
import { assertIs, atMost, until } from '../../support/until'

/** What a request works: the whole limit. */
const WORK_MS = 1_000
/** Of which so much is measured where the rest is charged. */
const MEASURED_MS = 5
const WINDOWS = 3

type Take = (api: Awaited<ReturnType<typeof heldApi>>) => void

/** How many limits a client takes in each window that asks for as much as it is let in, quick requests first. */
async function taken(t: TestContext, take: Take, options: ThrottleOptions = {}): Promise<number[]> {
  const api = await heldApi(t, options)
  const limits: number[] = []
  for (let window = 0; window < WINDOWS; window++) {
    for (let i = 0; i < 3; i++) await api.teachQuick()
    let begun = 0
    for (let more = Infinity; more > 0 && begun < 200; begun += more) {
      more = await api.burst(33)
      take(api)
    }
    limits.push(begun)
    await api.enterNextWindow()
  }
  return limits
}

const measured: Take = ({ clock, endAll }) => {
  clock.advance(WORK_MS)
  endAll()
}

const charged: Take = ({ clock, running, endAll }) => {
  clock.advance(MEASURED_MS)
  for (const { req } of running) budgetOf(req).charge(WORK_MS - MEASURED_MS)
  endAll()
}

const chargedAfterTheEnd: Take = ({ clock, running }) => {
  clock.advance(MEASURED_MS)
  for (const { req, res } of running.splice(0)) {
    res.end()
    budgetOf(req).charge(WORK_MS - MEASURED_MS)
  }
}

describe('budgetOf().charge() bounds work as the stopwatch does', () => {
  for (const [which, options] of [
    ['', {}],
    [', with carryOvershoot', { carryOvershoot: true }],
  ] as const)
    it(`takes no more limits in any window, charged before the end of its request or after it${which}`, async (t) => {
      const byStopwatch = await taken(t, measured, options)
      for (const take of [charged, chargedAfterTheEnd]) {
        const byCharge = await taken(t, take, options)
        t.diagnostic(JSON.stringify({ byStopwatch, byCharge }))
        byCharge.forEach((limits, window) =>
          assertIs(limits, atMost(byStopwatch[window] as number), `window ${window}`),
        )
      }
    })

  it('counts in every window of the request, as overshoot too', async () => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const common = { subject: () => 'ada', wait: false as const, clock }
    const day = throttle({ ...common, name: 'day', limitMs: 4_000, windowMs: 120_000 })
    const minute = throttle({ ...common, name: 'minute', limitMs: 16_000, windowMs: 60_000 })
    const running: Response[] = []
    const app = express().use(day, minute, (_req, res) => void running.push(res))
    const { get } = await serve(app)
    const burst = async (requests: number) => {
      const refused: number[] = []
      const asked = Array.from({ length: requests }, () => get('/').then(({ status }) => refused.push(status)))
      await until(() => refused.length + running.length, requests)
      const begun = running.splice(0)
      for (const res of begun) res.end()
      await Promise.all(asked)
      return begun
    }
    const [last] = await burst(1)
    assert.ok(last)
    budgetOf(last.req).charge(16_000)
    const [spent] = await day.usage('ada')
    assert.equal(spent?.spentMs, 16_000)
    clock.advance(spent?.endsInMs ?? 0)
    for (let i = 0; i < 17; i++) await burst(1) // the price is that of quick requests again
    assert.equal((await burst(33)).length, 8) // 32 places over the 4 limits of the day before
  })

  it('teaches the price what a request charged before its end, and not what it charged after it', async (t) => {
    for (const [take, run] of [
      [charged, 7], // 8 limits of an eighth, and an eighth of it as the margin
      [chargedAfterTheEnd, 12],
    ] as const) {
      const api = await heldApi(t, { limitMs: 8 * WORK_MS })
      for (let i = 0; i < 8; i++) {
        assert.equal(await api.burst(1), 1)
        take(api)
      }
      await api.enterNextWindow()
      assert.equal(await api.burst(12), run)
    }
  })

  it('belongs to the window in which it comes, of a request that runs across its boundary', async (t) => {
    const api = await heldApi(t)
    await api.burst(1)
    const budget = budgetOf((api.running[0] as Handling).req)
    budget.charge(300)
    await api.enterNextWindow()
    assert.equal(await api.spentMs(), 0)
    budget.charge(200)
    api.clock.advance(100)
    assert.equal(await api.spentMs(), 300)
    api.endAll()
    assert.equal(await api.spentMs(), 300)
  })
})
