// The dialect of error bodies: by the app, by the factory, and what a wrong setting is told.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { describe, it } from 'node:test'
import express, { type Express } from 'express'
import { type ThrottleOptions, requireBearer, serviceUnavailable, throttle, throttleTest } from '../../../lib'
import { devIssuer } from '../../../lib/testing'
import { withHelpLink } from '../../support/help-link'
import { get, serve } from '../../support/serve'

const dev = devIssuer()
const DAY_MS = 86_400_000

/** An app with one refusal of each factory: `/` 401, `/spent` 429, `/test` 400 and `/broken` 503. */
async function refusals(setting?: string, options: Pick<ThrottleOptions, 'dialect' | 'errorFormat'> = {}) {
  const app = express()
  app.set('env', 'test')
  if (setting !== undefined) app.set('tollgate dialect', setting)
  const throttled = throttle({ limitMs: 1, windowMs: DAY_MS, subject: () => 'ada', ...options })
  const ample = throttle({ name: 'ample', subject: () => 'ada', ...options })
  app.get('/spent', throttled, (req, res) => {
    req.throttle?.charge(10)
    res.end()
  })
  app.get('/test', ample, throttleTest(options))
  app.get('/broken', () => {
    throw new Error('inner')
  })
  app.use(requireBearer({ ...dev.options, ...options }))
  app.use(serviceUnavailable({ log: () => undefined, ...options }))
  const { get } = await serve(app)
  await get('/spent')
  return async (path: string, accept: string) => {
    const { status, headers, body } = await get(path, { accept })
    return [status, headers.get('Content-Type'), body]
  }
}

const XML = (type: string, xmlns: string, code: number, message: string) => [
  code,
  type,
  `<?xml version="1.0" encoding="UTF-8"?>\n<errors${xmlns}><error><code>${code}</code><message>${message.replaceAll('"', '&quot;')}</message></error></errors>\n`,
]
const SERVICE_XML = (code: number, message: string) =>
  XML('application/x-fs-v1+xml', ' xmlns="http://familysearch.org/v1/"', code, message)
const PLAIN_XML = (code: number, message: string) => XML('application/xml', '', code, message)
const JSON_BODY = (type: string, code: number, message?: string) => [
  code,
  type,
  JSON.stringify({ errors: [{ code, message }] }),
]
const SPENT = 'No processing time is left in the window "default" for this request'
const NO_TOKEN = 'An access token is required'
const PROBLEM = [
  429,
  'application/problem+json',
  JSON.stringify({ type: 'about:blank', title: 'Too Many Requests', status: 429, detail: SPENT }),
]

