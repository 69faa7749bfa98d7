import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { type TestContext, describe, it } from 'node:test'
import compression from 'compression'
import express, { type RequestHandler } from 'express'
import { nowUs } from '../../../lib/http/clock'
import { Meter } from '../../../lib/http/measure/meter'
import type { MeterObserver } from '../../../lib/http/measure/meter-observer'
import { processingTime } from '../../../lib/http/measure/processing-time'
import { endlessFile } from './endless-file'
import { connected, serve } from '../../support/serve'
import { manualClock } from '../../../lib/testing'
import { assertIs, atLeast, including, until } from '../../support/until'

/** How long a meter waits here for a sign of a handler whose client has gone. */
const SIGN_MS = 1_000

/** What a throttle would charge, by what the meter tells it: time in flight, less pauses, and what comes late. */
class Ledger implements MeterObserver {
  readonly heard: string[] = []
  chargedMs = 0
  #since: number | undefined

  constructor(readonly meter: Meter) {
    this.#since = nowUs(meter.clock)
    meter.observer = this
    meter.begin(this.#since)
    meter.begun(this.#since)
  }
  changes(): void {
    // a ledger has no windows
  }
  paused(now: number): void {
    this.heard.push('paused')
    this.#stop(now)
  }
  resumed(now: number): void {
    this.heard.push('resumed')
    this.#since = now
  }
  ended(now: number, isWrittenOff: boolean): void {
    if (isWrittenOff) this.heard.push('writtenOff')
    this.heard.push('ended')
    this.#stop(now)
  }
  aborted(): number {
    this.heard.push('aborted')
    return SIGN_MS * 1_000
  }
  late(us: number): void {
    this.heard.push('late')
    this.chargedMs += us / 1_000
  }
  headers(): void {
    // nor fields
  }
  get isPaused(): boolean {
    return this.heard.at(-1) === 'paused'
  }
  #stop(now: number): void {
    if (this.#since !== undefined) this.chargedMs += (now - this.#since) / 1_000
    this.#since = undefined
  }
}

type ManualClock = ReturnType<typeof manualClock>

/** Middleware before the meter and after it. */
interface Around {
  readonly before?: RequestHandler[]
  readonly after?: RequestHandler[]
}

/** An app with a meter before its handler, whose clock only the handler moves; and the ledger of each request. */
async function metered(
  t: TestContext,
  handler: (req: IncomingMessage, res: ServerResponse, clock: ManualClock, ledger: Ledger) => unknown,
  { before = [], after = [] }: Around = {},
) {
  const clock = manualClock()
  const ledgers: Ledger[] = []
  const app = express()
  clock.advance(1_000)
  for (const middleware of before) app.use(middleware)
  app.use((_req, res, next) => {
    ledgers.push(new Ledger(Meter.of(res, clock)))
    next()
  })
  for (const middleware of after) app.use(middleware)
  app.use((req, res, next) => {
    const { [ledgers.length - 1]: ledger } = ledgers
    void Promise.resolve(handler(req, res, clock, ledger as Ledger)).catch(next)
  })
  const listening = await serve(app)
  return { clock, ledgers, ...listening, open: () => connected(t, listening.port) }
}

const request = (path = '/', ...fields: string[]) =>
  `GET ${path} HTTP/1.1\r\n${['Host: x', ...fields].join('\r\n')}\r\n\r\n`

/** More than the kernel takes from one side of a connection while the other does not read. */
const MORE_THAN_BUFFERS = Buffer.alloc(48 * 2 ** 20, 'x')

/** A stream of so many parts, each more than the kernel takes. */
function parts(count: number): Readable {
  return Readable.from(
    Array.from({ length: count }, () => MORE_THAN_BUFFERS),
    { objectMode: false },
  )
}

describe('Meter times a response to the call of res.end()', () => {
  it('by the clock of the first who has one, and refuses another once somebody looks on', async (t) => {
    const { get } = await metered(
      t,
      (_req, res, clock) => {
        clock.advance(70)
        assert.throws(() => Meter.of(res, manualClock()), { name: 'TypeError', message: /^clock: a throttle before/ })
        res.end()
      },
      { before: [processingTime()] },
    )
    // By the machine's clock it had begun a moment before.
    assertIs((await get('/')).number('X-PROCESSING-TIME'), atLeast(70))
  })

  it('and no copy of a response, as batch endpoints make', async (t) => {
    const { get } = await metered(t, (_req, res, clock) => {
      const assigned = Object.assign(Object.create(Object.getPrototypeOf(res) as object) as object, res)
      for (const copy of [assigned, Object.create(res) as typeof res]) assert.notEqual(Meter.of(copy), Meter.of(res))
      clock.advance(30)
      res.end()
    })
    assert.equal((await get('/')).number('X-PROCESSING-TIME'), 30)
  })
})

describe('Meter stands still while the response waits for a slow reader', () => {
  it('while a pipe waits, and again at each full write', async (t) => {
    const { open, clock, ledgers } = await metered(t, (_req, res) => void parts(4).pipe(res))
    const socket = await open()
    socket.pause()
    socket.write(request())
    await until(() => ledgers[0]?.isPaused)
    clock.advance(60_000)
    socket.resume()
    await until(() => ledgers[0]?.heard, including('ended'))
    assert.deepEqual(ledgers[0]?.heard.slice(0, 3), ['paused', 'resumed', 'paused'])
    assert.equal(ledgers[0]?.chargedMs, 0)
  })

  it('and not where nobody listens for `drain`, nor where somebody does no more', async (t) => {
    const responses: ServerResponse[] = []
    const { open, clock, ledgers } = await metered(t, (_req, res, clock) => {
      responses.push(res)
      res.write(MORE_THAN_BUFFERS)
      clock.advance(100)
    })
    const socket = await open()
    socket.pause()
    socket.write(request())
    await until(() => responses.length, 1)
    const [res] = responses as [ServerResponse]
    const patient = () => undefined
    res.on('drain', patient)
    assert.ok(ledgers[0]?.isPaused)
    clock.advance(1_000)
    res.off('drain', patient)
    assert.deepEqual(ledgers[0]?.heard, ['paused', 'resumed'])
    clock.advance(10)
    res.end()
    assert.equal(ledgers[0]?.chargedMs, 110)
  })

  it('and goes on after the last pause, also where compression came between', async (t) => {
    const { open, clock, ledgers } = await metered(
      t,
      async (_req, res, clock, ledger) => {
        clock.advance(100)
        res.setHeader('Content-Type', 'text/plain')
        res.write(MORE_THAN_BUFFERS)
        await once(res, 'drain') // compression has taken all of it
        await until(() => (res.socket?.bytesWritten ?? 0) > 47 * 2 ** 20 && res.writableLength === 0)
        await new Promise(setImmediate)
        assert.ok(!ledger.isPaused)
        clock.advance(40)
        res.end()
      },
      { after: [compression({ level: 0, threshold: 0 })] },
    )
    const socket = await open()
    socket.pause()
    socket.write(request('/', 'Accept-Encoding: gzip', 'Connection: close'))
    await until(() => ledgers[0]?.isPaused)
    clock.advance(60_000)
    socket.resume()
    await once(socket, 'close')
    assert.match(socket.text.slice(0, 1_000), /\r\nContent-Encoding: gzip\r\n/)
    assert.equal(ledgers[0]?.heard.at(-1), 'ended')
    assert.equal(ledgers[0]?.chargedMs, 140)
  })
})

describe('Meter and a client that goes away', () => {
  /** An app whose handler does nothing, a client that has gone after 25 ms, and what was charged then. */
  async function left(
    t: TestContext,
    handler: (req: IncomingMessage, res: ServerResponse) => unknown = () => undefined,
  ) {
    const handled: [IncomingMessage, ServerResponse][] = []
    const { open, clock, ledgers } = await metered(t, (req, res) => {
      handled.push([req, res])
      handler(req, res)
    })
    const socket = await open()
    socket.write(request())
    await until(() => handled.length, 1)
    clock.advance(25)
    socket.destroy()
    await until(() => ledgers[0]?.heard, including('aborted'))
    const [[req, res]] = handled as [[IncomingMessage, ServerResponse]]
    return { req, res, clock, ledger: ledgers[0] as Ledger }
  }

  it('a handler that was not seen for an hour has worked for a minute of it', async (t) => {
    const { res, clock, ledger } = await left(t)
    clock.advance(3_600_000)
    res.end()
    assert.equal(ledger.chargedMs, 25 + SIGN_MS + 60_000)
    assert.equal(ledger.heard.at(-1), 'late')
  })

  it('a response to which a file was piped before, and no more, does not end with its client', async (t) => {
    const source = endlessFile()
    const { clock, ledger } = await left(t, (_req, res) => source.pipe(res) && source.unpipe(res))
    clock.advance(90_000)
    assert.deepEqual([ledger.heard, ledger.chargedMs], [['aborted', 'writtenOff', 'ended'], 25 + SIGN_MS])
  })

  it('after res.end(): that is no abort', async (t) => {
    const { open, ledgers } = await metered(t, (_req, res) => void res.end(MORE_THAN_BUFFERS))
    const socket = await open()
    socket.pause()
    socket.write(request())
    await until(() => ledgers[0]?.heard, including('ended'))
    const gone = once(socket, 'close')
    socket.destroy()
    await gone
    assert.deepEqual(ledgers[0]?.heard, ['ended'])
  })
})

describe('Meter ends at the header', () => {
  it('of an upgraded connection', async (t) => {
    const { open, clock, ledgers } = await metered(t, (_req, res, clock) => {
      clock.advance(15)
      res.writeHead(101, { Connection: 'Upgrade', Upgrade: 'echo' })
      res.flushHeaders()
    })
    const socket = await open()
    socket.write(request('/', 'Connection: Upgrade', 'Upgrade: echo'))
    await once(socket, 'data')
    clock.advance(3_600_000)
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['ended'], 15])
  })
})
