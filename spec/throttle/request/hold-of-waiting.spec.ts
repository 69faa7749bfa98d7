import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { type TestContext, describe, it } from 'node:test'
import express, { type Request, type Response } from 'express'
import { budgetOf, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { listen } from '../../support/serve'
import { until } from '../../support/until'

/** No window ends amid a spec. */
const DAY_MS = 86_400_000

/** An API whose `/work` is expected to take 500 of 1,000 ms, as nearly nothing is known of it, and what is at work in it. */
async function api(t: TestContext, timersAt = 1) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const after = clock.after.bind(clock)
  clock.after = (ms, fn) => after(ms * timersAt, fn)
  const app = express()
  const throttled = throttle({
    ...{ subject: (req) => req.get('X-User') ?? 'ada', limitMs: 1_000, windowMs: DAY_MS, clientWaitMs: DAY_MS, clock },
    wait: false, // a 429 says at once what does not fit
  })
  app.use(throttled)
  const working: { req: Request; res: Response }[] = []
  app.all('/work', (req, res) => {
    if (req.get('X-User') === 'teacher') {
      clock.advance(400)
      return void res.end()
    }
    working.push({ req, res })
    if (req.method === 'POST') req.resume().on('error', () => undefined)
  })
  const { url, server, get, close } = await listen(app)
  t.after(close)
  for (const method of ['GET', 'POST']) await fetch(`${url}/work`, { method, headers: { 'X-User': 'teacher' } })
  const open = async (head: string): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(`${head} /work HTTP/1.1\r\nHost: x\r\n`)
    return socket
  }
  const leaves = async (socket: Socket) => {
    const { signal } = budgetOf((working.at(-1) as { req: Request }).req)
    socket.destroy()
    await until(() => signal.aborted)
  }
  const spentMs = async () => (await throttled.usage('ada'))[0]?.spentMs
  return { clock, working, get, open, leaves, spentMs }
}

describe('throttle() and the hold of a request whose client has gone', () => {
  it('keeps it for as long as the request was expected to take, so that no more is begun than fits', async (t) => {
    const { clock, working, get, open, leaves, spentMs } = await api(t)
    for (const requests of [1, 2]) {
      const socket = await open('GET')
      socket.write('\r\n')
      await until(() => working.length === requests)
      clock.advance(100)
      await leaves(socket)
    }
    assert.equal(await spentMs(), 300)
    // 300 used, 300 + 400 held: 500 more do not fit.
    assert.equal((await get('/work')).status, 429)
    assert.equal(working.length, 2)

    clock.advance(400)
    assert.equal(await spentMs(), 1_000) // both are written off, and have paid their price
  })

  it('keeps it also where a timer fires early, as in Node one does that is set late in a long turn', async (t) => {
    const { clock, working, get, open, leaves } = await api(t, 0.5)
    for (const requests of [1, 2]) {
      const socket = await open('GET')
      socket.write('\r\n')
      await until(() => working.length === requests)
      await leaves(socket)
    }
    for (const afterMs of [260, 200]) {
      clock.advance(afterMs)
      assert.equal((await get('/work')).status, 429) // 500 + 500 held
    }
    clock.advance(80)
    const third = await open('GET')
    third.write('\r\n')
    await until(() => working.length === 3)
  })

  it('gives it back when the handler ends the response', async (t) => {
    const { clock, working, get, open, leaves, spentMs } = await api(t)
    for (const requests of [1, 2]) {
      const socket = await open('GET')
      socket.write('\r\n')
      await until(() => working.length === requests)
      await leaves(socket)
    }
    assert.equal((await get('/work')).status, 429)
    clock.advance(50)
    for (const { res } of working) res.end()
    assert.equal(await spentMs(), 100)
    const third = await open('GET')
    third.write('\r\n')
    await until(() => working.length === 3)
  })
})

describe('throttle() and the hold of a request that waits for its body', () => {
  it('keeps it, and charges nothing of the wait', async (t) => {
    const { clock, working, get, open, spentMs } = await api(t)
    const sockets: Socket[] = []
    for (const requests of [1, 2]) {
      const socket = await open('POST')
      socket.write('Content-Length: 2\r\n\r\na')
      await until(() => working.length === requests)
      sockets.push(socket)
    }
    await until(() => working.every(({ req }) => req.readableDidRead))
    await new Promise(setImmediate)
    clock.advance(30_000)
    assert.equal(await spentMs(), 0)
    assert.equal((await get('/work')).status, 429) // 500 + 500 held, 500 more do not fit

    for (const socket of sockets) socket.write('b')
    await until(() => working.every(({ req }) => req.complete))
    clock.advance(100)
    assert.equal(await spentMs(), 200)
    for (const { res } of working) res.end()
    assert.equal(await spentMs(), 200)
  })
})
