import assert from 'node:assert/strict'
import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, it, type TestContext } from 'node:test'
import express from 'express'
import {
  type AdmittedMessage,
  type ChargedMessage,
  type RefusedMessage,
  type ThrottleOptions,
  throttle,
  throttleTest,
} from '../../lib'
import { manualClock } from '../../lib/testing'
import { listen } from '../support/serve'

function heard(t: TestContext, name: string): unknown[] {
  const messages: unknown[] = []
  const listener: ChannelListener = (message) => messages.push(message)
  subscribe(`express-tollgate:${name}`, listener)
  t.after(() => unsubscribe(`express-tollgate:${name}`, listener))
  return messages
}

async function api(t: TestContext, options: Partial<ThrottleOptions> = {}) {
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
  const { get, close } = await listen(app)
  t.after(close)
  return get
}

describe('node:diagnostics_channel', () => {
  it('hears of each request that is admitted, and of what was charged', async (t) => {
    const admitted = heard(t, 'admitted') as AdmittedMessage[]
    const charged = heard(t, 'charged') as ChargedMessage[]
    const get = await api(t)
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
    const charged = heard(t, 'charged') as ChargedMessage[]
    await (
      await api(t)
    )('/after')
    assert.deepEqual(
      charged.map(({ req, chargedMs, by }) => [req.path, chargedMs, by]),
      [
        ['/after', 0, 'request'],
        ['/after', 70, 'charge'],
      ],
    )
  })

  it('hears of refusals, and of those that a dry run would have made', async (t) => {
    const refused = heard(t, 'refused') as RefusedMessage[]
    for (const dryRun of [false, true]) {
      const get = await api(t, { dryRun })
      await get('/throttled?processingTime=1001')
      await get('/work')
    }
    assert.deepEqual(
      refused.map(({ subject, window, status, dryRun }) => ({ subject, window, status, dryRun })),
      [false, true].map((dryRun) => ({ subject: 'ada', window: 'default', status: 429, dryRun })),
    )
    for (const { retryAfterSec } of refused) assert.ok(Number.isInteger(retryAfterSec) && retryAfterSec > 0)
  })

  it('hears as much given back as was set aside, whatever became of the requests', async (t) => {
    const admitted = heard(t, 'admitted') as AdmittedMessage[]
    const charged = heard(t, 'charged') as ChargedMessage[]
    const get = await api(t)
    await Promise.all(Array.from({ length: 40 }, (_, i) => get(i % 3 ? '/work' : '/nowhere')))
    const sum = (messages: { holdMs: number }[]) => messages.reduce((total, { holdMs }) => total + holdMs, 0)
    assert.ok(sum(admitted) > 0)
    assert.equal(sum(charged), sum(admitted))
  })
})
