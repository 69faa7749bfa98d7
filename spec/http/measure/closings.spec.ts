// What is charged where the connection ends, by how it ends: TCP, TLS and HTTP/2.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Server, type ServerResponse, createServer } from 'node:http'
import { connect as connectHttp2, constants, createServer as createHttp2Server } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { type TestContext, describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { Request, Response } from 'express'
import { type Throttle, budgetOf, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { CERT, KEY } from '../../support/tls'
import { not, until } from '../../support/until'

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'
const GARBAGE = '\0\0\0 no protocol \r\n\r\n'
const [BEFORE_MS, AFTER_MS] = [40, 500]
/** A 32nd of the limit: a handler that gives no sign for so long is written off. */
const UNSEEN_MS = 18_000 / 32

type Handle = (req: Request, res: Response) => void

/** A request whose handler runs over a real connection. */
interface Open {
  readonly server: Server
  /** The client's TCP connection. */
  readonly raw: Socket
  /** What Node gives the host for it. */
  readonly res: ServerResponse
  /** Of HTTP/2. */
  readonly stream?: { close(code: number): void }
  readonly session?: { goaway(code?: number): void; destroy(): void }
}

type Host = (t: TestContext, handle: Handle) => Promise<() => Omit<Open, 'res'>>

/** Serves a request over TCP, or over TLS. */
const http1 =
  (isTls: boolean): Host =>
  async (t, handle) => {
    const server = isTls ? createTlsServer({ cert: CERT, key: KEY }) : createServer()
    server.on('request', (req, res) => handle(req as Request, res as Response))
    if (isTls) server.on('tlsClientError', () => undefined)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const raw = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
    const client = isTls ? connectTls({ socket: raw, ca: CERT, servername: 'localhost' }) : raw
    client.on('error', () => undefined).write(REQUEST)
    t.after(() => {
      raw.destroy()
      server.close()
    })
    return () => ({ server, raw })
  }

const http2: Host = async (t, handle) => {
  const server = createHttp2Server((req, res) => handle(req as unknown as Request, res as unknown as Response))
  server.on('sessionError', () => undefined)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const raw = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
  const session = connectHttp2('http://localhost', { createConnection: () => raw }).on('error', () => undefined)
  const stream = session.request({ ':path': '/' }).on('error', () => undefined)
  t.after(() => {
    session.destroy()
    server.close()
  })
  return () => ({ server: server as unknown as Server, raw, session, stream })
}

const TCP = http1(false)
const TLS = http1(true)
const onClientError = (server: Server, act: (socket: Socket) => unknown) =>
  server.on('clientError', (_err, socket) => void act(socket as Socket))

/** Ways in which a connection or a stream ends that the handler did not choose. */
const WAYS: Readonly<Record<string, readonly [Host, (open: Open) => unknown]>> = {
  'the client closes (FIN)': [TCP, ({ raw }) => raw.end()],
  'the client resets (RST)': [TCP, ({ raw }) => raw.resetAndDestroy()],
  'the client sends garbage': [TCP, ({ raw }) => raw.write(GARBAGE)],
  'garbage, and a clientError listener that destroys': [
    TCP,
    ({ server, raw }) => (onClientError(server, (socket) => socket.destroy()), raw.write(GARBAGE)),
  ],
  'garbage, and a clientError listener that answers 400': [
    TCP,
    ({ server, raw }) => {
      onClientError(server, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'))
      raw.on('end', () => raw.end()).resume()
      raw.write(GARBAGE)
    },
  ],
  'garbage, and a clientError listener that resets': [
    TCP,
    ({ server, raw }) => (onClientError(server, (socket) => socket.resetAndDestroy()), raw.write(GARBAGE)),
  ],
  "Node's timeout of an idle socket": [TCP, ({ res }) => res.req.socket.setTimeout(20)],
  'server.closeAllConnections()': [TCP, ({ server }) => server.closeAllConnections()],
  'TLS: the client closes without close_notify': [TLS, ({ raw }) => raw.destroy()],
  'TLS: garbage between two records': [TLS, ({ raw }) => raw.write(GARBAGE)],
  'HTTP/2: CANCEL': [http2, ({ stream }) => stream?.close(constants.NGHTTP2_CANCEL)],
  'HTTP/2: NO_ERROR': [http2, ({ stream }) => stream?.close(constants.NGHTTP2_NO_ERROR)],
  'HTTP/2: ENHANCE_YOUR_CALM': [http2, ({ stream }) => stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)],
  'HTTP/2: GOAWAY, and the session is destroyed': [http2, ({ session }) => (session?.goaway(), session?.destroy())],
}

/** Works, has the connection end, works on; and ends the response or not. Returns what was charged at last. */
async function charged(t: TestContext, [host, close]: (typeof WAYS)[string], isEnded: boolean): Promise<number> {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const throttled: Throttle = throttle({ subject: () => 'ada', windowMs: 86_400_000, clock })
  let running: { res: ServerResponse; signal: AbortSignal } | undefined
  const open = await host(t, (req, res) =>
    throttled(req, res, () => (running = { res: res as ServerResponse, signal: budgetOf(req).signal })),
  )
  await until(() => running, not(undefined))
  const { res, signal } = running as NonNullable<typeof running>
  clock.advance(BEFORE_MS)
  close({ ...open(), res })
  await until(() => signal.aborted)
  clock.advance(AFTER_MS)
  if (isEnded) res.end()
  clock.advance(30_000)
  return (await throttled.usage('ada'))[0]?.spentMs as number
}

describe('throttle() charges what was worked, however the connection ends,', () => {
  for (const [name, way] of Object.entries(WAYS)) {
    it(`${name}: the handler ends its response`, async (t) =>
      assert.equal(await charged(t, way, true), BEFORE_MS + AFTER_MS))
    it(`${name}: the handler gives no sign`, async (t) => assert.equal(await charged(t, way, false), UNSEEN_MS))
  }
})

describe('throttle() and a timeout of the app, as connect-timeout has it,', () => {
  it('charges the time until its answer', async (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const throttled = throttle({ subject: () => 'ada', windowMs: 86_400_000, clock })
    let answer: Response | undefined
    await TCP(t, (req, res) => {
      clock.after(BEFORE_MS, () => {
        req.emit('timeout', BEFORE_MS)
        res.statusCode = 503
        res.end()
      })
      void throttled(req, res, () => (answer = res))
    })
    await until(() => answer, not(undefined))
    clock.advance(BEFORE_MS)
    clock.advance(AFTER_MS) // what the handler does afterwards
    assert.equal(answer?.writableEnded, true)
    assert.equal((await throttled.usage('ada'))[0]?.spentMs, BEFORE_MS)
  })
})
