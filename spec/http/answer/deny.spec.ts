// How any refusal is answered: failures of onDenied, caching, Vary, and the types of the errors.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, {
  type ErrorRequestHandler,
  type Express,
  type RequestHandler,
  type Response,
  type NextFunction,
  type Request,
} from 'express'
import { isHttpError } from 'http-errors'
import {
  type OnDenied,
  budgetOf,
  requireBearer,
  requireScope,
  serviceUnavailable,
  throttle,
  type DenialError,
  InvalidRequestError,
  ThrottledError,
  UnauthorizedError,
  throttleTest,
} from '../../../lib'
import { devIssuer, manualClock } from '../../../lib/testing'
import { serve } from '../../support/serve'
import { until } from '../../support/until'

const dev = devIssuer()
const SPENT = { limitMs: 1, windowMs: 86_400_000, subject: () => 'ada' }
const as = (who: string) => ({ Authorization: `Bearer ${dev.token(who)}` })

/** An app whose first request spends the limit of `throttle()`, and whose errors are told by their handler. */
async function appWith(mount: (app: Express) => void) {
  const app = express()
  mount(app)
  app.get('/', (req, res) => {
    if (req.throttle) budgetOf(req).charge(1_000)
    res.end('reached the handler')
  })
  app.use(((err: Error, _req, res, _next) => {
    res.status(500).end(`told: ${err.message}`)
  }) satisfies ErrorRequestHandler)
  const { get } = await serve(app)
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
      it(`${what}: ${by}`, async () => {
        const get = await appWith((app) => mount(app, onDenied))
        if (by === 'throttle()') await get('/')
        const answer = await get('/', by === 'requireScope()' ? as('ada') : {})
        assert.deepEqual([answer.status, answer.body], [500, told])
      })
    }
  }

  it('also where the request has waited', async () => {
    const onDenied = () => Promise.reject(down)
    const terms = { limitMs: 6_000, windowMs: 86_400_000, subject: () => 'ada', wait: { maxMs: 20 } }
    const running: Response[] = []
    const get = await appWith((app) => {
      app.use(throttle({ ...terms, onDenied }))
      app.get('/held', (_req, res) => void running.push(res))
    })
    const held = [get('/held'), get('/held')] // each expects half of the limit
    await until(() => running.length, 2)
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
      it(`${status}: ${JSON.stringify(said)}`, async () => {
        const saying: RequestHandler = (_req, res, next) => {
          res.set(said)
          next()
        }
        const get = await appWith((app) => mount(app.use(saying)))
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
    it(`where Vary is ${String(said)}`, async () => {
      const get = await appWith((app) => {
        app.use((_req, res, next) => {
          if (said !== undefined) res.setHeader('Vary', said)
          next()
        }, requireBearer(dev.options))
      })
      assert.equal((await get('/')).headers.get('Vary'), sent)
    })
  }
})

/** Time stands still. */
const HOUR = { limitMs: 1_000, windowMs: 3_600_000, subject: () => 'ada', clock: manualClock(Date.UTC(2026, 0, 1)) }

describe('throttle({ onDenied }) that calls next() without an error', () => {
  const mark = (_err: unknown, _req: Request, res: Response, next: NextFunction) => {
    res.set('X-Over', 'yes')
    next()
  }

  for (const [what, windows] of [
    ['one window', [HOUR]],
    ['the inner of two windows', [{ ...HOUR, name: 'outer', limitMs: 60_000 }, HOUR]],
    ['the outer of two windows', [HOUR, { ...HOUR, name: 'inner', limitMs: 60_000 }]],
  ] as const) {
    it(`lets the request pass, marked, without Retry-After, and charges it: ${what}`, async () => {
      const throttles = windows.map((window) => throttle({ ...window, onDenied: mark }))
      const app = express()
      for (const one of throttles) app.use(one)
      app.get('/', (req, res) => {
        budgetOf(req).charge(1_500)
        res.json(budgetOf(req).spentMs)
      })
      const { get } = await serve(app)
      assert.equal((await get('/')).headers.get('x-over'), null)
      for (let n = 2; n <= 4; n++) {
        const { status, headers } = await get('/')
        assert.deepEqual([status, headers.get('x-over'), headers.get('retry-after')], [200, 'yes', null])
        for (const one of throttles) assert.equal((await one.usage('ada'))[0]?.spentMs, 1_500 * n)
      }
    })
  }
})

/** What TypeScript knows of an error: a line that compiles, or is expected not to. */
function known(err: DenialError): string {
  // @ts-expect-error a misspelt property is found
  void err.figuress
  // @ts-expect-error no error has this status
  void (err.status === 418)
  if (err.status === 429) {
    const reason: 'spent' | 'reserved' | 'concurrency' | 'queue' | 'outage' = err.reason
    const code: 'throttled' = err.code
    return `${code} ${reason} in ${err.figures.window}`
  }
  // @ts-expect-error only a 429 has figures
  void err.figures
  if (err.status === 403) {
    const reason: 'scope' | 'unauthenticated_session' = err.reason
    return `${err.code} ${reason}`
  }
  // @ts-expect-error a reason of a 403
  void (err.reason === 'scope')
  if (err.status === 400) return `${err.code} ${err.reason ?? 'without a reason'}`
  return `${err.code} ${err.reason}`
}

describe('errors', () => {
  it('have literal types of status, code and reason, and are those of http-errors', async () => {
    const dev = devIssuer()
    const errors: DenialError[] = []
    const onDenied = (err: DenialError, _req: unknown, res: express.Response) => {
      errors.push(err)
      res.status(err.status).set(err.headers).end()
    }
    const app = express()
    app.use(requireBearer({ ...dev.options, onDenied }), throttle({ limitMs: 1_000, onDenied }))
    app.get('/test', throttleTest({ onDenied }))
    const { get } = await serve(app)
    const headers = { authorization: `Bearer ${dev.token('ada')}` }
    await get('/test')
    await get('/test?processingTime=soon', headers)
    await get('/test?processingTime=1001', headers)
    await get('/test', headers)
    assert.deepEqual(errors.map(known), [
      'unauthorized no_token',
      'invalid_request without a reason',
      'throttled spent in default',
    ])
    assert.deepEqual(
      errors.map((err) => [err instanceof Error, isHttpError(err), err.statusCode === err.status, err.expose]),
      errors.map(() => [true, true, true, true]),
    )
    assert.ok(errors[0] instanceof UnauthorizedError && errors[1] instanceof InvalidRequestError)
    assert.ok(errors[2] instanceof ThrottledError)
  })
})
