import assert from 'node:assert/strict'
import { STATUS_CODES } from 'node:http'
import { type TestContext, describe, it } from 'node:test'
import compression from 'compression'
import cors from 'cors'
import express, { type Express, type RequestHandler } from 'express'
import helmet from 'helmet'
import { processingTime, serviceUnavailable } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { listen } from '../../support/serve'

type Mount = (app: Express, work: (ms: number) => void) => void

async function appWith(t: TestContext, mount: Mount) {
  const clock = manualClock()
  const app = express()
  app.set('env', 'test') // keeps Express's own error log quiet
  const log: number[] = []
  mount(app, (ms) => {
    log.push(ms)
    clock.advance(ms)
  })
  const listening = await listen(app)
  t.after(() => listening.close())
  return { ...listening, clock, workedMs: () => log.reduce((sum, ms) => sum + ms, 0) }
}

/** How often the field was sent, and what with: a client that joins two of them sees no number. */
const field = (headers: Headers) => headers.get('X-PROCESSING-TIME')

describe('processingTime() says on every response what it cost', () => {
  const clock = manualClock()
  const answers: Record<string, [status: number, handler: RequestHandler]> = {
    '200': [200, (_req, res) => void res.json({ done: true })],
    '201 by writeHead with an object': [201, (_req, res) => void res.writeHead(201, { 'X-Other': 'a' }).end('x')],
    '202 by writeHead with an array': [202, (_req, res) => void res.writeHead(202, ['X-Other', 'a']).end('x')],
    '203 by writeHead with words': [203, (_req, res) => void res.writeHead(203, 'Words', { 'X-Other': 'a' }).end()],
    '204': [204, (_req, res) => void res.status(204).end()],
    '206 in parts': [206, (_req, res) => void (res.status(206), res.write('a'), res.end('b'))],
    '207 with flushed header': [207, (_req, res) => void (res.status(207), res.flushHeaders(), res.end('b'))],
    '302': [302, (_req, res) => void res.redirect('/elsewhere')],
    '304': [304, (req, res) => void ((req.headers['if-none-match'] = '"a"'), res.set('ETag', '"a"').send('a'))],
    '404 by nobody': [404, (_req, _res, next) => next()],
    '500 by Express': [500, (_req, _res, next) => next(new Error('on purpose'))],
    '500 thrown': [
      500,
      () => {
        throw new Error('on purpose')
      },
    ],
  }
  for (const [name, [status, handler]] of Object.entries(answers)) {
    it(name, async (t) => {
      const app = express()
      app.set('env', 'test')
      app.use(processingTime({ clock }))
      app.use((_req, _res, next) => {
        clock.advance(37)
        next()
      }, handler)
      const listening = await listen(app)
      t.after(() => listening.close())
      for (const method of ['GET', 'HEAD']) {
        const answer = await fetch(listening.url, { method, redirect: 'manual' })
        await answer.text()
        assert.equal(answer.status, status, `${method}: ${STATUS_CODES[status]}`)
        assert.equal(field(answer.headers), '37', method)
      }
    })
  }

  it('503 of serviceUnavailable(), also where that is the only one mounted', async (t) => {
    const { url, workedMs } = await appWith(t, (app, work) => {
      app.get('/alone', (_req, _res, next) => next(new Error('on purpose')))
      app.use(processingTime({ clock }))
      app.get('/', (_req, _res, next) => (work(0), clock.advance(12), next(new Error('on purpose'))))
      app.use(serviceUnavailable({ log: () => undefined }))
    })
    const answer = await fetch(url)
    assert.deepEqual([answer.status, field(answer.headers), workedMs()], [503, '12', 0])
    const alone = await fetch(`${url}/alone`)
    assert.equal(alone.status, 503)
    assert.match(field(alone.headers) ?? '', /^\d+$/)
  })
})

describe('processingTime() among other middleware', () => {
  const around: RequestHandler[] = [cors(), helmet(), compression({ threshold: 0 })]
  const places: Record<string, (app: Express, own: RequestHandler) => void> = {
    before: (app, own) => void app.use(own, ...around),
    after: (app, own) => void app.use(...around, own),
    'between and twice': (app, own) => void app.use(own, around[0]!, around[1]!, own, around[2]!),
  }
  for (const [place, mount] of Object.entries(places)) {
    it(`${place} cors, helmet and compression: one field, and their own fields stay`, async (t) => {
      const clock = manualClock()
      const { url } = await appWith(t, (app) => {
        mount(app, processingTime({ clock }))
        app.get('/', (_req, res) => {
          clock.advance(250)
          res.type('text/plain').send('a'.repeat(5_000))
        })
      })
      const answer = await fetch(url, { headers: { 'Accept-Encoding': 'gzip', Origin: 'http://app.test' } })
      assert.equal((await answer.text()).length, 5_000)
      assert.equal(field(answer.headers), '250')
      assert.equal(answer.headers.get('Content-Encoding'), 'gzip')
      assert.equal(answer.headers.get('X-Content-Type-Options'), 'nosniff')
      assert.equal(answer.headers.get('Access-Control-Allow-Origin'), '*')
    })
  }

  it('that answers first: nothing of ours ran, nothing is said', async (t) => {
    const { url } = await appWith(t, (app) => void app.use(cors(), processingTime()))
    const preflight = await fetch(url, { method: 'OPTIONS' })
    assert.deepEqual([preflight.status, field(preflight.headers)], [204, null])
  })
})

describe('processingTime() options', () => {
  it('names what it does not know or cannot use', () => {
    assert.throws(
      // @ts-expect-error no such option
      () => processingTime({ clok: 1 }),
      /TypeError: processingTime has no option "clok"; did you mean "clock"\?/,
    )
    assert.throws(
      // @ts-expect-error not a clock
      () => processingTime({ clock: 7 }),
      /TypeError: clock must be a clock, as manualClock\(\) makes one; rec/,
    )
  })
})
