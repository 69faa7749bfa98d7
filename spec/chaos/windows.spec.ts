import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { windowKey } from '../../lib/throttle/redis/record'
import { subjectId } from '../../lib/throttle/account/subject-id'
import { type Server, startRedis } from '../support/redis'
import { type Api, endedLogs, monotonicUs, startApis } from './apis'
import { balance } from './balance'
import { Load, type Shot, shoot } from './load'
import { type Log, type Run, clockErrorUs, workByUser } from './log'
import { LONG_WINDOW_MS, chargedMs, totals } from './shared-total'
import { type Stalls, watchStalls } from './stalls'
import { FULL, tell } from './table'

const REQUESTS = Number(process.env.CONSERVATION ?? (FULL ? 100_000 : 2_000))
/** A million at the pace of a tenth as many would take half an hour. */
const PER_SECOND = REQUESTS > 100_000 ? 1_600 : FULL ? 800 : 300
const USERS = 12
const SHORT_MS = 3_000
/** What runs is published at a tick: a look is held to what was worked so long before. */
const UNSAID_MS = 600
/** After an outage all is said again within this. */
const HEALED_MS = 1_000
/** What is charged of a request before its throttle says that it is let in, and all rounding. */
const UNSEEN_MS = 0.1
const RETRIES = FULL ? 10_000 : 300
const AT_A_TIME = 250
/** Windows of these lengths, spent by one request. */
const WINDOWS_MS = [1_000, 1_300, 1_700, 2_100, 2_900]
const THROTTLES = {
  ledger: { limitMs: 86_400_000, windowMs: LONG_WINDOW_MS },
  crossing: { limitMs: 86_400_000, windowMs: SHORT_MS },
  ...Object.fromEntries(WINDOWS_MS.map((windowMs) => [`retry${windowMs}`, { limitMs: 5, windowMs }])),
}

interface Sample {
  readonly user: string
  /** The window's start, give or take an error, and when it was looked at, by the clock of the handlers' log. */
  readonly startUs: number
  readonly errorUs: number
  readonly atUs: number
  readonly spentMs: number
}

