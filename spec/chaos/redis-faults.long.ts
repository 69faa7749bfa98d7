// A Redis that is killed, filled, slowed or cut off under load: nothing is lost or charged twice.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type Server, freePort, startRedis } from '../support/redis'
import { until } from '../support/until'
import { type Api, startApis } from './apis'
import { type Proxy, startProxy } from './proxy'
import { LONG_WINDOW_MS, totals } from './shared-total'
import { type Stalls, watchStalls } from './stalls'
import { FULL } from './table'
import { type Fault, type Waits, judgeWaits, trial } from './trial'

/** A connection that swallows everything is given up after 800 ms of silence; one may have been made just before the end. */
const HALF_OPEN_MS = 1_500
const OPTIONS = { limitMs: 86_400_000, windowMs: LONG_WINDOW_MS }
/** By name: decides from memory while its figures are fresh; asks the store at every request. */
const THROTTLES = { shared: OPTIONS, asking: OPTIONS }

describe('throttle() over a Redis that fails under load', { timeout: 600_000 }, () => {
  const ending: (() => void | Promise<void>)[] = []
  const owner = { after: (fn: () => void | Promise<void>) => void ending.unshift(fn) }
  const folder = mkdtempSync(join(tmpdir(), 'express-tollgate-chaos-redis-'))
  let redis: Server
  let starting: Promise<Server> | undefined
  let admin: Redis
  let proxy: Proxy
  let apis: Api[]
  let stalls: Stalls

  const start = (port?: number, ...more: string[]) =>
    startRedis(
      ...(port ? ['--port', String(port)] : []),
      '--dir',
      folder,
      '--loading-process-events-interval-bytes',
      '1024',
      ...more,
    )

  before(async () => {
    owner.after(() => rmSync(folder, { recursive: true, force: true }))
    redis = await start()
    owner.after(() => redis.stop())
    admin = new Redis(redis.port, {
      ...{ retryStrategy: () => 10, maxRetriesPerRequest: 0, enableOfflineQueue: false, enableReadyCheck: false },
    })
    admin.on('error', () => undefined)
    owner.after(() => admin.disconnect())
    proxy = await startProxy(owner, redis.port)
    stalls = await watchStalls(owner)
    apis = await startApis(owner, 4, { redis: `redis://127.0.0.1:${proxy.port}`, throttles: THROTTLES })
  })
  after(async () => {
    for (const end of ending) await end()
  })

  const faults: Fault[] = [
    {
      name: 'kill -9, restarted empty',
      break: () => redis.stop(),
      last: () => sleep(FULL ? 3_000 : 300),
      mend: async () => void (redis = await start(redis.port)),
    },
    {
      name: 'SCRIPT FLUSH',
      break: () => redis.command('SCRIPT', 'FLUSH'),
      last: () => Promise.resolve(),
      mend: () => undefined,
    },
    {
      name: 'FLUSHALL',
      break: () => undefined,
      last: () => Promise.resolve(),
      mend: () => redis.command('FLUSHALL'), // while the witness rests
    },
    {
      name: 'READONLY',
      break: async () => redis.command('REPLICAOF', '127.0.0.1', String(await freePort())),
      last: () => sleep(FULL ? 5_000 : 500),
      mend: () => redis.command('REPLICAOF', 'NO', 'ONE'),
    },
    {
      name: 'LOADING, then older than it was',
      break: async () => {
        const pipeline = admin.pipeline()
        for (let i = 0; i < 500; i++) pipeline.set(`ballast-${i}`, '')
        await pipeline.exec()
        await admin.save()
        await redis.stop()
        starting = start(redis.port, '--key-load-delay', '4000')
        await until(() => answers('LOADING'))
      },
      last: () => until(() => answers('LOADING'), false),
      mend: async () => void (redis = (await starting) ?? redis),
    },
    {
      name: 'BUSY script',
      break: async () => {
        await admin.config('SET', 'busy-reply-threshold', '5')
        const runaway = new Redis(redis.port, { maxRetriesPerRequest: 0 })
        void runaway.eval('while true do end', 0).catch(() => runaway.disconnect())
        await until(() => answers('BUSY'))
      },
      last: () => sleep(FULL ? 3_000 : 500),
      mend: () => redis.command('SCRIPT', 'KILL'),
    },
    {
      name: 'maxmemory reached',
      break: () => redis.command('CONFIG', 'SET', 'maxmemory', '1'),
      last: () => sleep(FULL ? 3_000 : 500),
      mend: () => redis.command('CONFIG', 'SET', 'maxmemory', '0'),
    },
    {
      name: 'a second slow',
      break: () => proxy.delay(500),
      last: () => sleep(FULL ? 5_000 : 1_200),
      mend: () => proxy.mend(),
    },
    {
      name: 'half-open socket',
      break: () => proxy.swallow(),
      last: () => sleep(FULL ? 5_000 : 1_200),
      mend: () => proxy.mend(),
      withinMs: HALF_OPEN_MS,
    },
    {
      name: 'connections dropped',
      break: () => proxy.drop(),
      last: () => Promise.resolve(),
      mend: () => undefined,
    },
    {
      name: `refused for ${FULL ? 30 : 1} s`,
      break: () => proxy.refuse(),
      last: () => sleep(FULL ? 30_000 : 1_000),
      mend: () => proxy.mend(),
    },
    {
      name: 'replies after 40 ms',
      break: () => proxy.delay(20),
      last: () => sleep(FULL ? 5_000 : 1_200),
      mend: () => proxy.mend(),
    },
  ]

  /** Whether the server answers a read with this error. */
  function answers(error: string): Promise<boolean> {
    return admin.get('x').then(
      () => false,
      (err: Error) => err.message.startsWith(error),
    )
  }

  const waits: Waits[] = []
  for (const [i, fault] of faults.entries()) {
    for (const mount of FULL ? ['shared', 'asking'] : [i % 2 === 0 ? 'shared' : 'asking']) {
      it(`loses nothing and charges nothing twice: ${fault.name}, ${mount}`, async (t) => {
        waits.push(await trial(t, { apis, total: totals(admin, mount), stalls, mount }, fault))
      })
    }
  }

  it('keeps 999 of 1,000 requests waiting for no more than 100 ms', (t) => judgeWaits(t, waits))
})
