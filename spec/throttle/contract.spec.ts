import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { Cluster, Redis } from 'ioredis'
import { type ThrottleOptions, type ThrottleStore, redisStore, throttle, throttleTest } from '../../lib'
import { type Answer, listen } from '../support/serve'
import { type RedisCluster, startCluster } from '../support/cluster'
import { type Server, startRedis } from '../support/redis'
import { type SentinelGroup, startSentinelGroup } from '../support/sentinel'
import { until } from '../support/until'

let redis: Server
let client: Redis
let group: SentinelGroup
let bySentinel: Redis
let cluster: RedisCluster
let byCluster: Cluster
before(async () => {
  ;[redis, group, cluster] = await Promise.all([startRedis(), startSentinelGroup(), startCluster()])
  client = new Redis(redis.port)
  bySentinel = new Redis({ sentinels: [...group.sentinels], name: group.name, lazyConnect: true })
  byCluster = new Cluster([...cluster.nodes], { lazyConnect: true })
})
after(async () => {
  for (const each of [client, bySentinel, byCluster]) each.disconnect()
  await Promise.all([redis, group, cluster].map((each) => each.stop()))
})

const DAY = 86_400_000
const SUBJECTS = [
  'ada',
  '=',
  ':',
  '{a}',
  '}{',
  'a\nb',
  '*1\r\n$4\r\nPING',
  '\0',
  'é',
  'e\u0301',
  '\ud800',
  '\ud801',
  'x'.repeat(10_240),
]

