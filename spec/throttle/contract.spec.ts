// What holds in memory, over Redis, Sentinel and a Cluster alike.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { Cluster, Redis } from 'ioredis'
import { type ThrottleOptions, type ThrottleStore, redisStore, throttle, throttleTest } from '../../lib'
import { insideOf } from '../../lib/throttle/store/store'
import { subjectKey } from '../../lib/throttle/subject'
import { changedReports } from '../support/asking-store'
import { type Answer, serve } from '../support/serve'
import { type RedisCluster, startCluster } from '../redis/cluster'
import { type Server, startRedis } from '../support/redis'
import { type SentinelGroup, startSentinelGroup } from '../redis/sentinel'
import { assertIs, atLeast, below, between, above, until } from '../support/until'

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

const [HOUR, DAY] = [3_600_000, 86_400_000]
/** What a subject may consist of: nothing of it may meet the store's own syntax. */
const SUBJECTS = [
  ...['ada', 'Ada', '=', ':', 'a:b', 'a', '{a}', '}{', '{}', 'a\nb', 'a\r\nSET x y', '*1\r\n$4\r\nPING', '\0'],
  ...['é', 'e\u0301', '\ud800', '\ud801', '☕'.repeat(500), 'x'.repeat(10_240), 'x'.repeat(10_241)],
  ...['__proto__', 'constructor', subjectKey('x'.repeat(10_240))],
]
let prefixes = 0
const freshPrefix = () => `contract-${prefixes++}:`

/** As a bad network shows a store: every second command arrives again later, and some replies are lost. */
function unreliable(store: ThrottleStore, late: Promise<unknown>[]): ThrottleStore {
  let commands = 0
  return changedReports(store, (report) => async (...command) => {
    const n = commands++
    const reply = await report(...command)
    if (n % 2 === 0) late.push(sleep(40).then(() => report(...command).catch(() => undefined)))
    if (n % 5 === 4) throw new Error('the reply was lost')
    return reply
  })
}

