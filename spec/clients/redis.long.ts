import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { Cluster, Redis } from 'ioredis'
import RedisMock from 'ioredis-mock'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { type ThrottleStore, redisProofs, redisRevocations, redisStore, throttle } from '../../lib/index'
import { redisOAuthStore } from '../../lib/oauth/index'
import { redisWindows } from '../../lib/inspect/redis-windows'
import { type Server, startRedis } from '../support/redis'
import { type RedisCluster, startCluster } from '../redis/cluster'
import { TYPESCRIPT } from '../support/typescript'
import { insideOf } from '../../lib/throttle/store/store'
import { until } from '../support/until'
import { says } from '../support/help-link'

/** Factories as a caller without types has them. */
type Factory = (to: unknown) => { close(): unknown }
const FACTORIES = [redisStore, redisRevocations, redisProofs, redisOAuthStore] as unknown as Factory[]
const URL_ONE = { url: 'redis://app:s3cret@127.0.0.1:1' }

describe('factories over Redis refuse at once', () => {
  const clients: [what: string, client: unknown, message: RegExp][] = [
    [
      'a client of node-redis 5',
      createClient(URL_ONE),
      /this is a node-redis client: pass its URL, or an ioredis client$/,
    ],
    ['a pool of node-redis 5', createClientPool(URL_ONE), /this is a node-redis client: pass its URL/],
    ['a cluster of node-redis 5', createCluster({ rootNodes: [URL_ONE] }), /a node-redis cluster: .*new Cluster\(\[/],
    [
      'a sentinel of node-redis 5',
      createSentinel({ name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] }),
      /a node-redis sentinel: .*new Redis\(\{ sentinels, name \}\)$/,
    ],
    ['ioredis-mock', new RedisMock(), /this is ioredis-mock, which is no Redis: .*leave the store out in tests$/],
    ['its Cluster', new RedisMock.Cluster([{ host: '127.0.0.1', port: 1 }]), /this is ioredis-mock/],
    [
      'options with a password',
      { host: 'redis', password: 's3cret' },
      /received an object with host, password: write \w+\('redis:\/\/host:6379'\)$/,
    ],
    ['options with a URL', URL_ONE, /received an object with url: write \w+\(url\)$/],
    ['no scheme', 'localhost:6379', /received one without its scheme: add redis:\/\/, as in redis:\/\/localhost:6379$/],
    ['no scheme but a password', 'app:s3cret@localhost:6379/2', /without its scheme: add redis:\/\//],
    ['a name alone', 'localhost', /without its scheme: add redis:\/\//],
    ['one slash', 'redis:/app:s3cret@localhost', /cannot be read: it is redis:\/\/name:password@host:6379\/0$/],
    ['a port that is none', 'redis://app:s3cret@localhost:70000', /cannot be read/],
    [
      'a socket',
      '/run/redis/redis.sock',
      /the path of a socket: pass an ioredis client, as in new Redis\(\{ path \}\)$/,
    ],
    ['an http URL', 'https://app:s3cret@eu1.upstash.example', /an http URL: pass the redis:\/\/ or rediss:\/\/ URL/],
    ['a path in a URL', 'redis://localhost/s3cret@host', /the number of a database, as in .* received another path$/],
  ]
  for (const [what, client, message] of clients) {
    it(what, () => {
      for (const factory of FACTORIES) {
        assert.throws(
          () => factory(client),
          (err: Error) => {
            assert.ok(err instanceof TypeError)
            assert.doesNotMatch(err.message, /s3cret/)
            return says(message)(err)
          },
        )
      }
    })
  }

  it('and throttle({ store }) what is no store, without a password', () => {
    for (const store of [
      URL_ONE.url,
      URL_ONE,
      createClient(URL_ONE),
      new Redis(`${URL_ONE.url}`, { lazyConnect: true }),
    ]) {
      assert.throws(
        () => throttle({ store: store as unknown as ThrottleStore }),
        (err: Error) => {
          assert.match(err.message, /^store must be a store of redisStore\(\); received a/)
          assert.doesNotMatch(err.message, /s3cret/)
          return true
        },
      )
    }
    const swapped = () => redisStore(URL_ONE.url, `redis://:${'x'.repeat(90)}s3cret@localhost` as never)
    assert.throws(swapped, (err: Error) => !/s3cret|xxx/.test(err.message))
  })
})

describe('factories over Redis take', () => {
  const own = () => new Redis({ port: 1, lazyConnect: true })
  const clients: [what: string, client: unknown][] = [
    ['a Proxy around an ioredis client', new Proxy(own(), {})],
    ['a class that extends Redis', new (class Ours extends Redis {})({ port: 1, lazyConnect: true })],
    ['an instrumented client', Object.assign(own(), { HGETALL: () => undefined, sendCommand: () => undefined })],
    ['an object with duplicate() alone', { duplicate: () => own() }],
  ]
  for (const [what, client] of clients) {
    it(what, () => {
      for (const factory of FACTORIES) void factory(client).close()
    })
  }
})

describe("a client's keyPrefix", () => {
  let redis: Server
  let cluster: RedisCluster
  before(async () => void ([redis, cluster] = await Promise.all([startRedis(), startCluster()])))
  after(() => Promise.all([redis.stop(), cluster.stop()]))

  const spent = async (store: ThrottleStore) => {
    const throttled = throttle({ windowMs: 86_400_000, store })
    after(() => throttled.close())
    await until(async () => (await throttled.usage('ada'))[0]?.degraded, false)
    return throttled
  }

  it('begins every key, is a key space of its own, and dashboard and top read it', async () => {
    const admin = new Redis(redis.port)
    after(() => admin.disconnect())
    const of = (keyPrefix?: string) =>
      new Redis({ port: redis.port, lazyConnect: true, ...(keyPrefix && { keyPrefix }) })
    const stores = [of('a:'), of('b:'), `redis://127.0.0.1:${redis.port}?keyPrefix=c:`, of()]
    for (const to of stores) await (await spent(redisStore(to))).reset('ada')
    for (const to of stores) {
      const windows = await redisWindows(to, 'tollgate:')
      after(() => windows.close())
      await until(async () => (await windows.read()).windows.length, 1)
    }
    const begins = (await admin.keys('*')).map((key) => /^(?:[abc]:)?tollgate:/.exec(key)?.[0])
    assert.deepEqual([...new Set(begins)].sort(), ['a:tollgate:', 'b:tollgate:', 'c:tollgate:', 'tollgate:'])
    assert.deepEqual(
      [stores[0], stores[3]].map((to) => insideOf(redisStore(to as Redis)).keeps === undefined),
      [false, false],
    )
    assert.notEqual(insideOf(redisStore(stores[0] as Redis)).keeps, insideOf(redisStore(stores[1] as Redis)).keeps)
  })

  for (const [where, options] of [
    ['its own options', { keyPrefix: 'x:' }],
    ["its nodes' options", { redisOptions: { keyPrefix: 'x:' } }],
  ] as const) {
    it(`is honoured in a Cluster, in ${where}`, async () => {
      const to = new Cluster([...cluster.nodes], { lazyConnect: true, ...options })
      await (await spent(redisStore(to))).reset('ada')
      const windows = await redisWindows(to, 'tollgate:')
      after(() => windows.close())
      await until(async () => (await windows.read()).windows.length, 1)
      const keys = await Promise.all(cluster.masters.map(({ admin }) => admin.keys('*')))
      assert.deepEqual(
        keys.flat().filter((key) => !key.startsWith('x:tollgate:')),
        [],
      )
    })
  }

  it('of a Cluster may have no hash tag', () => {
    const to = new Cluster([...cluster.nodes], { lazyConnect: true, keyPrefix: '{app}:' })
    assert.throws(() => redisStore(to), says(/^keyPrefix of a Cluster's client must be without braces.*'\{app\}:'$/))
  })
})

describe('a server without INFO, CLIENT, CONFIG and SCAN', () => {
  let redis: Server
  const without = (...commands: string[]) => commands.flatMap((command) => ['--rename-command', command, ''])
  before(async () => void (redis = await startRedis(...without('INFO', 'CLIENT', 'CONFIG', 'SCAN'))))
  after(() => redis.stop())

  it('keeps the windows of a throttle', async () => {
    const url = `redis://127.0.0.1:${redis.port}`
    const throttled = throttle({ windowMs: 86_400_000, store: redisStore(url) })
    after(() => throttled.close())
    await until(async () => (await throttled.usage('ada'))[0]?.degraded, false)
    await throttled.ready()
    const revocations = redisRevocations(url)
    after(() => revocations.close())
    await revocations.ready()
  })

  it('says that it cannot be looked through', async () => {
    const windows = await redisWindows(`redis://127.0.0.1:${redis.port}`, 'tollgate:')
    after(() => windows.close())
    await assert.rejects(windows.read(), /Redis at 127\.0\.0\.1:\d+ answers .*unknown command.*scan/i)
  })
})

describe('ioredis', () => {
  const loaded = async (script: string) => {
    const print = 'process.stdout.write(String(Object.keys(require.cache).some((file) => /[/]ioredis[/]/.test(file))))'
    const args = [...TYPESCRIPT, '--eval', `${script};${print};process.exit()`]
    return (await promisify(execFile)(process.execPath, args)).stdout
  }

  it('is not loaded by an app without Redis', async () => {
    const app = `
      const { requireBearer, throttle } = require('./lib')
      require('./lib/oauth'); require('./lib/dashboard'); require('./lib/testing')
      throttle(); requireBearer({ issuer: 'https://ident.example.org', audience: 'https://api.example.org' })`
    assert.equal(await loaded(app), 'false')
  })

  it('is loaded where a Redis is used', async () => {
    assert.equal(await loaded("require('./lib').redisStore('redis://127.0.0.1:1')"), 'true')
  })
})
