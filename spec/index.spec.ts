import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import express, { type Express } from 'express'
import {
  allowUnauthenticated,
  budgetOf,
  processingTime,
  requireBearer,
  requireScope,
  serviceUnavailable,
  sessionOf,
  throttle,
  throttleTest,
} from '../lib'
import { devIssuer, manualClock } from '../lib/testing'
import { listen } from './support/serve'
import { until } from './support/until'

const clock = manualClock(Date.UTC(2026, 0, 1))
const dev = devIssuer({ date: () => clock.date() })
const bearer = () => requireBearer({ ...dev.options, clock })
const LIMIT = { limitMs: 1_000, windowMs: 86_400_000, clock }
const as = (who: string, options?: Parameters<typeof dev.token>[1]) => ({
  authorization: `Bearer ${dev.token(who, options)}`,
})

async function serve(t: TestContext, mount: (app: Express) => void) {
  const app = express()
  app.set('env', 'test')
  mount(app)
  const { get, close } = await listen(app)
  t.after(close)
  return (path: string, headers?: Record<string, string>) => get(path, headers)
}

function api(app: Express): void {
  app.use(allowUnauthenticated({ paths: ['/places'] }))
  app.use(bearer())
  app.use(throttle(LIMIT))
  app.get('/throttled', throttleTest())
  app.get('/who', (req, res) => void res.json({ subject: budgetOf(req).subject, kind: sessionOf(req).kind }))
  app.get('/places', (_req, res) => void res.json([]))
  app.get('/admin', requireScope('admin'), (_req, res) => void res.end())
}