/** What holds wherever the windows are kept. Real time: the figures that matter are charged, not measured. */
function contract(name: string, storeOf?: (prefix: string) => ThrottleStore): void {
  // Each has subjects or a prefix of its own, and most of the time it waits.
  describe(`throttle() over ${name}`, { concurrency: true }, () => {
    async function api(t: TestContext, options: Partial<ThrottleOptions> = {}, chosen = storeOf?.(freshPrefix())) {
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
      const { get } = await serve(app)
      t.after(() => throttled.close())
      if (chosen) await until(async () => (await throttled.usage('nobody')).every(({ degraded }) => !degraded))
      const charge = (ms: number) => get(`/throttled?processingTime=${ms}`)
      const spentMs = async (subject = 'ada') => (await throttled.usage(subject))[0]?.spentMs ?? NaN
      return { get, throttled, charge, spentMs, running, as: (subject: string) => (who = subject) }
    }
    type Api = Awaited<ReturnType<typeof api>>

    it('keeps subjects apart whatever they are made of', async (t) => {
      const [terms, prefix] = [{ windowMs: DAY, limitMs: 10 * DAY }, freshPrefix()]
      const one = await api(t, terms, storeOf?.(prefix))
      const { charge, as } = one
      const { spentMs } = storeOf === undefined ? one : await api(t, terms, storeOf(prefix)) // another process
      for (const [i, subject] of SUBJECTS.entries()) {
        as(subject)
        await charge((i + 1) * HOUR)
      }
      const spentHours = () => Promise.all(SUBJECTS.map(async (who) => Math.floor((await spentMs(who)) / HOUR)))
      await until(spentHours, [...SUBJECTS.keys()].map((i) => i + 1)) // prettier-ignore
    })

    it('lets requests wait that fit in what is left, but not beside the holds', async (t) => {
      const { get, running } = await api(t, { windowMs: DAY })
      // As few as show it: what runs for long on a busy machine uses up the limit.
      const all = Array.from({ length: 6 }, () => get('/wait').then(({ status }) => status))
      let isOver = false
      const answered = Promise.all(all).finally(() => (isOver = true))
      await until(() => running.length, 3)
      await until(() => (running.shift()?.(), isOver))
      assert.deepEqual(await answered, Array<number>(6).fill(200))
    })

    if (storeOf === undefined) return
    /** Processes that share their windows. */
    async function processes(t: TestContext, count: number, options: Partial<ThrottleOptions> = {}): Promise<Api[]> {
      const prefix = freshPrefix()
      const stores = Array.from({ length: count }, () => storeOf?.(prefix))
      return Promise.all(stores.map((store) => api(t, { windowMs: DAY, ...options }, store)))
    }
    const two = async (t: TestContext, options?: Partial<ThrottleOptions>) =>
      (await processes(t, 2, options)) as [Api, Api]

    it('adds up what several processes charge, and each of them refuses when it is too much', async (t) => {
      const [one, other] = await two(t)
      assert.equal((await one.charge(6_000)).status, 200)
      await until(() => other.spentMs(), atLeast(6_000))
      assert.equal((await other.charge(4_001)).status, 200)
      assert.equal((await other.charge(0)).status, 429)
      await until(async () => (await one.charge(0)).status, 429)
      one.as('bob')
      assert.equal((await one.charge(0)).status, 200)
    })

    it('loses nothing that eight processes charge at once', async (t) => {
      const apis = await processes(t, 8, { limitMs: 10 * DAY })
      await Promise.all(apis.flatMap(({ charge }) => Array.from({ length: 20 }, () => charge(HOUR / 2))))
      for (const { spentMs } of apis) {
        await until(spentMs, atLeast(80 * HOUR))
        assert.equal(Math.floor((await spentMs()) / HOUR), 80)
      }
    })

    it('does nothing for a command that comes late or again', async (t) => {
      const prefix = freshPrefix()
      const late: Promise<unknown>[] = []
      const terms = { windowMs: DAY, limitMs: 10 * DAY }
      const [one, other] = [
        await api(t, terms, unreliable(storeOf(prefix), late)),
        await api(t, terms, storeOf(prefix)),
      ]
      for (let i = 0; i < 20; i++) for (const { charge } of [one, other]) await charge(HOUR / 2)
      await Promise.all(late)
      await until(() => other.spentMs(), atLeast(20 * HOUR))
      assert.equal(Math.floor((await other.spentMs()) / HOUR), 20)
    })

    it('keeps windows of different names apart', async (t) => {
      const prefix = freshPrefix()
      const [one, other] = [
        await api(t, { windowMs: DAY }, storeOf(prefix)),
        await api(t, { name: 'b' }, storeOf(prefix)),
      ]
      await one.charge(10_001)
      assert.deepEqual([(await one.charge(0)).status, (await other.charge(0)).status], [429, 200])
    })

    it('holds time for requests in flight over all processes, and gives it back', async (t) => {
      const apis = await processes(t, 2, { wait: false })
      const running = () => apis.flatMap((each) => each.running)
      const statuses: number[] = []
      const asked = Array.from({ length: 8 }, async (_, i) => {
        statuses.push((await (apis[i % 2] as Api).get('/wait')).status)
      })
      await until(() => running().length + statuses.length, 8)
      assertIs(running().length, between(1, 3), 'of three seconds each, of ten')
      assert.ok(statuses.every((status) => status === 429))
      for (const end of running()) end()
      await Promise.all(asked)
      await until(async () => (await apis[0]?.charge(0))?.status, 200)
    })

    it("never runs more than four of a subject's 40 requests at once over all processes, and refuses none", async (t) => {
      const apis = await processes(t, 4, { concurrency: 4, limitMs: 10 * DAY, wait: { maxMs: 60_000 } })
      const asked = Array.from({ length: 40 }, (_, i) => (apis[i % 4] as Api).get('/wait').then(({ status }) => status))
      let [isOver, most] = [false, 0]
      const statuses = Promise.all(asked).finally(() => (isOver = true))
      await until(() => {
        const busy = apis.filter(({ running }) => running.length > 0)
        most = Math.max(most, busy.reduce((sum, { running }) => sum + running.length, 0)) // prettier-ignore
        busy[0]?.running.shift()?.()
        return isOver
      })
      assert.deepEqual(await statuses, Array<number>(40).fill(200))
      assertIs(most, between(2, 4))
    })

    it('forgets a window at its end in all processes, by Retry-After', async (t) => {
      const [one, other] = await two(t, { windowMs: 1_200 })
      let refused: Answer
      do {
        await until(async () => (await one.charge(10_001)).status, 200)
        refused = await one.charge(0)
      } while (refused.status !== 429) // the window ended in between
      await sleep(refused.number('Retry-After') * 1_000)
      assert.deepEqual([(await one.charge(0)).status, (await other.charge(0)).status], [200, 200])
    })

    it('keeps what a process charged when that process closes, also for one that comes later', async (t) => {
      const prefix = freshPrefix()
      const open = () => api(t, { windowMs: DAY }, storeOf(prefix))
      const [one, other] = [await open(), await open()]
      await one.charge(7_000)
      await one.throttled.close()
      for (const { spentMs } of [other, await open()]) await until(spentMs, atLeast(7_000))
    })

    for (const options of [{}, { wait: false }] as const)
      it(`reset() gives a window back to a process that refuses from memory: ${JSON.stringify(options)}`, async (t) => {
        const [one, other] = await two(t, options)
        await until(async () => (await one.charge(10_001)).status, 200) // only who is admitted is charged
        await until(async () => (await one.charge(0)).status, 429)
        for (let i = 0; i < 20; i++) assert.equal((await one.charge(0)).status, 429)
        await until(async () => (await other.charge(0)).status, 429)
        await other.throttled.reset('ada')
        assert.equal((await other.charge(0)).status, 200)
        await until(async () => (await one.charge(0)).status, 200)
        assertIs(await one.spentMs(), below(5_000))
      })
  })
}

