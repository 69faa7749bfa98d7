import assert from 'node:assert/strict'
import { type TestContext, after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Server, startRedis } from '../support/redis'
import { type Api, endedLogs, monotonicUs, startApis } from './apis'
import { type Shot, shoot } from './load'
import { LONG_WINDOW_MS } from './shared-total'
import { type Stalls, longestStallMs, watchStalls } from './stalls'
import { FULL, quantile, tell } from './table'

const PROCESSES = 4
const LIMIT_MS = 18_000
/** In full a minute, as by default; in short the same budget has to do for less. */
const WINDOW_MS = FULL ? 60_000 : 8_000
const TABS = 6
const REQUEST_MS = 100
/** A tab asks so often: all tabs together take 80 % of the budget. */
const PERIOD_MS = (TABS * REQUEST_MS * WINDOW_MS) / (0.8 * LIMIT_MS)
/** Until each process knows what the user's requests take. */
const WARM_MS = FULL ? 15_000 : 2_500
const STEADY_MS = FULL ? 120_000 : 6_000
/** 99 of 100 wait no longer, and a stall of the machine or of a process beside it. */
const WAIT_MS = 20
const CROWD = 500
const OTHERS = 20

describe('throttle() under steady load over four processes', { timeout: 600_000 }, () => {
  const ending: (() => void | Promise<void>)[] = []
  const owner = { after: (fn: () => void | Promise<void>) => void ending.unshift(fn) }
  let apis: Api[]
  let stalls: Stalls
  before(async () => {
    const redis: Server = await startRedis()
    owner.after(() => redis.stop())
    stalls = await watchStalls(owner)
    apis = await startApis(owner, PROCESSES, {
      redis: `redis://127.0.0.1:${redis.port}`,
      throttles: {
        page: { limitMs: LIMIT_MS, windowMs: WINDOW_MS },
        long: { limitMs: LIMIT_MS, windowMs: LONG_WINDOW_MS },
      },
    })
  })
  after(async () => {
    for (const end of ending) await end()
  })

  const anywhere = () => apis[Math.floor(Math.random() * PROCESSES)] as Api

  /** One tab: it asks again and again, whichever process answers. */
  async function tab(user: string, path: string, periodMs: number, untilMs: number): Promise<Shot[]> {
    const shots: Shot[] = []
    await sleep(Math.random() * periodMs)
    while (performance.now() < untilMs) {
      const next = performance.now() + periodMs
      shots.push(await shoot(anywhere(), path, user))
      await sleep(Math.max(0, next - performance.now()))
    }
    return shots
  }

  /** How long requests that began after `from` waited for a decision, 99 of 100, in milliseconds. */
  async function waitMs(from: number, isWanted: (user: string) => boolean): Promise<number> {
    const runs = (await endedLogs(apis, isWanted)).flatMap((log) => log.runs)
    const waited = runs.filter(({ start }) => start > from).map(({ waitedUs }) => waitedUs / 1_000)
    return quantile(waited, 0.99)
  }

  /** Judges requests that were asked since `from`: none is refused, and hardly one waits. */
  async function judge(
    t: TestContext,
    what: string,
    { shots, from, isWanted }: { shots: readonly Shot[]; from: number; isWanted: (user: string) => boolean },
  ): Promise<void> {
    const stallMs = await longestStallMs(apis, stalls)
    for (const { status } of shots) assert.equal(status, 200)
    const p99 = await waitMs(from, isWanted)
    tell(t, {
      what: `${what}: wait of 99 of 100`,
      figure: `${p99.toFixed(1)} ms of ${shots.length} requests, none refused; longest stall ${stallMs.toFixed(1)} ms`,
      bound: `${WAIT_MS} ms and the longest stall`,
    })
    if (FULL) assert.ok(p99 <= WAIT_MS + stallMs, `${p99} ms, where the machine stalled for ${stallMs} ms`)
  }

  it('refuses none of six tabs that take 80 % of the budget, and lets hardly one wait once it is warm', async (t) => {
    const ask = async (forMs: number) => {
      const endsAt = performance.now() + forMs
      const tabs = Array.from({ length: TABS }, () => tab('ada', `/page/tab/${REQUEST_MS}`, PERIOD_MS, endsAt))
      return (await Promise.all(tabs)).flat()
    }
    for (const { status } of await ask(WARM_MS)) assert.equal(status, 200)
    await longestStallMs(apis, stalls)
    const from = monotonicUs()
    const shots = await ask(STEADY_MS)
    const what = `${TABS} tabs at 80 % of ${LIMIT_MS / 1_000} s in ${WINDOW_MS / 1_000} s`
    await judge(t, what, { shots, from, isWanted: (user) => user === 'ada' })
  })

  it(`serves others at once while ${CROWD} requests of one user are in flight`, async (t) => {
    const ask = async (forMs: number) => {
      const endsAt = performance.now() + forMs
      const users = Array.from({ length: OTHERS }, (_, i) => tab(`other-${i}`, '/long/other/5', 100, endsAt))
      return (await Promise.all(users)).flat()
    }
    await ask(1_000) // connections are open and the route is known
    await longestStallMs(apis, stalls)
    const from = monotonicUs()
    const crowd = Array.from({ length: CROWD }, (_, i) => shoot(apis[i % PROCESSES] as Api, '/long/crowd/300', 'crowd'))
    const shots = await ask(3_000)
    const what = `${OTHERS} users beside ${CROWD} requests of another at once`
    await judge(t, what, { shots, from, isWanted: (user) => user.startsWith('other') })
    await Promise.all(crowd)
  })
})
