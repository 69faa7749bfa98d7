// Limits by request: 0, fractions, Infinity, and windows of a month.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type Request, type ErrorRequestHandler, type RequestHandler } from 'express'
import { budgetOf, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { heldApi } from './held-api'
import { serve } from '../../support/serve'
import { withHelpLink } from '../../support/help-link'

const LIMITS: Record<string, number> = { suspended: 0, tiny: 0.25, free: 100, enterprise: Infinity, huge: 2 ** 53 }
const PLAN = {
  subject: (req: Request) => `plan:${req.get('x-plan')}`,
  limitMs: (req: Request) => LIMITS[req.get('x-plan') ?? ''] as number,
}
const BEGIN = Date.UTC(2026, 0, 1)
const as = (plan: string) => ({ 'x-plan': plan })

/** An API whose requests take the milliseconds of their path, by a clock that only they move. */
async function api(t: { after(done: () => unknown): void }, options: Parameters<typeof throttle>[0], begin = BEGIN) {
  const clock = manualClock(begin)
  const throttled = throttle({ wait: false, errorFormat: 'json', ...options, clock })
  const app = express().use(throttled)
  app.get('/work/:ms', (req, res) => {
    clock.advance(Number(req.params.ms))
    res.json(req.throttle)
  })
  const listening = await serve(app)
  return { ...listening, throttled, clock }
}

describe('throttle({ limitMs: (req) => … })', () => {
  it('refuses a request with a limit of 0 as one whose time is used up', async (t) => {
    const { get, throttled } = await api(t, { ...PLAN, headers: { throttle: 'always' } })
    const { status, body, headers } = await get('/work/10', as('suspended'))
    assert.deepEqual([status, headers.get('x-throttle-window-size')], [429, '0'])
    assert.match(body, /No processing time is left/)
    const [usage] = await throttled.usage('plan:suspended')
    assert.equal(usage?.spentMs, 0)
    assert.equal(Number(headers.get('retry-after')), Math.ceil((usage?.endsInMs ?? 0) / 1_000))
  })

  it('lets it pass in a dry run', async (t) => {
    const { get, throttled } = await api(t, { ...PLAN, dryRun: true })
    assert.equal((await get('/work/10', as('suspended'))).status, 200)
    assert.equal((await throttled.usage('plan:suspended'))[0]?.spentMs, 10)
  })

  it('takes fractions of a millisecond', async (t) => {
    const { get } = await api(t, PLAN)
    assert.deepEqual([(await get('/work/1', as('tiny'))).status, (await get('/work/1', as('tiny'))).status], [200, 429])
  })

  for (const plan of ['enterprise', 'huge'])
    it(`measures a request with a limit of ${LIMITS[plan]}, and never refuses it`, async (t) => {
      const { get, throttled } = await api(t, { ...PLAN, windowMs: 86_400_000, overload: true })
      for (let n = 0; n < 5; n++) assert.equal((await get('/work/150', as(plan))).status, 200)
      assert.equal((await throttled.usage(`plan:${plan}`))[0]?.spentMs, 750)
      assert.deepEqual(
        [(await get('/work/101', as('free'))).status, (await get('/work/1', as('free'))).status],
        [200, 429],
      )
    })

  it('runs any number of requests without a limit at once, whatever `concurrency` says', async (t) => {
    const { burst, running } = await heldApi(t, { limitMs: () => Infinity, concurrency: 2 })
    assert.equal(await burst(70), 70)
    budgetOf(running[0]?.req as Request).charge(86_400_000)
    assert.equal(await burst(3), 3)
  })
})

describe('throttle({ limitMs, windowMs }) and long windows', () => {
  it('takes 32 times a window of 31 days, and charges to the end of it', async (t) => {
    const windowMs = 31 * 86_400_000
    const options = { limitMs: 32 * windowMs, windowMs, subject: () => 'tenant:acme' }
    const endOf = async ({ throttled }: Awaited<ReturnType<typeof api>>) =>
      (await throttled.usage('tenant:acme'))[0]?.endsInMs ?? 0
    const end = BEGIN + (await endOf(await api(t, options)))
    const { get, throttled, clock } = await api(t, options, end - 60_000)
    assert.equal((await get('/work/0')).status, 200)
    await get('/work/1000')
    clock.advance(60_000 - 1_001)
    assert.equal((await throttled.usage('tenant:acme'))[0]?.spentMs, 1_000)
    clock.advance(2)
    assert.equal((await throttled.usage('tenant:acme'))[0]?.spentMs, 0)
  })
})

const shown: ErrorRequestHandler = (err: Error, _req, res, _next) =>
  void res.status(500).send(`${err.name}: ${err.message}`)

/** What a handler answers that takes the budget of a request, after this. */
async function asking(before: RequestHandler): Promise<string> {
  const app = express().use(before, (req, res) => void res.send(`${budgetOf(req).leftMs > 0}`))
  const { url } = await serve(app.use(shown))
  return (await fetch(url)).text()
}

describe('budgetOf()', () => {
  const message = withHelpLink(
    'TOLLGATE_USAGE',
    'TypeError: budgetOf(req) found no budget in the request: mount throttle() before this handler. Where it exempts the request, ' +
      'read req.throttle, which may be undefined',
  )

  it('throws where no throttle() ran, and where it exempts the request, and says what to do', async () => {
    assert.equal(await asking((_req, _res, next) => next()), message)
    assert.equal(await asking(throttle({ subject: () => null })), message)
    assert.equal(await asking(throttle({ routes: { '/': false } })), message)
  })
})
