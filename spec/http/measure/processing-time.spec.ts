// X-PROCESSING-TIME on every response, and res.writeHead() as plain Express has it.
import assert from 'node:assert/strict'
import { STATUS_CODES, type RequestListener, type ServerResponse, createServer } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import compression from 'compression'
import cors from 'cors'
import express, { type Express, type RequestHandler } from 'express'
import helmet from 'helmet'
import { processingTime, serviceUnavailable, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { serve } from '../../support/serve'

type Mount = (app: Express, work: (ms: number) => void) => void

async function appWith(mount: Mount) {
  const clock = manualClock()
  const app = express()
  app.set('env', 'test') // keeps Express's own error log quiet
  const log: number[] = []
  mount(app, (ms) => {
    log.push(ms)
    clock.advance(ms)
  })
  const listening = await serve(app)
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
    it(name, async () => {
      const app = express()
      app.set('env', 'test')
      app.use(processingTime({ clock }))
      app.use((_req, _res, next) => {
        clock.advance(36.6)
        next()
      }, handler)
      const listening = await serve(app)
      for (const method of ['GET', 'HEAD']) {
        const answer = await fetch(listening.url, { method, redirect: 'manual' })
        await answer.text()
        assert.equal(answer.status, status, `${method}: ${STATUS_CODES[status]}`)
        assert.equal(field(answer.headers), '37', method)
      }
    })
  }

  it('503 of serviceUnavailable(), also where that is the only one mounted', async () => {
    const { url, workedMs } = await appWith((app, work) => {
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
    it(`${place} cors, helmet and compression: one field, and their own fields stay`, async () => {
      const clock = manualClock()
      const { url } = await appWith((app) => {
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

  it('that answers first: nothing of ours ran, nothing is said', async () => {
    const { url } = await appWith((app) => void app.use(cors(), processingTime()))
    const preflight = await fetch(url, { method: 'OPTIONS' })
    assert.deepEqual([preflight.status, field(preflight.headers)], [204, null])
  })
})

const cookies = ['a=1', 'b=2']

/** Ways to give header fields to `res.writeHead()`. */
const GIVEN: Record<string, (res: ServerResponse) => unknown> = {
  'an object': (res) => res.writeHead(200, { 'X-One': '1', 'set-cookie': cookies }),
  'an object with one name in two spellings': (res) => res.writeHead(200, { 'X-One': '1', 'x-one': '2' }),
  'an object with a status message': (res) => res.writeHead(201, 'Made It', { 'X-One': 'é' }),
  'an object after no status message': (res) => res.writeHead(201, undefined, { 'X-One': '1' }),
  'nothing but a status message': (res) => res.writeHead(203, 'Nearly'),
  'nothing at all': (res) => res.writeHead(204),
  'a flat array': (res) => res.writeHead(200, ['Set-Cookie', 'a=1', 'X-One', '1', 'Set-Cookie', 'b=2']),
  'a flat array with repeated fields': (res) =>
    res.writeHead(200, ['Link', '</a>', 'X-One', '1', 'LINK', '</b>', 'Via', '1.1 a', 'Link', '</c>']),
  'a flat array with a status message': (res) => res.writeHead(200, 'Fine', ['X-One', '1', 'X-One', '2']),
  'a flat array with a list in it': (res) => res.writeHead(200, ['Set-Cookie', cookies] as never),
  'a flat array of an odd length': (res) => res.writeHead(200, ['X-One']),
  'an empty array': (res) => res.writeHead(200, []),
  'an array of pairs': (res) =>
    res.writeHead(200, [...pairs('Set-Cookie', ...cookies), ...pairs('X-One', '1')] as never),
  'an array of pairs with a status message': (res) =>
    res.writeHead(200, 'Fine', [...pairs('Set-Cookie', ...cookies), ...pairs('x-one', '1', '2')] as never),
  'an array with one pair': (res) => res.writeHead(200, pairs('X-One', '1') as never),
  'the fields of a Headers': (res) => res.writeHead(200, [...new Headers([['X-One', '1']])] as never),
  'a length': (res) => res.writeHead(200, ['Content-Length', '2', 'Content-Type', 'text/plain']),
  'a field that is not valid': (res) => res.writeHead(200, { 'X-One': 'a\nb' }),
  'a name that is not valid': (res) => res.writeHead(200, ['X One', '1']),
  'a field of ours': (res) => res.writeHead(200, { 'x-processing-time': '7' }),
}

function pairs(name: string, ...values: string[]): string[][] {
  return values.map((value) => [name, value])
}

/** What stood on the response before. */
const BEFORE: Record<string, RequestHandler> = {
  'that has no field': (_req, _res, next) => next(),
  'that has a field': (_req, res, next) => (res.setHeader('X-One', '0'), next()),
  'that had a field': (_req, res, next) => (res.setHeader('X-One', '0'), res.removeHeader('X-One'), next()),
  'whose writeHead() another package has replaced': (_req, res, next) => {
    const writeHead = res.writeHead.bind(res) as (...args: unknown[]) => typeof res
    res.writeHead = ((...args: unknown[]) => writeHead(...args)) as typeof res.writeHead
    next()
  },
}

const OURS = /^(x-processing-time|x-throttle-[a-z-]+): .*\r\n/gim

/** The bytes of the response, without the date; or that the handler got an error. */
async function bytes(t: TestContext, middleware: RequestHandler[], given: (res: ServerResponse) => unknown) {
  const app = express().disable('x-powered-by')
  for (const each of middleware) app.use(each)
  app.use((_req, res) => {
    res.sendDate = false
    try {
      assert.equal(given(res), res)
      res.end('ok')
    } catch {
      res.socket?.end('an error') // Node's own code depends on how many pairs there are
    }
  })
  const server = createServer(app as RequestListener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  let text = ''
  for await (const part of socket.setEncoding('latin1')) text += part as string
  return text
}

for (const [state, before] of Object.entries(BEFORE)) {
  describe(`res.writeHead() behind throttle(), on a response ${state}, sends the bytes of plain Express`, () => {
    for (const [form, given] of Object.entries(GIVEN)) {
      it(`with ${form}`, async (t) => {
        const plain = await bytes(t, [before], given)
        assert.notEqual(plain, '')
        for (const ours of [throttle(), processingTime()]) {
          for (const order of [
            [before, ours],
            [ours, before],
          ]) {
            const metered = await bytes(t, order, given)
            const hasOurField = form === 'a field of ours'
            assert.equal(hasOurField ? metered.replace(/x-throttle.*\r\n/gi, '') : metered.replace(OURS, ''), plain)
            if (plain.startsWith('HTTP') && !hasOurField)
              assert.equal(metered.match(/^x-processing-time: /gim)?.length, 1)
          }
        }
      })
    }
  })
}