describe('throttle() over many windows', { timeout: 1_800_000 }, () => {
  const ending: (() => void | Promise<void>)[] = []
  const owner = { after: (fn: () => void | Promise<void>) => void ending.unshift(fn) }
  let redis: Server
  let admin: Redis
  let apis: Api[]
  let stalls: Stalls
  before(async () => {
    redis = await startRedis()
    owner.after(() => redis.stop())
    admin = new Redis(redis.port)
    owner.after(() => admin.disconnect())
    stalls = await watchStalls(owner)
    apis = await startApis(owner, 4, {
      ...{ redis: `redis://127.0.0.1:${redis.port}`, throttles: THROTTLES },
      chain: ['ledger', 'crossing'],
    })
  })
  after(async () => {
    for (const end of ending) await end()
  })

  const pick = (n: number) => Math.floor(Math.random() * n)

  /** Redis's clock less the one of the handlers' log, and how far that may be off. */
  async function redisClock(): Promise<{ offsetUs: number; errorUs: number }> {
    let best = { offsetUs: NaN, errorUs: Infinity }
    for (let i = 0; i < 50; i++) {
      const sent = monotonicUs()
      const [seconds, micros] = (await admin.time()).map(Number) as [number, number]
      const errorUs = (monotonicUs() - sent) / 2
      if (errorUs < best.errorUs) best = { offsetUs: seconds * 1e6 + micros - (sent + errorUs), errorUs }
    }
    return best
  }

  /** What Redis holds of the short windows, again and again. */
  async function watch(users: readonly string[], isOver: () => boolean): Promise<Sample[]> {
    const { offsetUs: offset, errorUs } = await redisClock()
    const samples: Sample[] = []
    const lengthUs = SHORT_MS * 1_000
    while (!isOver()) {
      for (const user of users) {
        const { id, phase } = subjectId(user, lengthUs)
        const number = Math.floor((monotonicUs() + offset + phase) / lengthUs)
        const fields = await admin.hgetallBuffer(windowKey('tollgate:', id, number, 'crossing'))
        const atUs = monotonicUs()
        const startUs = number * lengthUs - phase - offset
        const spentMs = chargedMs(fields)
        if (atUs < startUs + lengthUs) samples.push({ user, startUs, errorUs, atUs, spentMs })
      }
      await sleep(100)
    }
    return samples
  }

  it('charges what the handlers took, in all and in each window, over requests that cross its end', async (t) => {
    const users = Array.from({ length: USERS }, (_, i) => `crosser-${i}`)
    const degraded = () => apis.reduce((n, api) => n + api.degraded(), 0)
    const outagesBefore = degraded()
    await stalls.longestMs()
    let sent = 0
    const load = new Load({
      perSecond: PER_SECOND,
      next: () => {
        sent++
        const long = Math.random() < 0.05
        return {
          api: apis[pick(apis.length)] as Api,
          path: `/chain/work/${long ? pick(800) : 1 + pick(30)}`,
          user: users[pick(USERS)] as string,
        }
      },
    })
    let over = false
    const watching = watch(users, () => over)
    while (sent < REQUESTS) await sleep(20)
    const shots = await load.stop()
    over = true
    const samples = await watching
    const stallMs = await stalls.longestMs()
    assert.deepEqual([...new Set(shots.map(({ status }) => status))], [200])

    const logs = await endedLogs(apis, (user) => user.startsWith('crosser-'))
    const sum = await balance(workByUser(logs), totals(admin, 'ledger'))
    assert.equal(sum.requests, shots.length)
    const outages = degraded() - outagesBefore
    const unsaidMs = UNSAID_MS + 2 * stallMs + (outages > 0 ? HEALED_MS : 0)
    const byUser = new Map(
      users.map((user) => {
        const of = (log: Log) => ({ log, runsAround: bySecond(log.runs.filter((run) => run.user === user)) })
        return [user, logs.map(of)]
      }),
    )
    const early: string[] = []
    const late: string[] = []
    let widestMs = 0
    for (const { user, startUs, errorUs, atUs, spentMs } of samples) {
      // Each process begins the window by its own estimate of Redis's clock.
      const bounds = (byUser.get(user) ?? []).map(({ log, runsAround }) => {
        const offUs = errorUs + clockErrorUs(log, startUs)
        widestMs = Math.max(widestMs, offUs / 1_000)
        const runs = runsAround(startUs - offUs, atUs)
        return {
          most: charged(runs, startUs - offUs, atUs),
          least: workedUs(runs, startUs + offUs, atUs - unsaidMs * 1_000) / 1_000,
        }
      })
      const most = bounds.reduce((ms, bound) => ms + bound.most, 0)
      const least = bounds.reduce((ms, bound) => ms + bound.least, 0)
      if (spentMs > most) early.push(`${user}: charged ${spentMs} ms, worked ${most} at most`)
      if (spentMs < least) late.push(`${user}: charged ${spentMs} ms, worked ${least} at least`)
    }
    const looks = `${samples.length} looks into open windows: ${early.length} found more charged than was worked, ${late.length} less`
    tell(t, {
      what: `${sum.requests} randomised requests over windows of ${SHORT_MS / 1_000} s`,
      figure:
        `worked ${sum.workedMs.toFixed(1)} ms, charged ${sum.chargedMs.toFixed(1)} ms: ` +
        `${((sum.chargedMs - sum.workedMs) / sum.requests).toFixed(3)} ms a request; ${looks}, Redis's clock known to ` +
        `${widestMs.toFixed(1)} ms; the machine stalled for ${stallMs.toFixed(0)} ms, ${outages} outages`,
      bound: 'lost: nothing; doubled: no more than 1 ms a request; no window more or less than was worked in it',
    })
    assert.deepEqual([sum.lostMs, sum.doubledMs], [0, 0])
    if (FULL) assert.ok(sum.chargedMs - sum.workedMs <= sum.requests, 'more than a millisecond a request')
    assert.deepEqual([early.slice(0, 3), late.slice(0, 3)], [[], []], looks)
  })

  it(`lets in ${RETRIES} clients that retry exactly at Retry-After`, async (t) => {
    const refused: Shot[] = []
    let retries = 0
    let unspent = 0
    const waits: number[] = []
    async function one(n: number): Promise<void> {
      const user = `retrier-${n}`
      const mount = `retry${WINDOWS_MS[n % WINDOWS_MS.length] as number}`
      for (;;) {
        await shoot(apis[pick(apis.length)] as Api, `/${mount}/work/12`, user)
        const shot = await shoot(apis[pick(apis.length)] as Api, `/${mount}/work/1`, user)
        if (shot.status === 429) {
          const at = performance.now() + Number(shot.retryAfter) * 1_000
          waits.push(Number(shot.retryAfter))
          while (performance.now() < at) await sleep(Math.max(1, at - performance.now()))
          const retry = await shoot(apis[pick(apis.length)] as Api, `/${mount}/work/1`, user)
          retries++
          if (retry.status !== 200) refused.push(retry)
          return
        }
        unspent++ // the window ended between the two, or another process did not know yet
      }
    }
    let next = 0
    await Promise.all(
      Array.from({ length: AT_A_TIME }, async () => {
        while (next < RETRIES) await one(next++)
      }),
    )
    tell(t, {
      what: `${retries} retries exactly at Retry-After, windows of ${WINDOWS_MS[0]} to ${WINDOWS_MS.at(-1)} ms`,
      figure: `${refused.length} refused; promised ${Math.min(...waits)} to ${Math.max(...waits)} s`,
      bound: 'refused by the same window: none',
    })
    t.diagnostic(`${unspent} were let in before they were refused`)
    assert.equal(refused.length, 0, JSON.stringify(refused.slice(0, 3)))
    assert.equal(retries, RETRIES)
  })
})

/** Finds what may have run between two moments, without a look at all the rest of a long log. */
function bySecond(runs: readonly Run[]): (from: number, to: number) => readonly Run[] {
  const seconds = new Map<number, Run[]>()
  const second = (us: number) => Math.floor(us / 1e6)
  for (const run of runs) {
    for (let s = second(run.admitted); s <= second(run.left ?? run.end ?? run.admitted); s++) {
      const there = seconds.get(s)
      if (there) there.push(run)
      else seconds.set(s, [run])
    }
  }
  return (from, to) => {
    const found = new Set<Run>()
    for (let s = second(from); s <= second(to); s++) for (const run of seconds.get(s) ?? []) found.add(run)
    return [...found]
  }
}

/** What runs did between two moments. */
function workedUs(runs: readonly Run[], from: number, to: number): number {
  return runs.reduce(
    (sum, { start, end = Infinity }) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)),
    0,
  )
}

/** What runs may be charged between two moments: from when they were let in until `res.end()` had returned. */
function charged(runs: readonly Run[], from: number, to: number): number {
  let ms = 0
  for (const { admitted, left = Infinity } of runs) {
    const part = Math.min(left, to) - Math.max(admitted, from)
    if (part > 0) ms += part / 1_000 + UNSEEN_MS
  }
  return ms
}
