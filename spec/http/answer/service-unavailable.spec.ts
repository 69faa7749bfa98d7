// serviceUnavailable(): 503 without the inside of the error; errors of clients are passed on.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { type OnDenied, type ServiceUnavailableOptions, budgetOf, serviceUnavailable, throttle } from '../../../lib'
import { serve } from '../../support/serve'
import { above, until } from '../../support/until'

async function appWith(handler: RequestHandler, options: ServiceUnavailableOptions = {}) {
  const logged: unknown[] = []
  const passed: unknown[] = []
  const app = express()
  app.use(handler)
  app.use(serviceUnavailable({ log: (err) => void logged.push(err), ...options }))
  app.use(((err, _req, res, next) => {
    passed.push(err)
    if (res.headersSent) next(err)
    else res.status(299).end()
  }) satisfies ErrorRequestHandler)
  const listening = await serve(app)
  return { ...listening, logged, passed }
}

function raise(thrown: unknown): never {
  throw thrown
}

const failing =
  (err: unknown): RequestHandler =>
  (_req, _res, next) =>
    next(err)

describe('serviceUnavailable() answers an internal problem', () => {
  const inside = 'postgres://app:hunter2@db/main refused'
  const internal: Record<string, unknown> = {
    'an Error': new Error(inside),
    'a text': inside,
    'an object': { message: inside, expose: true },
    'status 500': Object.assign(new Error(inside), { status: 500, expose: true }),
    'status 502': Object.assign(new Error(inside), { status: 502 }),
    'status 200': Object.assign(new Error(inside), { status: 200 }),
    'statusCode 503': Object.assign(new Error(inside), { statusCode: 503, headers: { 'X-Inside': inside } }),
    'status as a text': Object.assign(new Error(inside), { status: '404' }),
  }
  for (const [name, err] of Object.entries(internal)) {
    it(`${name}: 503 and Retry-After, nothing of the inside, and its log hears it`, async () => {
      const { get, logged, passed } = await appWith(failing(err))
      const answer = await get('/', { Accept: 'application/json' })
      assert.deepEqual([answer.status, answer.number('Retry-After')], [503, 10])
      assert.deepEqual(JSON.parse(answer.body), { errors: [{ code: 503, message: 'Service Unavailable' }] })
      assert.ok(![...answer.headers].flat().join().includes('hunter2'))
      assert.deepEqual([logged, passed], [[err], []])
    })
  }

  it('with the Retry-After of the error, if it is in whole seconds', async () => {
    let headers: unknown
    const { get } = await appWith((_req, _res, next) => next(Object.assign(new Error(), { headers })), {
      retryAfterSec: 77,
    })
    for (const [given, expected] of [
      [{ 'Retry-After': '120' }, 120],
      [{ 'retry-after': 3 }, 3],
      [{ 'RETRY-AFTER': 'Fri, 08 Dec 2017 19:53:06 GMT' }, 77],
      [{ 'Retry-After': '0' }, 77],
      [{ 'Retry-After': '-1' }, 77],
      [{ 'Retry-After': '1.5' }, 77],
      [{ 'Retry-After': '5\r\nX-Injected: yes' }, 77],
      [null, 77],
      ['Retry-After: 5', 77],
    ] as const) {
      headers = given
      assert.equal((await get('/')).number('Retry-After'), expected, JSON.stringify(given))
    }
  })

  it('without what the handler had said of another body', async () => {
    const { get } = await appWith((_req, res, next) => {
      res.set({
        ...{ 'Content-Encoding': 'gzip', 'Content-Language': 'la', 'Content-Disposition': 'attachment', ETag: '"1"' },
        ...{ 'Cache-Control': 'public, max-age=3600', Expires: 'Fri, 08 Dec 2099 19:53:06 GMT', 'X-Kept': 'yes' },
        ...{ 'Content-Type': 'image/png', 'Content-Length': '5', 'Last-Modified': 'Fri, 08 Dec 2017 19:53:06 GMT' },
      })
      assert.equal(gunzipSync(gzipSync('what it would have sent')).length, 23)
      next(new Error('on purpose'))
    })
    const answer = await get('/', { Accept: 'application/json' })
    assert.deepEqual(JSON.parse(answer.body), { errors: [{ code: 503, message: 'Service Unavailable' }] })
    const left = ['Content-Encoding', 'Content-Language', 'Content-Disposition', 'ETag', 'Last-Modified']
    assert.deepEqual(
      left.filter((name) => answer.headers.has(name)),
      [],
    )
    assert.equal(answer.headers.get('X-Kept'), 'yes')
    assert.equal(answer.headers.get('Cache-Control'), 'no-store', 'no shared cache keeps it')
  })

  const full = new Error('the log is full')
  const logs: [what: string, log: () => unknown, said: unknown][] = [
    ['throws', () => raise(full), full],
    ['rejects', () => Promise.reject(full), full],
    ['throws nothing', () => raise(undefined), undefined],
    [
      'is no promise of Node and rejects',
      () => ({ then: (_: unknown, fail: (err: Error) => void) => fail(full) }),
      full,
    ],
  ]
  for (const [what, log, said] of logs) {
    it(`also if its log ${what}, which is printed on the console`, async (t) => {
      const { get } = await appWith(failing(new Error('on purpose')), { log })
      const printed = t.mock.method(console, 'error', () => undefined)
      assert.equal((await get('/')).status, 503)
      await until(() => printed.mock.calls.length, above(0))
      assert.deepEqual(
        printed.mock.calls.map((call) => call.arguments),
        [[said]],
      )
    })
  }

  it('and says it to the console unless there is a log', async (t) => {
    const said = t.mock.method(console, 'error', () => undefined)
    const app = express()
    const err = new Error('on purpose')
    app.use(failing(err), serviceUnavailable())
    const listening = await serve(app)
    assert.equal((await listening.get('/')).status, 503)
    assert.deepEqual(
      said.mock.calls.map((call) => call.arguments),
      [[err]],
    )
  })
})

describe('serviceUnavailable() passes on', () => {
  const ofTheClient: Record<string, unknown> = {
    'status 404': Object.assign(new Error('no such person'), { status: 404 }),
    'statusCode 413': Object.assign(new Error('too large'), { statusCode: 413 }),
    'a word in status and statusCode 422': Object.assign(new Error('wrong'), { status: 'fail', statusCode: 422 }),
  }
  for (const [name, err] of Object.entries(ofTheClient)) {
    it(`an error of the client: ${name}`, async () => {
      const { get, logged, passed } = await appWith(failing(err))
      assert.equal((await get('/')).status, 299)
      assert.deepEqual([logged, passed], [[], [err]])
    })
  }

  it('a refusal of throttle()', async () => {
    const passing: OnDenied = (err, _req, _res, next) => next(err)
    const throttled = throttle({ limitMs: 1, windowMs: 86_400_000, subject: () => 'ada', onDenied: passing })
    const { get } = await appWith((req, res, next) =>
      throttled(req, res, (err) => (err ? next(err) : res.end(void budgetOf(req).charge(10)))),
    )
    assert.deepEqual([(await get('/')).status, (await get('/')).status], [200, 299])
  })

  it('what comes after the header, where nothing can be said any more', async () => {
    const err = new Error('on purpose')
    const { get, passed } = await appWith((_req, res, next) => {
      res.write('half')
      next(err)
    })
    await assert.rejects(get('/'))
    assert.deepEqual(passed, [err])
  })
})
