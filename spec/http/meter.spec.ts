import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { Readable, pipeline } from 'node:stream'
import { type TestContext, describe, it } from 'node:test'
import compression from 'compression'
import express, { type RequestHandler } from 'express'
import { nowUs } from '../../lib/http/clock'
import { Meter, type MeterObserver } from '../../lib/http/meter'
import { processingTime } from '../../lib/http/processing-time'
import { listen } from '../support/listen'
import { manualClock } from '../../lib/testing'
import { until } from '../support/until'

/** What a throttle would charge, by what the meter tells it: time in flight, less pauses, and what comes late. */
class Ledger implements MeterObserver {
  readonly heard: string[] = []
  chargedMs = 0
  lastHeaderMs: number | undefined
  #since: number | undefined

  begin(now: number): void {
    this.#since = now
  }
  paused(now: number): void {
    this.heard.push('paused')
    this.#stop(now)
  }
  resumed(now: number): void {
    this.heard.push('resumed')
    this.#since = now
  }
  ended(now: number): void {
    this.heard.push('ended')
    this.#stop(now)
  }
  late(us: number): void {
    this.heard.push('late')
    this.chargedMs += us / 1_000
  }
  aborted(): void {
    this.heard.push('aborted')
  }
  finished(): void {
    this.heard.push('finished')
  }
  headers(_res: ServerResponse, now: number): void {
    this.lastHeaderMs = now / 1_000
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
    const meter = Meter.of(res, clock)
    const ledger = new Ledger()
    ledgers.push(ledger)
    ledger.begin(nowUs(clock))
    meter.observe(ledger)
    next()
  })
  for (const middleware of after) app.use(middleware)
  app.use((req, res, next) => {
    const { [ledgers.length - 1]: ledger } = ledgers
    void Promise.resolve(handler(req, res, clock, ledger as Ledger)).catch(next)
  })
  const listening = await listen(app)
  t.after(() => listening.close())
  const port = (listening.server.address() as AddressInfo).port
  return { clock, ledgers, ...listening, open: () => opened(t, port) }
}

/** A raw connection, for clients that go away, do not read, or send the next request early. */
async function opened(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

const request = (path = '/', ...fields: string[]) =>
  `GET ${path} HTTP/1.1\r\n${['Host: x', ...fields].join('\r\n')}\r\n\r\n`

/** More than the kernel takes from one side of a connection while the other does not read. */
const MORE_THAN_BUFFERS = Buffer.alloc(48 * 2 ** 20, 'x')

describe('Meter times a response to the call of res.end()', () => {
  it('from its start, by its own clock', async (t) => {
    const { get, ledgers } = await metered(t, (_req, res, clock) => {
      clock.advance(140.4)
      res.end('done')
    })
    assert.equal((await get('/')).number('X-PROCESSING-TIME'), 140)
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['ended'], 140.4])
  })

  it('once, however often end() is called', async (t) => {
    const { get, ledgers } = await metered(t, (_req, res, clock) => {
      clock.advance(10)
      res.end('done')
      clock.advance(500)
      res.end()
    })
    await get('/')
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['ended'], 10])
  })

  it('without the time in which the client takes the body', async (t) => {
    const { open, clock, ledgers } = await metered(t, (_req, res, clock) => {
      clock.advance(30)
      res.end(MORE_THAN_BUFFERS)
    })
    const socket = await open()
    socket.pause()
    socket.write(request())
    await until(() => ledgers[0]?.heard.includes('ended'))
    clock.advance(9_000)
    socket.destroy()
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['ended'], 30])
  })

  it('each of two pipelined requests by itself, though the first holds up the second', async (t) => {
    const finish: (() => void)[] = []
    const { open, clock, ledgers } = await metered(t, (_req, res) => void finish.push(() => res.end('done')))
    const socket = await open()
    let text = ''
    socket.setEncoding('utf8').on('data', (part: string) => (text += part))
    socket.write(request('/1') + request('/2', 'Connection: close'))
    await until(() => finish.length === 2)
    clock.advance(20)
    finish[1]?.()
    clock.advance(300)
    finish[0]?.()
    await once(socket, 'close')
    assert.deepEqual(
      [...text.matchAll(/^x-processing-time: (\d+)/gim)].map((field) => field[1]),
      ['320', '20'],
    )
    assert.deepEqual(
      ledgers.map(({ chargedMs }) => chargedMs),
      [320, 20],
    )
  })

  it('restartAt() and exclude() leave out what was not processing', async (t) => {
    const { get } = await metered(t, (_req, res, clock) => {
      const meter = Meter.of(res)
      clock.advance(1_000)
      meter.restartAt(nowUs(clock))
      clock.advance(50)
      meter.exclude(20_000)
      assert.equal(meter.stopped, false)
      res.end()
      assert.equal(meter.stopped, true)
      clock.advance(1_000)
      assert.equal(meter.timeUs(), 30_000)
    })
    assert.equal((await get('/')).number('X-PROCESSING-TIME'), 30)
  })

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
    assert.ok((await get('/')).number('X-PROCESSING-TIME') >= 70)
  })

  it('and no response that copies one, as those make who answer several requests in one', async (t) => {
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
  it('until the reader goes on', async (t) => {
    const { open, clock, ledgers } = await metered(t, async (_req, res, clock, ledger) => {
      clock.advance(100)
      res.write(MORE_THAN_BUFFERS)
      assert.ok(ledger.isPaused)
      await once(res, 'drain')
      clock.advance(40)
      res.end()
    })
    const socket = await open()
    socket.pause()
    socket.write(request())
    await until(() => ledgers[0]?.isPaused)
    clock.advance(60_000)
    socket.resume()
    await until(() => ledgers[0]?.heard.includes('ended'))
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['paused', 'resumed', 'ended'], 140])
  })

  it('and charges nothing of it where the client goes away instead', async (t) => {
    const { open, clock, ledgers } = await metered(t, (_req, res, clock) => {
      clock.advance(100)
      res.write(MORE_THAN_BUFFERS)
    })
    const socket = await open()
    socket.pause()
    socket.write(request())
    await until(() => ledgers[0]?.isPaused)
    clock.advance(60_000)
    socket.destroy()
    await until(() => ledgers[0]?.heard.includes('ended'))
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['paused', 'aborted', 'ended'], 100])
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
    let head = ''
    socket.on('data', (data: Buffer) => (head ||= data.toString('latin1'))).resume()
    await once(socket, 'close')
    assert.match(head, /\r\nContent-Encoding: gzip\r\n/)
    assert.equal(ledgers[0]?.heard.at(-1), 'ended')
    assert.equal(ledgers[0]?.chargedMs, 140)
  })
})

