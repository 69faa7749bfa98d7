import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { subjectId } from '../../lib/throttle/account/subject-id'
import { parseField } from '../../lib/throttle/redis/record'
import { type Server, startRedis } from '../support/redis'
import { until } from '../support/until'
import { type Api, endedLogs, monotonicUs, startApis } from './apis'
import { balance } from './balance'
import { Load } from './load'
import { type Log, type Run, workByUser } from './log'
import { LONG_WINDOW_MS, type Total, totals } from './shared-total'
import { FULL, tell } from './table'

const OPTIONS = { limitMs: 86_400_000, windowMs: LONG_WINDOW_MS }
const PER_SECOND = FULL ? 500 : 200
const USERS = 8
/** What a killed process has worked since it last said so: a tick, and the way there on a busy machine. */
const UNSAID_US = 250_000

describe('throttle() in processes that come and go under load', { timeout: 600_000 }, () => {
  let redis: Server
  let admin: Redis
  let total: Total
  let names = 0
  /** All there ever were, and those that live. */
  const apis: Api[] = []
  const live: Api[] = []
  const ending: (() => void | Promise<void>)[] = []
  const owner = { after: (fn: () => void | Promise<void>) => void ending.unshift(fn) }
  before(async () => {
    redis = await startRedis()
    owner.after(() => redis.stop())
    admin = new Redis(redis.port)
    owner.after(() => admin.disconnect())
    total = totals(admin, 'shared')
    await start(4)
  })
  after(async () => {
    for (const end of ending) await end()
  })

  async function start(n: number): Promise<void> {
    const place = `redis://127.0.0.1:${redis.port}`
    const fresh = await startApis(owner, n, { redis: place, throttles: { shared: OPTIONS } })
    apis.push(...fresh)
    live.push(...fresh)
  }

  /** Load on whichever processes are in the list when a request is due. */
  function loadOn(live: readonly Api[], maxMs = 60): { load: Load; isOurs: (user: string) => boolean } {
    const name = `load-${++names}`
    const pick = (n: number) => Math.floor(Math.random() * n)
    const next = () => ({
      api: live[pick(live.length)] as Api,
      path: `/shared/work/${1 + pick(maxMs)}`,
      user: `${name}-${pick(USERS)}`,
    })
    return {
      load: new Load({ perSecond: PER_SECOND, next }),
      isOurs: (user) => user.startsWith(`${name}-`),
    }
  }

  /**
   * Ends a process that the load has left, amid its requests, but when all of them have arrived: a server that closes
   * its connections resets what is still on its way.
   */
  async function retire(api: Api, load: Load, isOurs: (user: string) => boolean): Promise<void> {
    await until(() => api.log().runs.filter(({ user }) => isOurs(user)).length === load.sentTo(api))
    await api.end('SIGTERM')
  }

  /** The records of a user's windows. */
  async function recordsOf(user: string): Promise<Record<string, Buffer>[]> {
    const { id } = subjectId(user, LONG_WINDOW_MS * 1_000)
    const keys = await admin.keys(`tollgate:*{${id}}:*`)
    return Promise.all(keys.map((key) => admin.hgetallBuffer(key)))
  }

  /** What runs did between two moments, in milliseconds. */
  function workIn(runs: readonly Run[], from: number, to: number, goneAt: number): number {
    return (
      runs.reduce((sum, { start, end = goneAt }) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)), 0) /
      1e3
    )
  }

  it('keeps charged what a process had worked that is killed, but for its last tick, under keys that expire', async (t) => {
    for (let round = 0; round < (FULL ? 5 : 1); round++) {
      const { load, isOurs } = loadOn(live)
      await until(() => load.shots.length > PER_SECOND * (FULL ? 3 : 1))
      const victim = live.shift() as Api
      const killedAt = monotonicUs()
      await victim.end('SIGKILL')
      const before = load.shots.length
      await until(() => load.shots.length > before + PER_SECOND)
      const shots = await load.stop()
      for (const { status } of shots) assert.ok(status === 200 || status === 0, String(status))

      const logs = await endedLogs(apis, isOurs)
      const mine = logs[apis.indexOf(victim)] as Log
      const unsaidMs = workIn(mine.runs, killedAt - UNSAID_US, victim.goneAt, victim.goneAt)
      const work = workByUser(logs)
      const { requests, workedMs, chargedMs, doubledMs } = await settledBalance(work)
      tell(t, {
        what: 'kill -9 of one of four processes under load',
        figure: `${requests} requests: worked ${Math.round(workedMs)} ms, charged ${Math.round(chargedMs)} ms; it had worked ${Math.round(unsaidMs)} ms in its last 250 ms`,
        bound: 'lost: no more than its last tick; doubled: nothing',
      })
      assert.ok(workIn(mine.runs, 0, killedAt, victim.goneAt) > 100, 'it had worked')
      assert.ok(chargedMs >= workedMs - unsaidMs, `worked ${workedMs}, charged ${chargedMs}, not said ${unsaidMs}`)
      assert.equal(doubledMs, 0)
      for (const key of await admin.keys('*')) assert.ok((await admin.pttl(key)) > 0, key)
      await start(1)
    }
  })

  /** As `balance()`, where not all that was worked will ever be charged: what is charged has come to rest. */
  async function settledBalance(work: ReturnType<typeof workByUser>): ReturnType<typeof balance> {
    const sum = async () => (await Promise.all([...work.keys()].map(total))).reduce((a, b) => a + b, 0)
    let last = NaN
    let since = performance.now()
    await until(async () => {
      const now = await sum()
      if (now !== last) since = performance.now()
      last = now
      return performance.now() - since > 1_000
    })
    return balance(work, total, 0)
  }

  it('publishes everything and keeps nothing set aside where a process is ended by SIGTERM under load', async () => {
    const { load, isOurs } = loadOn(live)
    await until(() => load.shots.length > PER_SECOND)
    await retire(live.shift() as Api, load, isOurs)
    const before = load.shots.length
    await until(() => load.shots.length > before + PER_SECOND / 2)
    const shots = await load.stop()
    assert.deepEqual([...new Set(shots.map(({ status }) => status))], [200])
    const sum = await balance(workByUser(await endedLogs(apis, isOurs)), total)
    assert.equal(sum.requests, shots.length)
    assert.deepEqual([sum.lostMs, sum.doubledMs], [0, 0])
    await Promise.all(live.splice(0).map((api) => api.end('SIGTERM')))
    const users = [...new Set(shots.map(({ user }) => user))]
    const records = (await Promise.all(users.map(recordsOf))).flat()
    assert.ok(records.length >= users.length)
    for (const record of records) {
      const fields = Object.keys(record).filter((name) => !['c', 's', 'c:a', 'c:e'].includes(name))
      if (FULL) assert.deepEqual(fields, [], 'all have handed over what they used')
      // On a busy machine an answer may come too late: then the figures stay where they are.
      for (const name of fields) assert.equal(parseField(record[name] as Buffer)?.held, 0)
    }
    const handedOver = await balance(workByUser(await endedLogs(apis, isOurs)), total)
    assert.deepEqual([handedOver.lostMs, handedOver.doubledMs], [0, 0])
  })

  it('loses nothing and charges nothing twice while every process is replaced, one after another, under load', async (t) => {
    await start(4)
    const { load, isOurs } = loadOn(live)
    const old = [...live]
    for (let round = 0; round < (FULL ? 3 : 1); round++) {
      for (const each of old.splice(0)) {
        await start(1)
        live.splice(live.indexOf(each), 1)
        await retire(each, load, isOurs)
      }
      old.push(...live)
    }
    const shots = await load.stop()
    assert.deepEqual([...new Set(shots.map(({ status }) => status))], [200])
    const { requests, workedMs, chargedMs, lostMs, doubledMs } = await balance(
      workByUser(await endedLogs(apis, isOurs)),
      total,
    )
    tell(t, {
      what: `rolling restart of four processes, ${FULL ? 3 : 1} times, under load`,
      figure:
        `${requests} requests: worked ${Math.round(workedMs)} ms, charged ${Math.round(chargedMs)} ms; ` +
        `lost ${lostMs} ms, doubled ${doubledMs} ms`,
      bound: 'lost and doubled: nothing; no request fails',
    })
    assert.equal(requests, shots.length)
    assert.deepEqual([lostMs, doubledMs], [0, 0])
  })
})
