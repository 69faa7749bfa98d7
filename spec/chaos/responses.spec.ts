import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type Server, startRedis } from '../support/redis'
import { TYPESCRIPT, programOf } from '../support/typescript'
import { until } from '../support/until'
import { PER_REQUEST_MS } from './balance'
import { LONG_WINDOW_MS, heldBy, openWindowKey, totals } from './shared-total'

/** When the client's next bytes came, the handler may see later than throttle() does. */
const SEEN_LATER_MS = 40

/** `ms` of work by the handler's clock, and the most that may be charged for it: told by themselves or together. */
interface Said {
  readonly port?: number
  readonly user: string
  readonly ms?: number
  readonly mostMs?: number
}

const sum = (parts: readonly number[] = []): number => parts.reduce((all, ms) => all + ms, 0)

describe('throttle() charges every kind of response, over real processes and sockets', { timeout: 600_000 }, () => {
  let redis: Server
  let admin: Redis
  const children: ChildProcess[] = []
  const ports: number[] = []
  const begun = new Map<string, number>()
  const worked = new Map<string, readonly number[]>()
  const mosts = new Map<string, readonly number[]>()

  before(async () => {
    redis = await startRedis()
    admin = new Redis(redis.port)
    const config = JSON.stringify({ redis: `redis://127.0.0.1:${redis.port}`, windowMs: LONG_WINDOW_MS })
    for (let i = 0; i < 2; i++) {
      const child = fork(programOf(__dirname, 'responses-api'), [config], {
        execArgv: TYPESCRIPT,
        env: { ...process.env, NODE_ENV: 'test' }, // or Express prints what is thrown on purpose
      })
      children.push(child)
      child.on('message', ({ port, user, ms, mostMs }: Said) => {
        if (port !== undefined) return void ports.push(port)
        if (ms === undefined && mostMs === undefined) return void begun.set(user, (begun.get(user) ?? 0) + 1)
        if (ms !== undefined) worked.set(user, [...(worked.get(user) ?? []), ms])
        if (mostMs !== undefined) mosts.set(user, [...(mosts.get(user) ?? []), mostMs])
      })
    }
    await until(() => ports.length === 2)
    for (const port of ports) {
      const degraded = async () => {
        const usage = await fetch(`http://127.0.0.1:${port}/usage/nobody`)
        return ((await usage.json()) as { degraded: boolean }).degraded
      }
      await until(async () => !(await degraded()))
      await exchange(port, `GET /not-modified?user=warmer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    }
  })
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    admin.disconnect()
    await redis.stop()
  })

  /** A response that is never ended is written off after its price, here three seconds. */
  const WRITTEN_OFF_MS = 3_100

  /** Sends it over a socket of its own, and takes all that comes until the end. */
  async function exchange(port: number, bytes: string): Promise<string> {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (data: Buffer) => (text += data.toString('latin1')))
    socket.on('error', () => undefined)
    socket.write(bytes)
    await once(socket, 'close')
    return text
  }

  const head = (line: string, ...fields: string[]) => [line, 'Host: x', ...fields, '', ''].join('\r\n')

  /** What Redis knows of a user is what its handlers say, and nothing runs or is set aside in any process. */
  async function settled(user: string, times: number, unseenMs = 0): Promise<void> {
    await until(() => worked.get(user)?.length === times && mosts.get(user)?.length === times)
    const [ms, mostMs] = [sum(worked.get(user)), sum(mosts.get(user))]
    const total = totals(admin, 'responses')
    await until(async () => {
      const charged = await total(user)
      return charged >= ms - times * PER_REQUEST_MS && charged <= mostMs + SEEN_LATER_MS + unseenMs
    }).catch(async () => assert.equal(await total(user), ms))
    const key = openWindowKey(user, 'responses')
    await until(async () => {
      const held = heldBy(await admin.hgetallBuffer(key))
      return held.length > 0 && held.every(([hold, running]) => hold === 0 && running === 0)
    })
  }

  /** Opens a connection to each process, asks, and does with it what the client is to do. */
  async function each(user: string, request: string, client: (socket: Socket) => Promise<unknown>): Promise<void> {
    for (const port of ports) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      socket.write(request)
      await client(socket)
      socket.destroy()
    }
  }

  it('aborted amid the handler: to its end', async () => {
    let asked = 0
    await each('aborter', head('GET /aborted?user=aborter HTTP/1.1'), async (socket) => {
      asked++
      await until(() => begun.get('aborter') === asked) // a reset before that takes the request back
      socket.resetAndDestroy()
    })
    await settled('aborter', 2)
  })

  it('an event stream: to its header, however long it lasts', async () => {
    await each('listener', head('GET /events?user=listener HTTP/1.1', 'Connection: close'), async (socket) => {
      const [first] = (await once(socket, 'data')) as [Buffer]
      assert.match(first.toString(), /^HTTP\/1\.1 200 /)
      socket.resume()
      await once(socket, 'close')
    })
    await settled('listener', 2)
  })

  it('a download to a slow reader: not the time that he takes', async () => {
    await each('reader', head('GET /download?user=reader HTTP/1.1', 'Connection: close'), async (socket) => {
      socket.pause()
      await sleep(400)
      socket.resume()
      await once(socket, 'close')
    })
    await settled('reader', 2)
  })

  it('a slow upload: not the time that the client takes to send it', async () => {
    await each('sender', head('POST /upload?user=sender HTTP/1.1', 'Content-Length: 300'), async (socket) => {
      for (let i = 0; i < 3; i++) {
        await sleep(60)
        socket.write('x'.repeat(100))
      }
      const [answer] = (await once(socket, 'data')) as [Buffer]
      assert.match(answer.toString(), /300$/)
    })
    await settled('sender', 4)
  })

  it('HEAD and 304: as any other', async () => {
    for (const port of ports) {
      const last = 'Connection: close'
      const bare = await exchange(port, head('HEAD /not-modified?user=looker HTTP/1.1', last))
      assert.match(bare, /^HTTP\/1\.1 200 [^]*X-PROCESSING-TIME: \d+\r\n[^]*\r\n\r\n$/i)
      const same = await exchange(port, head('GET /not-modified?user=looker HTTP/1.1', 'If-None-Match: "1"', last))
      assert.match(same, /^HTTP\/1\.1 304 [^]*X-PROCESSING-TIME: \d+\r\n[^]*\r\n\r\n$/i)
    }
    await settled('looker', 4)
  })

  it('pipelined on one connection: each by itself', async () => {
    const one = head('GET /not-modified?user=piper HTTP/1.1')
    const last = head('GET /not-modified?user=piper HTTP/1.1', 'Connection: close')
    for (const port of ports) {
      const text = await exchange(port, one + one + last)
      assert.equal(text.match(/HTTP\/1\.1 200 /g)?.length, 3)
    }
    await settled('piper', 6)
  })

  it('an error thrown before the header, and after', async () => {
    for (const port of ports) {
      const before = await exchange(port, head('GET /thrown-before?user=thrower HTTP/1.1', 'Connection: close'))
      assert.match(before, /^HTTP\/1\.1 418 /)
      const cut = await exchange(port, head('GET /thrown-after?user=cutter HTTP/1.1'))
      assert.match(cut, /^HTTP\/1\.1 200 [^]*half/)
    }
    await settled('thrower', 2)
    await settled('cutter', 2, 2 * WRITTEN_OFF_MS) // nobody sees that the handler has ended
  })

  it('an upgraded connection: to its header, however long it lasts', async () => {
    const upgrade = head('GET /upgrade?user=upgrader HTTP/1.1', 'Connection: Upgrade', 'Upgrade: echo')
    await each('upgrader', upgrade, async (socket) => {
      const [answer] = (await once(socket, 'data')) as [Buffer]
      assert.match(answer.toString(), /^HTTP\/1\.1 101 /)
      await sleep(400)
    })
    await settled('upgrader', 2)
  })
})
