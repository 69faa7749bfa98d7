// clientWaitMs: waits for slow clients are excused up to a cap.
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import type { ThrottleOptions } from '../../../lib'
import { type Handling, heldApi } from './held-api'
import { including, above, until } from '../../support/until'

/** Uploads whose last byte is kept back while their handlers read. */
async function uploads(t: TestContext, count: number, options: ThrottleOptions = {}, paths = ['/up'], bytes = 2) {
  const api = await heldApi(t, options)
  for (const path of paths) await api.teachQuick(path, 'POST')
  const sockets: Awaited<ReturnType<typeof api.open>>[] = []
  for (const path of paths)
    for (let i = 0; i < count; i++) {
      const socket = await api.open(path, `Content-Length: ${bytes}\r\n`, 'POST')
      socket.write('a')
      sockets.push(socket)
    }
  await until(() => api.running.length, count * paths.length)
  for (const { req } of api.running) req.on('error', () => undefined).resume()
  await until(() => api.running.every(({ req }) => req.readableDidRead))
  await new Promise(setImmediate)
  /** The first upload is complete, and its handler goes on. */
  const sendRest = async () => {
    sockets[0]?.write('b')
    await until(() => api.running[0]?.req.complete)
    await new Promise(setImmediate)
  }
  return { ...api, sockets, sendRest }
}

describe('throttle({ clientWaitMs })', () => {
  it('excuses waits for slow clients up to two limits', async (t) => {
    const { clock, spentMs } = await uploads(t, 1)
    clock.advance(2_000)
    assert.equal(await spentMs(), 0)
    clock.advance(300)
    assert.equal(await spentMs(), 300)
  })

  it('excuses so much to all requests of a subject together', async (t) => {
    const { clock, spentMs } = await uploads(t, 4)
    clock.advance(500)
    assert.equal(await spentMs(), 0)
    clock.advance(100)
    assert.equal(await spentMs(), 400)
  })

  it('excuses less where requests that have ended were excused', async (t) => {
    const { clock, running, sendRest, spentMs } = await uploads(t, 2)
    clock.advance(500)
    await sendRest()
    running[0]?.res.end()
    clock.advance(1_200)
    assert.equal(await spentMs(), 200)
  })

  it('excuses nothing where it is 0', async (t) => {
    const { clock, spentMs } = await uploads(t, 2, { clientWaitMs: 0 })
    clock.advance(100)
    assert.equal(await spentMs(), 200)
  })

  it('may be the route own', async (t) => {
    const routes = { '/photos': { limitMs: 1_000, windowMs: 60_000, clientWaitMs: 5_000 } }
    const { clock, throttled } = await uploads(t, 1, { routes }, ['/photos', '/up'])
    clock.advance(5_200)
    const spent = (await throttled.usage('ada')).map(({ window, spentMs }) => [window, spentMs])
    assert.deepEqual(spent, [
      ['default', 3_200],
      ['/photos', 200],
    ])
  })

  it('counts waits that are short, and requests that end amid one', async (t) => {
    const { clock, running, sockets, spentMs } = await uploads(t, 1)
    clock.advance(2_020)
    running[0]?.res.end()
    assert.equal(await spentMs(), 20)
    await until(() => sockets[0]?.text, including('\r\n\r\n'))
    assert.match(sockets[0]?.text ?? '', /\r\nX-PROCESSING-TIME: 20\r\n/i)
  })

  it('counts a body that dribbles in beyond the cap', async (t) => {
    const { clock, running, sockets, spentMs } = await uploads(t, 1, {}, ['/up'], 60)
    clock.advance(1_990)
    for (let bytes = 2; bytes < 50; bytes++) {
      const { socket } = (running[0] as Handling).req
      const before = socket.bytesRead
      sockets[0]?.write('b')
      await until(() => socket.bytesRead, above(before))
      await new Promise(setImmediate)
      clock.advance(10)
    }
    assert.equal(await spentMs(), 470)
  })

  it('excuses a wait again that was beyond the cap when its window ended, up to the cap of the next', async (t) => {
    const { clock, enterNextWindow, sendRest, spentMs, throttled } = await uploads(t, 1)
    const { endsInMs } = (await throttled.usage('ada'))[0] as { endsInMs: number }
    clock.advance(endsInMs - 100)
    assert.equal(Math.round((await spentMs()) ?? 0), Math.round(endsInMs - 2_100))
    await enterNextWindow()
    assert.equal(await spentMs(), 0)
    clock.advance(2_000)
    assert.equal(await spentMs(), 0)
    clock.advance(300)
    assert.equal(await spentMs(), 300)
    await enterNextWindow()
    await sendRest()
    clock.advance(50)
    await enterNextWindow()
    assert.equal(await spentMs(), 0)
    clock.advance(40)
    assert.equal(await spentMs(), 40)
  })

  it('learns no price from a wait beyond the cap', async (t) => {
    const { clock, enterNextWindow, open, running, sendRest, spentMs } = await uploads(t, 1)
    clock.advance(2_800)
    await sendRest()
    running.splice(0)[0]?.res.end()
    assert.equal(await spentMs(), 800)
    await enterNextWindow()
    for (let i = 0; i < 2; i++) await open('/up', 'Content-Length: 2\r\n', 'POST')
    assert.equal(running.length, 2, 'neither is held for 800 ms')
  })

  it('holds nothing for a wait beyond the cap, however long it lasts', async (t) => {
    const { burst, clock, spentMs } = await uploads(t, 1)
    clock.advance(2_400)
    assert.equal(await spentMs(), 400)
    assert.equal(await burst(1, '/new'), 1, 'a request of a price of 500 ms')
  })

  it('holds half as much as was worked after such a wait', async (t) => {
    const { burst, clock, sendRest, spentMs } = await uploads(t, 1)
    clock.advance(2_100)
    await sendRest()
    clock.advance(300)
    assert.equal(await spentMs(), 400)
    assert.equal(await burst(1, '/new'), 0, 'a request of a price of 500 ms')
  })
})