describe('Meter stands still while the handler waits for a slow sender', () => {
  it('and not where all of the body has come with the header', async (t) => {
    const { open, ledgers } = await metered(t, (req, res) => void req.resume().on('end', () => res.end()))
    const socket = await open()
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc')
    await once(socket, 'data')
    assert.deepEqual(ledgers[0]?.heard, ['ended'])
  })

  it('and for a slow reader at once, until there is more of the body and the reader goes on', async (t) => {
    const bodies: IncomingMessage[] = []
    const { open, clock, ledgers } = await metered(t, async (req, res, clock) => {
      bodies.push(req)
      clock.advance(10)
      res.write(MORE_THAN_BUFFERS)
      await Promise.all([once(res, 'drain'), once(req.resume(), 'end')])
      clock.advance(10)
      res.end()
    })
    const socket = await open()
    socket.pause()
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na')
    await until(() => ledgers[0]?.isPaused)
    clock.advance(1_000)
    socket.write('bc')
    await until(() => bodies[0]?.complete)
    clock.advance(1_000)
    socket.resume()
    await until(() => ledgers[0]?.heard.includes('ended'))
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['paused', 'resumed', 'ended'], 20])
  })
})

describe('Meter and a client that goes away', () => {
  it('before the header: it ends there, and res.end() shows that the handler worked on until then', async (t) => {
    const { open, ledgers } = await metered(t, async (_req, res, clock) => {
      clock.advance(50)
      await once(res, 'close')
      clock.advance(700)
      res.end('nobody hears it')
      clock.advance(100)
      res.end()
    })
    const socket = await open()
    socket.write(request())
    await until(() => ledgers.length === 1)
    socket.destroy()
    await until(() => ledgers[0]?.heard.includes('finished'))
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['aborted', 'ended', 'late', 'finished'], 750])
  })

  it('before the header, and a handler that is seen to work for longer: a minute of it is counted', async (t) => {
    let response: ServerResponse | undefined
    const { open, clock, ledgers } = await metered(t, (_req, res) => void (response = res))
    const socket = await open()
    socket.write(request())
    await until(() => response)
    clock.advance(25)
    socket.destroy()
    await until(() => ledgers[0]?.heard.includes('ended'))
    assert.equal(ledgers[0]?.chargedMs, 25)
    clock.advance(90_000)
    assert.equal(response?.headersSent, false)
    assert.equal(ledgers[0]?.chargedMs, 60_025)
    clock.advance(90_000)
    response?.end()
    assert.equal(ledgers[0]?.chargedMs, 60_025)
  })

  it('while its response waits for another in the pipeline: it ends there too', async (t) => {
    const { open, clock, ledgers } = await metered(t, () => undefined)
    const socket = await open()
    socket.write(request('/1') + request('/2'))
    await until(() => ledgers.length === 2)
    clock.advance(30)
    socket.destroy()
    await until(() => ledgers.every(({ heard }) => heard.includes('ended')))
    clock.advance(30_000)
    assert.deepEqual(
      ledgers.map(({ heard, chargedMs }) => [heard, chargedMs]),
      [
        [['aborted', 'ended'], 30],
        [['aborted', 'ended'], 30],
      ],
    )
  })

  it('and leaves every property of request and response as it was', async (t) => {
    let seen: [IncomingMessage, ServerResponse] | undefined
    const { open, ledgers } = await metered(t, (req, res) => void (seen = [req, res]))
    const socket = await open()
    socket.write(request())
    await until(() => seen)
    socket.destroy()
    await until(() => ledgers[0]?.heard.includes('ended'))
    const [req, res] = seen as [IncomingMessage, ServerResponse]
    assert.deepEqual([res.destroyed, res.closed, res.headersSent, res.writableEnded], [true, true, false, false])
    assert.deepEqual([req.destroyed, req.socket.destroyed], [true, true])
    res.setHeader('X-Late', 'a')
    assert.equal(res.getHeader('x-late'), 'a')
    res.removeHeader('X-Late')
    assert.equal(res.getHeader('x-late'), undefined)
    res.getHeader = () => 'replaced'
    assert.equal(res.getHeader('x-late'), 'replaced')
  })

  it('amid the body: it ends there, and what the handler writes after adds the time since', async (t) => {
    let response: ServerResponse | undefined
    const { open, clock, ledgers } = await metered(t, (_req, res, clock) => {
      clock.advance(200)
      res.write('half')
      response = res
    })
    const socket = await open()
    socket.write(request())
    await once(socket, 'data')
    socket.destroy()
    await until(() => ledgers[0]?.heard.includes('ended'))
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['aborted', 'ended'], 200])
    clock.advance(500)
    response?.write('more')
    assert.equal(ledgers[0]?.chargedMs, 700)
    clock.advance(100)
    response?.end()
    assert.equal(ledgers[0]?.chargedMs, 800)
    clock.advance(100)
    response?.end()
    assert.deepEqual([ledgers[0]?.heard.slice(2), ledgers[0]?.chargedMs], [['late', 'late', 'finished'], 800])
  })

  it('amid a body that is written for ever: a minute after is the most that is counted', async (t) => {
    let response: ServerResponse | undefined
    const { open, clock, ledgers } = await metered(t, (_req, res) => {
      res.write('first')
      response = res
    })
    const socket = await open()
    socket.write(request())
    await once(socket, 'data')
    socket.destroy()
    await until(() => ledgers[0]?.heard.includes('ended'))
    for (let second = 0; second < 90; second += 9) {
      clock.advance(9_000)
      response?.write('still here?')
    }
    assert.equal(ledgers[0]?.chargedMs, 60_000)
  })

  it('after res.end(): that is no abort', async (t) => {
    const { open, ledgers } = await metered(t, (_req, res) => void res.end(MORE_THAN_BUFFERS))
    const socket = await open()
    socket.pause()
    socket.write(request())
    await until(() => ledgers[0]?.heard.includes('ended'))
    const gone = once(socket, 'close')
    socket.destroy()
    await gone
    assert.deepEqual(ledgers[0]?.heard, ['ended'])
  })
})

