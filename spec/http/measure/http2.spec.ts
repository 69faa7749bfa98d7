// throttle() and requireBearer() in node:http2, without Express.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type Http2ServerRequest,
  type Http2ServerResponse,
  connect,
  constants,
  createServer,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type TestContext, describe, it } from 'node:test'
import type { Request, Response } from 'express'
import { type Throttle, requireBearer, requireScope, sessionOf, throttle } from '../../../lib'
import { devIssuer, manualClock } from '../../../lib/testing'
import { assertIs, above, until } from '../../support/until'

interface Handling {
  readonly req: Http2ServerRequest
  readonly res: Http2ServerResponse
}

/** A host without Express. Its handlers run until the spec ends them, and its time is the spec's. */
async function http2Api(t: TestContext, middleware: (req: Request, res: Response, next: () => void) => unknown) {
  const running: Handling[] = []
  const server = createServer((req, res) => {
    middleware(req as unknown as Request, res as unknown as Response, () => running.push({ req, res }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.after(() => {
    client.destroy()
    server.close()
  })
  return { client, running }
}

async function answer(client: ClientHttp2Session, headers: Record<string, string> = {}) {
  const stream = client.request({ ':path': '/', accept: 'application/json', ...headers })
  const [fields] = (await once(stream, 'response')) as [Record<string, string | number>]
  let body = ''
  for await (const data of stream.setEncoding('utf8')) body += data
  return { status: fields[':status'], fields, body }
}

const spentMs = async (throttled: Throttle) => (await throttled.usage('ada'))[0]?.spentMs

function clocked() {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  return { clock, throttled: throttle({ subject: () => 'ada', limitMs: 1_000, clock }) }
}

describe('throttle() in node:http2', () => {
  it('charges parallel streams of one connection, and refuses beyond the limit', async (t) => {
    const { clock, throttled } = clocked()
    const { client, running } = await http2Api(t, throttled)
    const answers = Promise.all([answer(client), answer(client, { ':path': '/other' })])
    await until(() => running.length, 2)
    clock.advance(501)
    for (const { res } of running.splice(0)) res.end('done')
    assert.deepEqual(
      (await answers).map(({ status, body }) => [status, body]),
      [
        [200, 'done'],
        [200, 'done'],
      ],
    )
    assert.equal(await spentMs(throttled), 1_002)
    const { status, fields, body } = await answer(client)
    assert.deepEqual([status, body], [429, '{"errors":[{"code":429}]}'])
    assertIs(Number(fields['retry-after']), above(0))
  })

  it('excuses the wait for a slow reader and for a slow sender', async (t) => {
    const { clock, throttled } = clocked()
    const { client, running } = await http2Api(t, throttled)
    const reader = client.request({ ':path': '/' })
    await until(() => running.length, 1)
    const [{ res }] = running.splice(0) as [Handling]
    res.once('drain', () => res.end()).write(Buffer.alloc(2 ** 20))
    clock.advance(500)
    assert.equal(await spentMs(throttled), 0)
    reader.resume()
    await once(reader, 'end')
    const sender = client.request({ ':path': '/', ':method': 'POST' })
    sender.write('a')
    await until(() => running.length, 1)
    running[0]?.req.resume().on('end', () => running[0]?.res.end())
    await until(() => running[0]?.req.readableDidRead)
    await new Promise(setImmediate)
    clock.advance(500)
    assert.equal(await spentMs(throttled), 0)
    sender.resume().end('b')
    await once(sender, 'end')
  })

  it('never begins a request whose stream was reset while it waited', async (t) => {
    const { clock, throttled } = clocked()
    const { client, running } = await http2Api(t, throttled)
    const streams = [1, 2, 3].map(() => client.request({ ':path': '/' }))
    await until(() => running.length, 2)
    streams[2]?.close(constants.NGHTTP2_CANCEL)
    await new Promise((resolve) => client.ping(resolve))
    for (const { res } of running.splice(0)) res.end()
    await once(streams[0]?.resume() as ClientHttp2Stream, 'end')
    clock.advance(100)
    await new Promise(setImmediate)
    assert.equal(running.length, 0)
    assert.equal(await spentMs(throttled), 0)
  })
})

describe('requireBearer() in node:http2', () => {
  it('and requireScope() answer 401, 403 or pass', async (t) => {
    const dev = devIssuer()
    const [bearer, scope] = [requireBearer(dev.options), requireScope('write')]
    const { client, running } = await http2Api(t, (req, res, next) => bearer(req, res, () => scope(req, res, next)))
    const as = (scopes: string) => ({ authorization: `Bearer ${dev.token('ada', { scope: scopes })}` })
    const { status, fields } = await answer(client)
    assert.deepEqual([status, fields['www-authenticate']], [401, 'Bearer'])
    assert.equal((await answer(client, as('read'))).status, 403)
    const passed = answer(client, as('write'))
    await until(() => running.length, 1)
    const { req, res } = running[0] as Handling
    res.end(String(sessionOf(req as unknown as Request).sub))
    assert.equal((await passed).body, 'ada')
  })
})