describe("app.set('tollgate dialect')", () => {
  it('familysearch, the default: XML, or the vendor JSON for clients that name a JSON type', async () => {
    for (const setting of [undefined, 'familysearch']) {
      const ask = await refusals(setting)
      assert.deepEqual(await ask('/', '*/*'), SERVICE_XML(401, NO_TOKEN))
      assert.deepEqual(await ask('/spent', '*/*'), SERVICE_XML(429, SPENT))
      assert.deepEqual(await ask('/broken', '*/*'), SERVICE_XML(503, 'Service Unavailable'))
      assert.deepEqual(await ask('/', 'application/json'), JSON_BODY('application/x-fs-v1+json', 401, NO_TOKEN))
      assert.deepEqual(await ask('/spent', 'application/json'), JSON_BODY('application/x-fs-v1+json', 429))
      assert.deepEqual(await ask('/spent', 'application/problem+json'), PROBLEM)
    }
  })

  it('standard: JSON with a message, or plain XML for clients that name an XML type', async () => {
    const ask = await refusals('standard')
    assert.deepEqual(await ask('/', '*/*'), JSON_BODY('application/json', 401, NO_TOKEN))
    assert.deepEqual(await ask('/spent', '*/*'), JSON_BODY('application/json', 429, SPENT))
    assert.deepEqual(await ask('/broken', '*/*'), JSON_BODY('application/json', 503, 'Service Unavailable'))
    const twice = 'processingTime is given more than once'
    const path = '/test?processingTime=1&processingTime=2'
    assert.deepEqual(await ask(path, '*/*'), JSON_BODY('application/json', 400, twice))
    assert.deepEqual(await ask('/spent', 'application/xml'), PLAIN_XML(429, SPENT))
    assert.deepEqual(
      await ask('/spent', 'text/html,application/xml;q=0.9,*/*;q=0.8'),
      JSON_BODY('application/json', 429, SPENT),
    )
    assert.deepEqual(await ask('/spent', 'application/problem+json'), PROBLEM)
  })

  it('docs/dialects.md shows each 429 byte by byte', async () => {
    const page = readFileSync('docs/dialects.md', 'utf8')
    for (const dialect of ['familysearch', 'standard']) {
      const ask = await refusals(dialect)
      for (const accept of ['*/*', 'application/json', 'application/problem+json']) {
        const [, type, body] = await ask('/spent', accept)
        if (dialect === 'standard' && accept === 'application/json') continue // as with */*
        const length =
          accept === '*/*' ? `Content-Length: ${Buffer.byteLength(body as string)}\nX-PROCESSING-TIME: 0\n` : ''
        const caching = accept === '*/*' ? 'Cache-Control: no-store\n' : '' // the other blocks leave fields out
        const text = `${caching}Content-Type: ${type}\n${length}\n${(body as string).trimEnd()}\n\`\`\``
        assert.ok(page.includes(text), text)
      }
    }
  })

  it('yields to the option dialect of a factory', async () => {
    const standard = await refusals('familysearch', { dialect: 'standard' })
    const service = await refusals('standard', { dialect: 'familysearch' })
    for (const path of ['/', '/spent', '/broken', '/test?processingTime=x']) {
      assert.equal((await standard(path, '*/*'))[1], 'application/json', path)
      assert.equal((await service(path, '*/*'))[1], 'application/x-fs-v1+xml', path)
    }
  })

  it('yields to errorFormat, and completes it', async () => {
    const problem = await refusals('standard', { errorFormat: 'problem' })
    assert.deepEqual(await problem('/spent', '*/*'), PROBLEM)
    assert.deepEqual(await problem('/spent', 'text/xml'), PLAIN_XML(429, SPENT))
    const typed = await refusals('standard', { errorFormat: { json: 'application/vnd.example+json' } })
    assert.deepEqual(await typed('/spent', '*/*'), JSON_BODY('application/vnd.example+json', 429, SPENT))
    const json = await refusals(undefined, { errorFormat: 'json' })
    assert.deepEqual(await json('/spent', '*/*'), JSON_BODY('application/json', 429, SPENT))
    assert.deepEqual(await json('/spent', 'text/xml'), SERVICE_XML(429, SPENT))
  })

  it('is read once for each app, and inherited by mounted apps', async () => {
    const [outer, inner, other] = [express(), express(), express()]
    const refuse = requireBearer(dev.options)
    for (const app of [inner, other]) app.use(refuse)
    other.set('tollgate dialect', 'familysearch')
    outer.use('/inner', inner).use('/other', other).use(refuse)
    outer.set('tollgate dialect', 'standard')
    const { get } = await serve(outer)
    const types = () =>
      Promise.all(['/', '/inner', '/other'].map(async (path) => (await get(path)).headers.get('Content-Type')))
    const expected = ['application/json', 'application/json', 'application/x-fs-v1+xml']
    assert.deepEqual(await types(), expected)
    outer.set('tollgate dialect', 'familysearch')
    assert.deepEqual(await types(), expected)
  })

  for (const [name, mount] of [
    // Two requests that do not fit beside each other: the second is refused by a timer, outside of Express's stack.
    ['throttle', (app: Express) => app.use(throttle({ limitMs: 100, windowMs: DAY_MS, wait: { maxMs: 1 } }))],
    ['requireBearer', (app: Express) => app.use(requireBearer(dev.options))],
  ] as const) {
    it(`a wrong value is reported by ${name}() to the error handler at the first refusal`, async () => {
      const app = express()
      app.set('tollgate dialect', 'standart')
      mount(app)
      app.get('/', () => undefined)
      app.use(((err: Error, _req, res, next) => {
        if (res.headersSent) return next(err)
        res.status(500).end(err.message)
      }) as express.ErrorRequestHandler)
      const { get } = await serve(app)
      const { status, body } = await Promise.race([1, 2, 3].map(() => get('/')))
      const message = "app.get('tollgate dialect') must be 'familysearch' or 'standard'; received 'standart'"
      assert.deepEqual([status, body], [500, withHelpLink('TOLLGATE_OPTION', message)])
    })
  }

  for (const [name, value] of [
    ['tollgate-dialect', 'standard'],
    ['tollgateDialect', 'standard'],
    ['Tollgate Dialect', 'xml'],
    ['tolgate dialect', 'standard'],
    ['express-tollgate dialect', 'standard'],
    ['dialect', 'standard'],
  ] as const) {
    it(`the setting '${name}' is reported to the error handler, with the right name`, async () => {
      const app = express()
      app.set('env', 'test')
      app.set(name, value)
      app.use(throttle({ limitMs: 1, windowMs: DAY_MS, subject: () => 'ada' }))
      app.get('/', (req, res) => void res.end(String(req.throttle?.charge(10))))
      app.use(
        (err: Error, _req: unknown, res: express.Response, _next: unknown) => void res.status(500).end(err.message),
      )
      const { get } = await serve(app)
      await get('/')
      assert.ok((await get('/')).body.startsWith(`the app's setting '${name}' must be named 'tollgate dialect'`))
    })
  }

  it('settings of the app with other names are left alone', async () => {
    const app = express()
    app.set('dialect', 'postgres')
    app.set('tollgate', throttle())
    app.use(throttle({ limitMs: 1, windowMs: DAY_MS, subject: () => 'ada' }))
    app.get('/', (req, res) => void res.end(String(req.throttle?.charge(10))))
    const { get } = await serve(app)
    await get('/')
    assert.equal((await get('/')).status, 429)
  })

  it('without an app the option counts, else familysearch', async (t) => {
    for (const [options, type] of [
      [{}, 'application/x-fs-v1+xml'],
      [{ dialect: 'standard' }, 'application/json'],
    ] as const) {
      const refuse = requireBearer({ ...dev.options, ...options })
      const server = createServer((req, res) => {
        Object.setPrototypeOf(req, express.request)
        Object.setPrototypeOf(res, express.response)
        Object.assign(res, { req })
        refuse(req, res, assert.fail)
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      t.after(() => server.close())
      const { port } = server.address() as { port: number }
      assert.equal((await get(`http://127.0.0.1:${port}`)).headers.get('Content-Type'), type)
    }
  })
})
