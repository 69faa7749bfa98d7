// What throttle() charges where it cannot know by itself when a handler works: while a reader is slow, when a client has
// gone, and when the connection is the handler's own. How responses end in other ways: aborts.spec.ts, hidden-work.spec.ts
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { type TestContext, describe, it } from 'node:test'
import compression from 'compression'
import express, { type ErrorRequestHandler } from 'express'
import { budgetOf, processingTime, throttle } from '../../../lib'
import { Meter } from '../../../lib/http/measure/meter'
import { manualClock } from '../../../lib/testing'
import { heldApi } from '../../throttle/request/held-api'
import { serve } from '../../support/serve'
import { assertIs, atLeast, until } from '../../support/until'
import { endlessFile } from './endless-file'

const DAY_MS = 86_400_000
/** More than the kernel takes from one side of a connection while the other does not read. */
const MORE_THAN_BUFFERS = Buffer.alloc(48 * 2 ** 20, 'x')
/** A 32nd of the limit: a handler that gives no sign for so long is written off. */
const UNSEEN_MS = 1_000 / 32

/** A request whose handler does nothing, over a connection from which its client reads nothing yet. */
async function held(t: TestContext, fields = '') {
  const { clock, open, running, spentMs } = await heldApi(t, { windowMs: DAY_MS, clientWaitMs: DAY_MS })
  const socket = (await open('/', fields)).pause()
  const { req, res } = running[0] as (typeof running)[number]
  return { clock, socket, req, res, signal: budgetOf(req).signal, spentMs }
}

describe('throttle() times a response', () => {
  it('by the clock of the first throttle, and refuses another', async () => {
    const clock = manualClock()
    const app = express().use(processingTime(), throttle({ clock }), (_req, _res, next) => next(clock.advance(70)))
    app.use(throttle({ name: 'other', clock: manualClock() }))
    app.use(((err: Error, _req, res, _next) => res.status(500).send(err.message)) satisfies ErrorRequestHandler)
    const answer = await (await serve(app)).get('/')
    assert.match(answer.body, /^clock: a throttle before this one goes by another/)
    assertIs(answer.number('X-PROCESSING-TIME'), atLeast(70)) // by the machine's clock it had begun a moment before
  })

  it('and no copy of it, as batch endpoints make', async (t) => {
    const { res } = await held(t)
    const assigned = Object.assign(Object.create(Object.getPrototypeOf(res) as object) as object, res)
    for (const copy of [assigned, Object.create(res) as ServerResponse]) assert.notEqual(Meter.of(copy), Meter.on(res))
  })
})

describe('throttle() excuses the wait for a slow reader', () => {
  it('while a pipe waits, and again at each full write', async (t) => {
    const { clock, res, socket, spentMs } = await held(t)
    const parts = Array.from({ length: 4 }, () => MORE_THAN_BUFFERS)
    Readable.from(parts, { objectMode: false }).pipe(res)
    for (let full = 0; full < 2; full++) {
      await until(() => res.writableNeedDrain)
      clock.advance(60_000)
      assert.equal(await spentMs(), 0)
      const drained = once(res, 'drain')
      socket.resume()
      await drained
      socket.pause()
    }
  })

  it('and not where nobody listens for `drain`, nor where somebody does no more', async (t) => {
    const { clock, res, spentMs } = await held(t)
    res.write(MORE_THAN_BUFFERS)
    clock.advance(100)
    const patient = () => undefined
    res.on('drain', patient)
    clock.advance(1_000)
    assert.equal(await spentMs(), 100)
    res.off('drain', patient)
    clock.advance(10)
    res.end()
    assert.equal(await spentMs(), 110)
  })

  it('and charges what follows it, also where compression came between', async (t) => {
    const { clock, req, res, socket, spentMs } = await held(t, 'Accept-Encoding: gzip\r\nConnection: close\r\n')
    compression({ level: 0, threshold: 0 })(req, res, () => undefined)
    res.setHeader('Content-Type', 'text/plain')
    clock.advance(100)
    res.write(MORE_THAN_BUFFERS)
    const drained = once(res, 'drain') // compression has taken all of it
    await until(() => res.writableNeedDrain)
    clock.advance(60_000)
    socket.resume()
    await drained
    await until(() => (res.socket?.bytesWritten ?? 0) > 47 * 2 ** 20 && res.writableLength === 0)
    await new Promise(setImmediate)
    clock.advance(40)
    res.end()
    await until(() => res.writableFinished)
    assert.match(socket.text.slice(0, 1_000), /\r\nContent-Encoding: gzip\r\n/)
    assert.equal(await spentMs(), 140)
  })
})

describe('throttle() and a client that has gone', () => {
  it('charges a handler that was not seen for an hour for a minute of it', async (t) => {
    const { clock, res, signal, socket, spentMs } = await held(t)
    socket.destroy()
    await until(() => signal.aborted)
    clock.advance(3_600_000)
    res.end()
    assert.equal(await spentMs(), UNSEEN_MS + 60_000)
  })

  it('ends no response with it to which a file was piped before, and no more', async (t) => {
    const { clock, res, signal, socket, spentMs } = await held(t)
    const source = endlessFile()
    source.pipe(res)
    source.unpipe(res)
    socket.destroy()
    await until(() => signal.aborted)
    clock.advance(90_000)
    assert.equal(await spentMs(), UNSEEN_MS)
  })

  it('aborts nothing after res.end()', async (t) => {
    const { req, res, signal, socket } = await held(t)
    res.end(MORE_THAN_BUFFERS)
    socket.destroy()
    await until(() => req.socket.destroyed)
    await new Promise(setImmediate)
    assert.equal(signal.aborted, false)
  })
})

it('throttle() charges an upgraded connection to its header', async (t) => {
  const { clock, res, socket, spentMs } = await held(t, 'Connection: Upgrade\r\nUpgrade: echo\r\n')
  clock.advance(15)
  res.writeHead(101, { Connection: 'Upgrade', Upgrade: 'echo' }).flushHeaders()
  await once(socket.resume(), 'data')
  clock.advance(3_600_000)
  assert.equal(await spentMs(), 15)
})
