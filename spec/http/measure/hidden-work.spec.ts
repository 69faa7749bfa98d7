// Work that a client might hide: pipelines, full writes, early leaves, upgrades, event streams.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type TestContext, describe, it } from 'node:test'
import express, { type Express, type Request, type RequestHandler, type Response } from 'express'
import { type AdmittedMessage, type ChargedMessage, budgetOf, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { heard } from '../../support/heard'
import { connected, listen } from '../../support/serve'
import { above, until } from '../../support/until'

/** No window ends amid a spec. */
const DAY_MS = 86_400_000
const LIMIT_MS = 1_000

interface Handling {
  readonly req: Request
  readonly res: Response
}

/** An API whose handlers do nothing by themselves; its requests, and its clock, which only the spec moves. */
async function api(
  t: TestContext,
  { before = [], build }: { before?: RequestHandler[]; build?: (app: Express) => void } = {},
) {
  const clock = manualClock(Date.UTC(2030, 0, 1))
  const throttled = throttle({ subject: () => 'ada', limitMs: LIMIT_MS, windowMs: DAY_MS, clock })
  const app = express()
  const handled: Handling[] = []
  for (const middleware of before) app.use(middleware)
  app.use(throttled)
  build?.(app)
  app.use((req, res) => void handled.push({ req, res }))
  const { server, port, close } = await listen(app)
  const connections: Socket[] = []
  server.on('connection', (connection: Socket) => connections.push(connection))
  t.after(async () => {
    for (const connection of connections) connection.destroy() // also of those that were upgraded
    await close()
  })
  const open = async (text: string) => {
    const socket = await connected(t, port)
    socket.write(text)
    return socket
  }
  const spentMs = async () => (await throttled.usage('ada'))[0]?.spentMs
  return { app, server, connections, clock, handled, open, spentMs }
}

const get = (path: string, ...fields: string[]) =>
  `GET ${path} HTTP/1.1\r\n${['Host: x', ...fields].join('\r\n')}\r\n\r\n`

const statuses = (text: string) => [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status)

/** Resolves when the server has read a request from so many connections, and its handlers have had a turn. */
async function allHeard(connections: readonly Socket[], count: number): Promise<void> {
  await until(() => connections.filter(({ bytesRead }) => bytesRead > 0).length, count)
  await new Promise(setImmediate)
}

/** What the channels say is held: admitted holds less what is given back. */
function heldMs(t: TestContext): () => number {
  const [admitted, charged] = [heard<AdmittedMessage>(t, 'admitted'), heard<ChargedMessage>(t, 'charged')]
  return () => {
    const requests = new Set(admitted.map(({ req }) => req)) // requests of the spec before may end now
    const freed = charged.filter(({ req }) => requests.has(req))
    return admitted.reduce((ms, { holdMs }) => ms + holdMs, 0) - freed.reduce((ms, { holdMs }) => ms + holdMs, 0)
  }
}

describe('throttle() and responses behind others in a pipeline', () => {
  it('charges what is worked for them, whatever was written before', async (t) => {
    const { clock, handled, open, spentMs } = await api(t, {
      build: (app) => void app.get('/events', (_req, res) => void res.type('text/event-stream').flushHeaders()),
    })
    await open(get('/events') + get('/export').repeat(2))
    await until(() => handled.length, 2)
    for (const { res } of handled) assert.equal(res.write(Buffer.alloc(200_000)), false)
    for (const { res } of handled) res.once('drain', () => undefined)
    clock.advance(100)
    assert.equal(await spentMs(), 200)
    for (const { res } of handled) res.end()
    assert.equal(await spentMs(), 200)
  })

  it('charges the wait for their bodies', async (t) => {
    const { clock, handled, open, spentMs } = await api(t)
    await open(get('/first') + 'POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na')
    await until(() => handled.length, 2)
    handled[0]?.req.resume()
    handled[1]?.req.resume()
    clock.advance(100)
    assert.equal(await spentMs(), 200)
  })

  it('leaves nothing held when the connection is reset', async (t) => {
    const held = heldMs(t)
    const { clock, handled, open, spentMs } = await api(t)
    const socket = await open(get('/poll').repeat(5))
    await until(() => handled.length, above(0))
    socket.resetAndDestroy()
    const { req } = handled[0] as Handling
    await until(() => req.socket.destroyed)
    const begun = handled.length
    clock.advance(60_000)
    await until(held, 0)
    assert.equal(handled.length, begun) // none of those that waited begins for nobody
    assert.equal(await spentMs(), (1_000 / 32) * begun) // each is written off
  })
})

describe('throttle() and a write that the client does not take at once', () => {
  it('keeps the hold: a burst of requests that write first is let in no further', async (t) => {
    const { connections, handled, open } = await api(t)
    const sockets: Socket[] = []
    for (let i = 0; i < 6; i++) sockets.push(await open(get('/export')))
    await until(() => handled.length, above(0))
    for (const { res } of handled) {
      for (let kb = 0; kb < 48_000; kb += 20) res.write(Buffer.alloc(20_000))
      res.on('drain', () => undefined)
    }
    await allHeard(connections, 6)
    assert.equal(handled.length, 2) // two of a price of 500 ms
  })
})

describe('throttle() and a client that goes away before it is asked', () => {
  /** Lets requests through to the throttle when the spec says so. */
  function gate() {
    const waiting: (() => void)[] = []
    return { waiting, middleware: ((_req, _res, next) => void waiting.push(next)) as RequestHandler }
  }

  for (const pipelined of [1, 3]) {
    it(`runs the handlers that need not wait, as Express does, and writes them off (${pipelined} at once)`, async (t) => {
      const held = heldMs(t)
      const { waiting, middleware } = gate()
      const { connections, clock, handled, open, spentMs } = await api(t, { before: [middleware] })
      const socket = await open(get('/hook').repeat(pipelined))
      await until(() => waiting.length, pipelined)
      socket.resetAndDestroy()
      await until(() => connections[0]?.closed)
      for (const next of waiting) next()
      assert.equal(handled.length, Math.min(pipelined, 2)) // a third does not fit beside two of a price of 500 ms
      for (const { req } of handled) assert.equal(budgetOf(req).signal.aborted, true)
      clock.advance(60_000)
      await until(held, 0)
      // The look at the signal came at once: each is written off after a 32nd of the limit.
      assert.equal(await spentMs(), (1_000 / 32) * handled.length)
    })
  }

  it('charges one whose handler ends the response for its work', async (t) => {
    const { waiting, middleware } = gate()
    const { connections, clock, handled, open, spentMs } = await api(t, { before: [middleware] })
    const socket = await open('POST /hook HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
    await until(() => waiting.length, 1)
    socket.destroy()
    await until(() => connections[0]?.closed)
    waiting[0]?.()
    clock.advance(70)
    handled[0]?.res.status(204).end()
    clock.advance(60_000)
    handled[0]?.res.end() // once is enough
    assert.equal(await spentMs(), 70)
  })
})

describe('throttle() and an upgrade request', () => {
  /** Has the app handle upgrades by a stand-in response, as servers of WebSockets do. */
  async function upgrading(t: TestContext, onUpgrade: (app: Express, res: ServerResponse, socket: Duplex) => void) {
    const made = await api(t)
    made.server.on('upgrade', (req, socket: Socket) => {
      socket.on('error', () => undefined)
      onUpgrade(made.app, new ServerResponse(req), socket)
    })
    return made
  }
  const upgrade = get('/', 'Connection: Upgrade', 'Upgrade: echo')
  const ordinary = (app: Express, res: ServerResponse, socket: Duplex) => {
    res.assignSocket(socket as Socket)
    app(res.req, res)
  }

  it('charges one that is answered by the response like any other, and holds its price', async (t) => {
    const { clock, handled, open, spentMs } = await upgrading(t, ordinary)
    const sockets = await Promise.all(Array.from({ length: 4 }, () => open(upgrade)))
    await until(() => handled.length, 2)
    clock.advance(300)
    for (const { res } of handled.splice(0)) res.send('no upgrade here')
    await until(() => sockets.filter(({ text }) => text.includes('no upgrade here')).length, 2)
    assert.equal(await spentMs(), 600)
    assert.match(sockets.find(({ text }) => text !== '')?.text ?? '', /^x-processing-time: 300\r\n/im)
  })

  it('charges one until somebody takes the connection over, however late', async (t) => {
    const { clock, handled, open, spentMs } = await upgrading(t, (app, res) => void app(res.req, res))
    const socket = await open(upgrade)
    await until(() => handled.length, 1)
    clock.advance(120)
    handled[0]?.req.socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n')
    await once(socket, 'data')
    clock.advance(60_000)
    handled[0]?.req.socket.write('a message')
    socket.destroy()
    clock.advance(60_000)
    assert.equal(await spentMs(), 120)
  })

  it('charges one that is refused on the connection until then', async (t) => {
    const { clock, handled, open, spentMs } = await upgrading(t, (app, res) => void app(res.req, res))
    const socket = await open(upgrade)
    await until(() => handled.length, 1)
    clock.advance(40)
    handled[0]?.req.socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    await once(socket, 'close')
    clock.advance(60_000)
    assert.deepEqual([statuses(socket.text), await spentMs()], [['401'], 40])
  })

  it('charges no more than the first turn of one that was taken over before', async (t) => {
    const { clock, handled, open, spentMs } = await upgrading(t, (app, res, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n')
      socket.on('data', () => undefined)
      app(res.req, res)
    })
    await open(upgrade)
    await until(() => handled.length, 1)
    clock.advance(60_000)
    assert.equal(await spentMs(), 0) // the manual clock ends the turn before it moves
  })

  it('writes one off that is left alone when its client goes away', async (t) => {
    const { clock, handled, open, spentMs } = await upgrading(t, (app, res) => void app(res.req, res))
    const socket = await open(upgrade)
    await until(() => handled.length, 1)
    socket.resetAndDestroy()
    await until(() => handled[0]?.req.socket.closed)
    clock.advance(60_000)
    assert.equal(await spentMs(), 1_000 / 32)
  })
})

describe('throttle() and a stand-in for a response', () => {
  it('that has no events, as engine.io makes it for WebSockets, lets the request through', async () => {
    const throttled = throttle({ subject: () => 'ada' })
    const req = { headers: {}, method: 'GET', url: '/', upgrade: true, socket: new EventEmitter() }
    const fields = { setHeader: () => undefined, getHeader: () => undefined, removeHeader: () => undefined }
    const res = {
      req,
      socket: req.socket,
      ...fields,
      writeHead: () => undefined,
      write: () => true,
      end: () => undefined,
    }
    const failure = await new Promise<unknown>((resolve) => {
      void throttled(req as never, res as never, resolve)
    })
    assert.equal(failure, undefined)
  })
})

describe('throttle() and event streams', () => {
  const post = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'
  const SENT: Record<string, (res: Response) => unknown> = {
    'setHeader()': (res) => (res.setHeader('Content-Type', 'text/event-stream'), res.flushHeaders()),
    'writeHead()': (res) => res.writeHead(200, { 'content-type': 'Text/Event-Stream; charset=utf-8' }).flushHeaders(),
    'a flat array': (res) => res.writeHead(200, ['Content-Type', 'text/event-stream']).flushHeaders(),
    'an array of types': (res) => (res.setHeader('Content-Type', ['text/event-stream']), res.flushHeaders()),
    'res.type()': (res) => void res.type('text/event-stream').write('data: 1\n\n'),
  }
  for (const [way, send] of Object.entries(SENT)) {
    it(`charges a GET to its header, and a POST whole, set by ${way}`, async (t) => {
      const { clock, handled, open, spentMs } = await api(t)
      for (const [text, costMs] of Object.entries({ [get('/')]: 30, [post]: 130 })) {
        const before = (await spentMs()) ?? 0
        await open(text)
        await until(() => handled.length, 1)
        const [{ res }] = handled.splice(0) as [Handling]
        clock.advance(30)
        send(res)
        clock.advance(100)
        res.end()
        assert.equal(((await spentMs()) ?? 0) - before, costMs)
      }
    })
  }

  it('hold the price of a POST until its end', async (t) => {
    const { connections, handled, open } = await api(t)
    for (let i = 0; i < 6; i++) await open(post)
    await until(() => handled.length, 2)
    for (const { res } of handled) res.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n')
    await allHeard(connections, 6)
    assert.equal(handled.length, 2)
  })

  it('do not make a page cheap that names their type', async (t) => {
    const { clock, handled, open, spentMs } = await api(t)
    await open(get('/', 'Accept: text/event-stream'))
    await until(() => handled.length, 1)
    handled[0]?.res.type('multipart/x-mixed-replace; boundary=text/event-stream').write('a')
    clock.advance(100)
    assert.equal(await spentMs(), 100)
  })
})

describe('req.throttle.settle()', () => {
  it('ends the measuring at once; what follows is charged by charge()', async (t) => {
    const { clock, handled, open, spentMs } = await api(t)
    const socket = await open(get('/pictures'))
    await until(() => handled.length, 1)
    const { req, res } = handled[0] as Handling
    const budget = budgetOf(req)
    clock.advance(50)
    res.type('multipart/x-mixed-replace; boundary=b').write('--b')
    budget.settle()
    budget.settle()
    clock.advance(60_000)
    res.write('--b')
    budget.charge(7)
    assert.equal(await spentMs(), 57)
    socket.destroy()
    await until(() => budget.signal.aborted)
    clock.advance(60_000)
    res.end()
    assert.equal(await spentMs(), 57)
  })
})
