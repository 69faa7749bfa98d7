import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type RequestListener, type ServerResponse, createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, describe, it } from 'node:test'
import express, { type RequestHandler } from 'express'
import { processingTime, throttle } from '../../../lib'

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