describe('Meter and a handler that destroys its response', () => {
  it('ends there: that is the handler’s own word, and no abort', async (t) => {
    const { open, clock, ledgers } = await metered(t, (_req, res, clock) => {
      clock.advance(50)
      const source = new Readable({ read: () => void source.destroy(new Error('upstream broke')) })
      pipeline(source, res, () => undefined)
    })
    const socket = (await open()).resume()
    socket.write(request())
    await once(socket, 'close')
    clock.advance(70_000)
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['ended'], 50])
  })
})

describe('Meter ends at the header', () => {
  it('of an event stream, whose events and end cost nothing', async (t) => {
    let response: ServerResponse | undefined
    const { open, clock, ledgers } = await metered(t, (_req, res, clock) => {
      clock.advance(80)
      res.writeHead(200, { 'content-type': 'Text/Event-Stream; charset=utf-8' })
      res.write('data: 1\n\n')
      response = res
    })
    const socket = await open()
    socket.write(request())
    const [head] = (await once(socket, 'data')) as [Buffer]
    assert.match(head.toString(), /x-processing-time: 80\r\n/i)
    clock.advance(3_600_000)
    response?.write('data: 2\n\n')
    socket.destroy()
    await until(() => ledgers[0]?.heard.includes('aborted'))
    clock.advance(1_000)
    response?.write('data: 3\n\n')
    response?.end()
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['ended', 'aborted'], 80])
  })

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

describe('Meter and an error', () => {
  it('thrown before the header: measured to the end of the error page', async (t) => {
    const { get, ledgers } = await metered(t, (_req, _res, clock) => {
      clock.advance(33)
      throw Object.assign(new Error('thrown on purpose'), { status: 418 })
    })
    const answer = await get('/')
    assert.deepEqual([answer.status, answer.number('X-PROCESSING-TIME')], [418, 33])
    assert.deepEqual([ledgers[0]?.heard, ledgers[0]?.chargedMs], [['ended'], 33])
  })

  it('thrown after the header: measured until Express cuts the connection', async (t) => {
    const { open, ledgers } = await metered(t, (_req, res, clock) => {
      clock.advance(10)
      res.write('half')
      clock.advance(10)
      throw Object.assign(new Error('thrown on purpose'), { status: 418 })
    })
    const socket = (await open()).resume()
    socket.write(request())
    await once(socket, 'close')
    await until(() => ledgers[0]?.heard.includes('ended'))
    assert.equal(ledgers[0]?.chargedMs, 20)
  })
})