describe('the bearer and the throttle together', () => {
  it('one user pays from one budget over all sessions and apps; another user has their own', async (t) => {
    const get = await serve(t, api)
    await get('/throttled?processingTime=600', as('ada', { clientId: 'phone' }))
    await get('/throttled?processingTime=401', as('ada', { clientId: 'desk' }))
    assert.equal((await get('/who', as('ada', { clientId: 'desk' }))).status, 429)
    assert.equal((await get('/who', as('ada', { clientId: 'third' }))).status, 429)
    assert.equal((await get('/who', as('bob', { clientId: 'phone' }))).status, 200)
  })

  it('a user, a service account and an unauthenticated session of equal names are three who pay', async (t) => {
    const get = await serve(t, api)
    const subjects = [
      (await get('/who', as('same', { clientId: 'app' }))).body,
      (await get('/who', as('same', { kind: 'client' }))).body,
    ].map((body) => JSON.parse(body) as { subject: string; kind: string })
    assert.deepEqual(
      subjects.map(({ subject }) => subject),
      [`user:${dev.issuer.length}:${dev.issuer}:same`, `client:${dev.issuer.length}:${dev.issuer}:same`],
    )
    await get('/throttled?processingTime=1001', as('same', { clientId: 'app' }))
    assert.equal((await get('/who', as('same', { clientId: 'app' }))).status, 429)
    assert.equal((await get('/who', as('same', { kind: 'client' }))).status, 200)
  })

  it('with nobody signed in the app pays, over all of its users', async (t) => {
    const get = await serve(t, api)
    const session = () => as('app-1', { kind: 'unauthenticated' })
    assert.equal((await get('/places', session())).status, 200)
    assert.equal((await get('/who', session())).status, 403)
    await get('/throttled?processingTime=1001', as('app-1', { kind: 'client' }))
    assert.equal((await get('/places', session())).status, 429)
    assert.equal((await get('/places', as('app-2', { kind: 'unauthenticated' }))).status, 200)
  })

  it('says what a 401, a 403 and a 404 cost, and charges a 401 to nobody', async (t) => {
    const get = await serve(t, api)
    for (const [path, headers, status] of [
      ['/who', undefined, 401],
      ['/who', { authorization: 'Bearer nonsense' }, 401],
      ['/who', as('ada', { expiresInSec: -600 }), 401],
      ['/admin', as('ada'), 403],
      ['/nowhere', as('ada'), 404],
    ] as const) {
      const answer = await get(path, headers)
      assert.equal(answer.status, status)
      assert.match(answer.headers.get('x-processing-time') ?? '', /^\d+$/, `${path} ${status}`)
      assert.equal(answer.headers.has('x-throttle-millis-left'), status !== 401)
    }
  })

  it('a second throttle by address before the bearer charges bad tokens to their address', async (t) => {
    const get = await serve(t, (app) => {
      const byAddress = { name: 'address', subject: (req: express.Request) => req.ip ?? '' }
      app.use(throttle({ ...LIMIT, limitMs: 30, ...byAddress }))
      app.use((_req, _res, next) => {
        clock.advance(10)
        next()
      })
      app.use(bearer())
    })
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push((await get('/', { authorization: 'Bearer nonsense' })).status)
    assert.deepEqual(statuses, [401, 401, 401, 401, 429])
  })

  it('what another package writes to req.auth is nobody of ours: the address pays', async (t) => {
    const get = await serve(t, (app) => {
      app.use((req, _res, next) => {
        ;(req as { auth: unknown }).auth = { payload: { sub: 'ada' }, token: 'x' }
        next()
      })
      app.use(throttle(LIMIT))
      app.get('/who', (req, res) => void res.json(budgetOf(req).subject))
    })
    assert.equal((await get('/who')).body, '"address:127.0.0.1"')
  })

  it('with no bearer at all the address pays', async (t) => {
    const get = await serve(t, (app) => {
      app.use(throttle(LIMIT))
      app.get('/who', (req, res) => void res.json(budgetOf(req).subject))
    })
    assert.equal((await get('/who')).body, '"address:127.0.0.1"')
  })

  it('serviceUnavailable() answers what went wrong inside with 503, and lets a refusal be a refusal', async (t) => {
    const get = await serve(t, (app) => {
      app.use(throttle({ ...LIMIT, subject: () => 'x', onDenied: (err, _req, _res, next) => next(err) }))
      app.get('/throttled', throttleTest())
      app.get('/broken', () => {
        throw new Error('secret inside')
      })
      app.use(serviceUnavailable({ log: () => undefined }))
    })
    const broken = await get('/broken')
    assert.equal(broken.status, 503)
    assert.match(broken.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.match(broken.headers.get('x-processing-time') ?? '', /^\d+$/)
    assert.doesNotMatch(broken.body, /secret/)
    await get('/throttled?processingTime=1001')
    assert.equal((await get('/throttled')).status, 429)
  })

  it('processingTime() says what a response cost where nothing else of the package does', async (t) => {
    const get = await serve(t, (app) => {
      app.use(processingTime())
      app.get('/', (_req, res) => void res.end())
    })
    assert.match((await get('/')).headers.get('x-processing-time') ?? '', /^\d+$/)
    assert.match((await get('/nowhere')).headers.get('x-processing-time') ?? '', /^\d+$/)
  })
})

describe('the package warns once', () => {
  async function warning(t: TestContext, code: string, provoke: () => Promise<unknown>): Promise<string> {
    const seen: string[] = []
    const listener = (warning: Error & { code?: string }) => {
      if (warning.code === code) seen.push(warning.message)
    }
    process.on('warning', listener)
    t.after(() => process.off('warning', listener))
    await provoke()
    await provoke()
    await until(() => seen.length > 0)
    assert.equal(seen.length, 1)
    return seen[0] as string
  }

  it('where throttle() runs before requireBearer()', async (t) => {
    const get = await serve(t, (app) => {
      app.use(throttle(LIMIT))
      app.use(bearer())
    })
    const said = await warning(t, 'TOLLGATE_ORDER', () => get('/', as('ada')))
    assert.match(said, /throttle\(\) ran before requireBearer\(\).*mount requireBearer\(\) first/)
  })

  it('where X-Forwarded-For comes and trust proxy is not set', async (t) => {
    const get = await serve(t, (app) => app.use(throttle(LIMIT)))
    const said = await warning(t, 'TOLLGATE_TRUST_PROXY', () => get('/', { 'x-forwarded-for': '203.0.113.9' }))
    assert.match(said, /app\.set\('trust proxy', 1\)/)
  })
})