/** What holds wherever the windows are kept. Real time: the figures that matter are charged, not measured. */
function contract(name: string, store: () => ThrottleStore | undefined): void {
  describe(`throttle() over ${name}`, () => {
    async function api(t: TestContext, options: Partial<ThrottleOptions> = {}) {
      const chosen = store()
      const app = express()
      let who = 'ada'
      const throttled = throttle({
        ...{ limitMs: 10_000, windowMs: 1_200, subject: () => who, ...options },
        ...(chosen && { store: chosen }),
      })
      const running: (() => void)[] = []
      app.use(throttled)
      app.get('/throttled', throttleTest())
      app.get('/wait', (_req, res) => void running.push(() => res.end()))
      app.use('/tree', (_req, res) => void res.end())
      const { get, close } = await listen(app)
      t.after(async () => {
        await close()
        await throttled.close()
      })
      if (chosen) await until(async () => (await throttled.usage('nobody')).every(({ degraded }) => !degraded))
      const charge = (ms: number) => get(`/throttled?processingTime=${ms}`)
      return { get, throttled, charge, running, as: (subject: string) => (who = subject) }
    }

    /** Runs `fn` so that it is over before the window is; again in the next window where it was not. */
    async function inOneWindow(throttled: ReturnType<typeof throttle>, fn: () => Promise<void>): Promise<void> {
      const left = async () => (await throttled.usage('ada'))[0]?.endsInMs as number
      const end = async () => (await left()) + performance.now()
      for (;;) {
        await until(async () => (await left()) > 1_000)
        const before = await end()
        await fn()
        if (Math.abs((await end()) - before) < 600) return
      }
    }

    it("adds up a subject's charges and refuses when they exceed the limit", async (t) => {
      const { charge } = await api(t, { windowMs: DAY })
      const used = (await charge(4_000)).number('X-THROTTLE-MILLIS-USED')
      assert.ok(used >= 4_000 && used < 5_000, String(used))
      assert.equal((await charge(5_000)).status, 200)
      assert.equal((await charge(1_001)).status, 200)
      assert.equal((await charge(0)).status, 429)
    })

    it('lets in a client that waits as long as Retry-After says', async (t) => {
      const { charge, throttled } = await api(t)
      for (let i = 0; i < 3; i++) {
        assert.equal((await charge(0)).status, 200, `round ${i}`)
        let refused: Answer | undefined
        await inOneWindow(throttled, async () => {
          await charge(10_001)
          refused = await charge(0)
        })
        assert.equal(refused?.status, 429)
        await sleep(refused.number('Retry-After') * 1_000)
      }
    })

    it('keeps subjects apart whatever they are made of', async (t) => {
      const { charge, as, throttled } = await api(t, { windowMs: DAY })
      for (const [i, subject] of SUBJECTS.entries()) {
        as(subject)
        await charge((i + 1) * 500)
      }
      for (const [i, subject] of SUBJECTS.entries()) {
        const [usage] = await throttled.usage(subject)
        const spentMs = usage?.spentMs ?? NaN
        assert.ok(
          spentMs >= (i + 1) * 500 && spentMs < (i + 1) * 500 + 200,
          `${JSON.stringify(subject).slice(0, 20)} ${spentMs}`,
        )
      }
    })

    it('holds time for requests in flight, and gives it back', async (t) => {
      const { get, running } = await api(t, { windowMs: DAY, wait: false })
      const answers: number[] = []
      const all = Array.from({ length: 30 }, () => get('/wait').then(({ status }) => answers.push(status)))
      await until(() => running.length + answers.length === 30)
      assert.equal(running.length, 3, 'three seconds each, of ten')
      running.splice(0).forEach((end) => end())
      await Promise.all(all)
      assert.equal(answers.filter((status) => status === 200).length, 3)
      const again = get('/wait')
      await until(() => running.length === 1)
      running[0]?.()
      assert.equal((await again).status, 200)
    })

    it('lets requests wait that fit in what is left, but not beside the holds', async (t) => {
      const { get, running } = await api(t, { windowMs: DAY })
      const all = Array.from({ length: 12 }, () => get('/wait').then(({ status }) => status))
      let isOver = false
      const answered = Promise.all(all).finally(() => (isOver = true))
      await until(() => running.length === 3)
      await until(() => (running.shift()?.(), isOver))
      assert.deepEqual(await answered, Array<number>(12).fill(200))
    })

    it('gives routes windows of their own, or none', async (t) => {
      const routes = { '/tree/open': false, '/tree': { limitMs: 20_000, windowMs: DAY } } as const
      const { get, charge } = await api(t, { windowMs: DAY, routes })
      await charge(10_001)
      assert.equal((await charge(0)).status, 429)
      assert.equal((await get('/tree')).number('X-THROTTLE-WINDOW-SIZE'), 20_000)
      assert.equal((await get('/tree/open')).headers.get('x-throttle-window-size'), null)
    })

    it('reset() gives the window back', async (t) => {
      const { charge, throttled } = await api(t, { windowMs: DAY })
      await charge(10_001)
      assert.equal((await charge(0)).status, 429)
      await throttled.reset('ada')
      assert.equal((await charge(0)).status, 200)
      assert.ok(((await throttled.usage('ada'))[0]?.spentMs ?? NaN) < 5_000)
    })

    for (const options of [{ wait: false }, { dryRun: true }] satisfies ThrottleOptions[]) {
      it(`charges and ${'dryRun' in options ? 'lets in' : 'refuses'} with ${JSON.stringify(options)}`, async (t) => {
        const { charge } = await api(t, { windowMs: DAY, ...options })
        for (let i = 0; i < 5; i++) assert.equal((await charge(2_001)).status, 200)
        assert.equal((await charge(0)).status, 'dryRun' in options ? 200 : 429)
      })
    }
  })
}

contract('the memory of the process', () => undefined)
let stores = 0
contract('Redis', () => redisStore(client, { prefix: `contract-${stores++}:` }))
contract('Redis behind Sentinel', () => redisStore(bySentinel, { prefix: `contract-${stores++}:` }))
contract('a Cluster', () => redisStore(byCluster, { prefix: `contract-${stores++}:` }))
contract('Redis by URL', () => redisStore(`redis://127.0.0.1:${redis.port}/1`, { prefix: `contract-${stores++}:` }))

describe('redisStore()', () => {
  it('leaves only keys that expire, and nothing in them of the subject', async () => {
    const keys = await client.keys('*')
    assert.ok(keys.length > 10, `${keys.length} keys`)
    for (const key of keys) {
      assert.notEqual(await client.pttl(key), -1, key) // -2: it has expired since
      assert.match(
        key,
        /^contract-\d+:((?:living|canary|terms):\{beat\}|usage:\d+:[\x20-\x7e]+|w4:\{[\w-]{24}\}:\d+:[\x20-\x7e]+)$/,
      )
    }
  })

  it('leaves the client given as it was', async () => {
    assert.equal(client.status, 'ready')
    assert.equal(await client.ping(), 'PONG')
    assert.equal(client.listenerCount('error'), 0)
  })
})
