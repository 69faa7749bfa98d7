import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express'
import { type OnDenied, budgetOf, requireBearer, requireScope, serviceUnavailable, throttle } from '../../../lib'
import { devIssuer } from '../../../lib/testing'
import { listen } from '../../support/serve'
import { until } from '../../support/until'

const dev = devIssuer()
const SPENT = { limitMs: 1, windowMs: 86_400_000, subject: () => 'ada' }
const as = (who: string) => ({ Authorization: `Bearer ${dev.token(who)}` })

/** An app whose first request spends the limit of `throttle()`, and whose errors are told by their handler. */
async function appWith(t: TestContext, mount: (app: Express) => void) {
  const app = express()
  mount(app)
  app.get('/', (req, res) => {
    if (req.throttle) budgetOf(req).charge(1_000)
    res.end('reached the handler')
  })
  app.use(((err: Error, _req, res, _next) => {
    res.status(500).end(`told: ${err.message}`)
  }) satisfies ErrorRequestHandler)
  const { get, close } = await listen(app)
  t.after(close)
  return get
}

function raise(thrown: unknown): never {
  throw thrown
}

describe('a failure of onDenied reaches the error handler', () => {
  const down = new Error('the audit log is down')
  const failures: [what: string, onDenied: OnDenied, told: string][] = [
    ['thrown', () => raise(down), 'told: the audit log is down'],
    ['of an async function', () => Promise.reject(down), 'told: the audit log is down'],
    [
      'of an async function, later',
      async () => (await new Promise(setImmediate), raise(down)),
      'told: the audit log is down',
    ],
    ['that is undefined', () => Promise.resolve().then(() => raise(undefined)), 'told: thrown: undefined'],
    ["that is 'router'", () => Promise.resolve().then(() => raise('router')), "told: thrown: 'router'"],
  ]
  const denying: [by: string, mount: (app: Express, onDenied: OnDenied) => void][] = [
    ['throttle()', (app, onDenied) => app.use(throttle({ ...SPENT, onDenied }))],
    ['requireBearer()', (app, onDenied) => app.use(requireBearer({ ...dev.options, onDenied }))],
    ['requireScope()', (app, onDenied) => app.use(requireBearer({ ...dev.options, onDenied }), requireScope('write'))],
  ]
  for (const [by, mount] of denying) {
    for (const [what, onDenied, told] of failures) {
      it(`${what}: ${by}`, async (t) => {
        const get = await appWith(t, (app) => mount(app, onDenied))
        if (by === 'throttle()') await get('/')
        const answer = await get('/', by === 'requireScope()' ? as('ada') : {})
        assert.deepEqual([answer.status, answer.body], [500, told])
      })
    }
  }

  it('also where the request has waited', async (t) => {
    const onDenied = () => Promise.reject(down)
    const terms = { limitMs: 6_000, windowMs: 86_400_000, subject: () => 'ada', wait: { maxMs: 20 } }
    const running: Response[] = []
    const get = await appWith(t, (app) => {
      app.use(throttle({ ...terms, onDenied }))
      app.get('/held', (_req, res) => void running.push(res))
    })
    const held = [get('/held'), get('/held')] // each expects half of the limit
    await until(() => running.length === 2)
    const { status, body } = await get('/held')
    assert.deepEqual([status, body], [500, 'told: the audit log is down'])
    for (const res of running) res.end()
    assert.deepEqual(
      (await Promise.all(held)).map((answer) => answer.status),
      [200, 200],
    )
  })
})

describe('an error says of caching what the app says', () => {
  const failing: RequestHandler = (_req, _res, next) => next(new Error('inside'))
  const kinds: [status: number, mount: (app: Express) => void][] = [
    [429, (app) => app.use(throttle(SPENT))],
    [401, (app) => app.use(requireBearer(dev.options))],
    [503, (app) => app.use(failing, serviceUnavailable({ log: () => undefined }))],
  ]
  const fields: [said: Record<string, string>, sent: Record<string, string | null>][] = [
    [{}, { 'cache-control': 'no-store' }],
    [
      { 'Cache-Control': 'no-store', Expires: '0' },
      { 'cache-control': 'no-store', expires: '0' },
    ],
    [
      { 'Cache-Control': 'no-cache, private', Pragma: 'no-cache' },
      { 'cache-control': 'no-cache, private', pragma: 'no-cache' },
    ],
    [{ 'Cache-Control': 'max-age=0, must-revalidate' }, { 'cache-control': 'max-age=0, must-revalidate' }],
    [{ 'Cache-Control': 'private, max-age=60' }, { 'cache-control': 'private, max-age=60' }],
    [{ Pragma: 'no-cache' }, { 'cache-control': 'no-store', pragma: 'no-cache' }],
    [{ Expires: 'Fri, 08 Dec 2099 19:53:06 GMT' }, { 'cache-control': 'no-store' }],
    // A shared cache would refuse others what one client was refused.
    [{ 'Cache-Control': 'public, max-age=3600' }, { 'cache-control': 'no-store' }],
    [{ 'Cache-Control': 's-maxage=60' }, { 'cache-control': 'no-store' }],
  ]
  for (const [status, mount] of kinds) {
    for (const [said, sent] of fields) {
      it(`${status}: ${JSON.stringify(said)}`, async (t) => {
        const saying: RequestHandler = (_req, res, next) => {
          res.set(said)
          next()
        }
        const get = await appWith(t, (app) => mount(app.use(saying)))
        await get('/')
        const answer = await get('/')
        assert.equal(answer.status, status)
        for (const [name, value] of Object.entries(sent)) assert.equal(answer.headers.get(name), value, name)
      })
    }
  }
})

describe('an error varies by Accept', () => {
  for (const [said, sent] of [
    [undefined, 'Accept'],
    ['Origin', 'Origin, Accept'],
    [['Origin', 'accept-encoding'], 'Origin, accept-encoding, Accept'],
    ['accept, Origin', 'accept, Origin'],
    ['*', '*'],
  ] as const) {
    it(`where Vary is ${String(said)}`, async (t) => {
      const get = await appWith(t, (app) => {
        app.use((_req, res, next) => {
          if (said !== undefined) res.setHeader('Vary', said)
          next()
        }, requireBearer(dev.options))
      })
      assert.equal((await get('/')).headers.get('Vary'), sent)
    })
  }
})
