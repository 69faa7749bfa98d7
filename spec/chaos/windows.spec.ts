import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { identify } from '../../lib/throttle/identify'
import { type Server, startRedis } from '../support/redis'
import { type Api, endedLogs, monotonicUs, startApis } from './apis'
import { balance } from './balance'
import { Load, type Shot, shoot } from './load'
import { type Run, workByUser } from './log'
import { LONG_WINDOW_MS, totals } from './shared-total'
import { type Stalls, watchStalls } from './stalls'
import { FULL, tell } from './table'

const REQUESTS = Number(process.env.CHAOS_REQUESTS ?? (FULL ? 100_000 : 2_000))
const PER_SECOND = FULL ? 800 : 300
const USERS = 12
const SHORT_MS = 3_000
/** What runs is published at a tick: a sample is held to what was worked so long before. */
const UNSAID_MS = 600
/** Where a request crosses a boundary, each process knows the boundary by its own estimate of Redis's clock. */
const BOUNDARY_MS = 10
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
  /** The window's start, and when it was looked at, by the clock of the handlers' log. */
  readonly startUs: number
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

  /** Redis's clock less the one of the handlers' log. */
  async function offsetUs(): Promise<number> {
    let best = { tookUs: Infinity, offset: NaN }
    for (let i = 0; i < 50; i++) {
      const sent = monotonicUs()
      const [seconds, micros] = (await admin.time()).map(Number) as [number, number]
      const tookUs = monotonicUs() - sent
      if (tookUs < best.tookUs) best = { tookUs, offset: seconds * 1e6 + micros - (sent + tookUs / 2) }
    }
    return best.offset
  }

  /** What Redis holds of the short windows, again and again. */
  async function watch(users: readonly string[], isOver: () => boolean): Promise<Sample[]> {
    const offset = await offsetUs()
    const samples: Sample[] = []
    const lengthUs = SHORT_MS * 1_000
    while (!isOver()) {
      for (const user of users) {
        const { id, phase } = identify(user, lengthUs)
        const number = Math.floor((monotonicUs() + offset + phase) / lengthUs)
        const fields = Object.values(await admin.hgetall(`tollgate:{${id}}:${number}:crossing`))
        const atUs = monotonicUs()
        const startUs = number * lengthUs - phase - offset
        const spentMs = fields.reduce((sum, field) => sum + Number(field.split(':')[1]), 0) / 1_000
        if (atUs < startUs + lengthUs) samples.push({ user, startUs, atUs, spentMs })
      }
      await sleep(100)
    }
    return samples
  }

  it('charges what the handlers took, in all and in each window, over requests that cross its end', async (t) => {
    const users = Array.from({ length: USERS }, (_, i) => `crosser-${i}`)
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
    const byUser = new Map(
      users.map((user) => [user, logs.flatMap(({ runs }) => runs.filter((run) => run.user === user))]),
    )
    const crossings = samples.length
    let late = 0
    for (const { user, startUs, atUs, spentMs } of samples) {
      const runs = byUser.get(user) as Run[]
      const most = workedIn(runs, startUs, atUs)
      const least = workedIn(runs, startUs, atUs - UNSAID_MS * 1_000)
      const rounding = BOUNDARY_MS + most.requests
      assert.ok(spentMs <= most.ms + rounding, `${user}: worked ${most.ms}, charged ${spentMs} in its window`)
      if (spentMs < least.ms - rounding) late++
    }
    tell(t, {
      what: `${sum.requests} randomised requests over windows of ${SHORT_MS / 1_000} s`,
      figure:
        `worked ${sum.workedMs.toFixed(1)} ms, charged ${sum.chargedMs.toFixed(1)} ms: ` +
        `${((sum.chargedMs - sum.workedMs) / sum.requests).toFixed(3)} ms a request; ${crossings} looks into open windows, ` +
        `${late} of them too early for what was worked ${UNSAID_MS} ms before; the machine stalled for ${stallMs.toFixed(0)} ms`,
      bound: 'lost: nothing; doubled: no more than 1 ms a request',
    })
    assert.deepEqual([sum.lostMs, sum.doubledMs], [0, 0])
    assert.ok(late === 0 || stallMs > 50, `${late} of ${crossings} looks found less than was worked before`)
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

/** What runs did between two moments. */
function workedIn(runs: readonly Run[], from: number, to: number): { ms: number; requests: number } {
  let us = 0
  let requests = 0
  for (const { start, end = Infinity } of runs) {
    const part = Math.min(end, to) - Math.max(start, from)
    if (part <= 0) continue
    us += part
    requests++
  }
  return { ms: us / 1_000, requests }
}