contract('the memory of the process')
const ANSWERS = { deadlineMs: 500 } // a busy machine is no outage
contract('Redis', (prefix) => redisStore(client, { ...ANSWERS, prefix }))
contract('Redis that keeps names', (prefix) => redisStore(client, { ...ANSWERS, prefix, keepSubjects: true }))
contract('Redis behind Sentinel', (prefix) => redisStore(bySentinel, { ...ANSWERS, prefix }))
contract('a Cluster', (prefix) => redisStore(byCluster, { ...ANSWERS, prefix }))

describe('redisStore()', () => {
  it('leaves only keys that expire, and nothing in them of the subject', async () => {
    const keys = await client.keys('*')
    assertIs(keys.length, above(10), `${keys.length} keys`)
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

  it('keeps one clock in whole microseconds, and counts the processes that live by their heartbeats', async (t) => {
    const stores = [1, 2, 3].map(() => insideOf(redisStore(client, { prefix: 'beats:' })))
    t.after(() => Promise.all([...stores, ...stores].map((store) => store.close()))) // it is safe to close twice
    const times: number[] = []
    const living = async (i: number) => {
      const beat = await stores[i]?.serverOf('x').beat()
      times.push(beat?.time ?? NaN)
      return beat?.living as number
    }
    for (const [i, store] of stores.entries()) {
      await new Promise<void>((ready) => store.watch({ ready: () => ready(), gone: () => undefined }))
      assert.equal(await living(i), i + 1, 'who comes counts at once')
    }
    assert.equal(await living(0), 3)
    await stores[2]?.close()
    await until(async () => (await living(0)) + (await living(1)), 4) // who is silent for three seconds counts no more
    assert.ok(
      times.every((time, i) => Number.isSafeInteger(time) && time >= (times[i - 1] ?? 0)),
      times.join(),
    )
  })
})
