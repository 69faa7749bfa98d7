import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import express from 'express'
import { Cluster, Redis } from 'ioredis'
import { redisStore, throttle } from '../../../lib'
import { startCluster } from '../../support/cluster'
import { get, listen } from '../../support/listen'
import { type Server, startRedis } from '../../support/redis'
import { until } from '../../support/until'

const ROUTE_MS = 40
/** A window so long that none ends amid a spec; half of its limit is what an unknown route is priced at. */
const WINDOW = { limitMs: 1_000, windowMs: 2_592_000_000, wait: { maxMs: 5_000 } }
/** So many calls of a page begin on a route that nobody knows before one of them has ended and says what it takes. */
const COLD_MOST = 2
const KEY = 'tollgate:prices:default'
const ID = 'a'.repeat(16)

describe('throttle() shares what requests take through Redis', () => {
  let redis: Server
  let client: Redis
  before(async () => {
    redis = await startRedis()
    client = new Redis(redis.port)
  })
  after(async () => {
    client.disconnect()
    await redis.stop()
  })

  /** An API as a process starts it, how many of its handlers ran at the same time at most, and how many before one ended. */
  async function api(t: TestContext, to = `redis://127.0.0.1:${redis.port}`) {
    const throttled = throttle({ ...WINDOW, store: redisStore(to), subject: (req) => req.get('user') ?? null })
    const app = express().use(throttled)
    const log = { running: 0, most: 0, beforeAnyEnded: 0, hasEnded: false }
    app.get('/users/ada/tree', (_req, res) => {
      log.most = Math.max(log.most, ++log.running)
      if (!log.hasEnded) log.beforeAnyEnded = log.running
      setTimeout(() => {
        log.running--
        log.hasEnded = true
        res.end()
      }, ROUTE_MS)
    })
    const { url, close } = await listen(app)
    const end = async () => {
      await close()
      await throttled.close()
    }
    t.after(end)
    await throttled.ready()
    const ask = async (user: string) => (await get(`${url}/users/ada/tree`, { user })).status
    return { ask, log, end }
  }

  /** A page of a fresh user: six calls at once. */
  async function page({ ask }: { ask: (user: string) => Promise<number> }, user: string): Promise<void> {
    assert.deepEqual(await Promise.all(Array.from({ length: 6 }, () => ask(user))), Array(6).fill(200))
  }

  it('so that a process that starts anew lets a fresh user in at once, as one that has run for long', async (t) => {
    await client.flushall()
    const first = await api(t)
    await page(first, 'first')
    assert.ok(first.log.beforeAnyEnded <= COLD_MOST, `${first.log.beforeAnyEnded} at once`)
    for (const user of ['b', 'c', 'd']) await first.ask(user)
    await first.end() // as in a deployment

    const [known = ''] = Object.values(await client.hgetall(KEY))
    const us = Number(/^(\d+)@\d+$/.exec(known)?.[1])
    assert.ok(us >= ROUTE_MS * 990 && us < ROUTE_MS * 2_500, known)
    const ttl = await client.pttl(KEY)
    assert.ok(ttl > 86_000_000 && ttl <= 86_400_000, `${ttl}`)
    const stored = JSON.stringify([await client.keys('tollgate:prices:*'), await client.hgetall(KEY)])
    assert.ok(!stored.includes('ada') && !stored.includes('tree'), stored)

    // The prices come soon after the connection, and no request waits for them.
    let processes = 1
    await until(async () => {
      const second = await api(t)
      await page(second, `fresh-${++processes}`)
      await second.end()
      return second.log.most === 6
    })
  })

  it('and counts without them where they are damaged, of another type, or absurd', async (t) => {
    const values: (() => Promise<unknown>)[] = [
      () => client.set(KEY, 'a string'),
      () =>
        client.hset(
          KEY,
          ID,
          'no price',
          'b',
          '@',
          'c',
          '-1@1',
          'd',
          `${'9'.repeat(400)}@${Math.floor(Date.now() / 1_000)}`,
        ),
    ]
    for (const damage of values) {
      await client.flushall()
      await damage()
      const damaged = await api(t)
      await page(damaged, 'ada')
      assert.ok(damaged.log.beforeAnyEnded <= COLD_MOST, `${damaged.log.beforeAnyEnded} at once`)
      await damaged.end()
    }
  })

  it('bounded: 512 routes of a window, the latest said, for a day', async (t) => {
    await client.flushall()
    const store = redisStore(`redis://127.0.0.1:${redis.port}`)
    t.after(() => store.close())
    store.watch({ ready: () => undefined, gone: () => undefined })
    const share = (prices: Map<string, number>) =>
      (store.sharePrices as NonNullable<typeof store.sharePrices>)('default', prices)
    const now = Math.floor(Date.now() / 1_000)
    await client.hset(KEY, 'over', `1@${now - 86_401}`, 'old', `2@${now - 3_600}`)
    await until(() => share(new Map()).catch(() => undefined))
    assert.deepEqual([...(await share(new Map()))], [['old', 2]])
    assert.deepEqual(Object.keys(await client.hgetall(KEY)), ['old'])

    const many = new Map(Array.from({ length: 512 }, (_, i) => [`route-${i}`, i]))
    const known = await share(many)
    assert.deepEqual([...known].sort(), [...many].sort())
    assert.equal(await client.hlen(KEY), 512)
  })

  it('on a Cluster, too', async (t) => {
    const cluster = await startCluster()
    t.after(() => cluster.stop())
    const store = () => redisStore(new Cluster([...cluster.nodes], { lazyConnect: true }))
    const [one, two] = [store(), store()]
    for (const store of [one, two]) {
      t.after(() => store.close())
      store.watch({ ready: () => undefined, gone: () => undefined })
    }
    await until(() => one.sharePrices?.('default', new Map([[ID, 7]])).catch(() => undefined))
    await until(async () => (await two.sharePrices?.('default', new Map()).catch(() => undefined))?.get(ID) === 7)
  })
})
