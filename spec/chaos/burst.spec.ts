import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Server, startRedis } from '../support/redis'
import { until } from '../support/until'
import { type Api, endedLogs, startApis } from './apis'
import { busyLoops } from './busy-loops'
import { type Shot, shoot } from './load'
import { LONG_WINDOW_MS } from './shared-total'
import { FULL, tell } from './table'

const BUDGET_MS = 1_000
const PROCESSES = 8
const BURST = FULL ? 1_000 : 300
/** Each kind of burst is made so often, in each condition; every one is judged, and none is made again. */
const TIMES = Number(process.env.TIMES ?? (FULL ? 20 : 1))
/** With known prices so much of the budget is worked, on average: nothing is left because of what is set aside. */
const MEAN_LEAST = 0.9
/** Redis stands still for so long, beginning so soon after a burst. */
const STOPPED_MS = 300
const STOPPED_AFTER_MS = 30
/** Connections that the operator's own questions keep open. */
const FEW = 4
const THROTTLES = {
  small: { limitMs: BUDGET_MS, windowMs: LONG_WINDOW_MS },
  usual: { windowMs: LONG_WINDOW_MS },
  five: { limitMs: 5_000, windowMs: LONG_WINDOW_MS },
  tiny: { limitMs: 100, windowMs: LONG_WINDOW_MS },
}

/** What the machine and Redis do while a burst is worked. */
const CONDITIONS = ['quiet', 'beside busy loops', 'Redis stopped amid it', 'both'] as const
type Condition = (typeof CONDITIONS)[number]

describe('throttle() under bursts over eight processes', { timeout: FULL ? 3_600_000 : 600_000 }, () => {
  const ending: (() => void | Promise<void>)[] = []
  const owner = { after: (fn: () => void | Promise<void>) => void ending.unshift(fn) }
  let redis: Server
  let apis: Api[]
  let users = 0
  let routes = 0

  before(async () => {
    redis = await startRedis()
    owner.after(() => redis.stop())
    apis = await startApis(owner, PROCESSES, { redis: `redis://127.0.0.1:${redis.port}`, throttles: THROTTLES })
    await open(BURST)
  })
  after(async () => {
    for (const end of ending) await end()
  })

  const api = (i: number) => apis[i % PROCESSES] as Api
  const newUser = (what: string) => `${what}-${++users}`

  /** Opens that many connections, so that a burst does not have to. */
  async function open(n: number): Promise<void> {
    await Promise.all(Array.from({ length: n }, (_, i) => shoot(api(i), '/usual/open/50', `opener-${i}`)))
  }

  /** Connections that our side has not given up. */
  function kept({ agent }: Api): number {
    return [agent.sockets, agent.freeSockets].flatMap((byHost) => Object.values(byHost)).flat().length
  }

  /** Every process learns what the route takes, from other users. */
  async function learn(route: string, times: readonly number[]): Promise<void> {
    await Promise.all(
      apis.flatMap((each) => times.map((ms) => shoot(each, `/small/${route}/${ms}`, newUser('teacher')))),
    )
  }

  interface Outcome {
    /** Nominal time of the requests admitted, as a share of the budget. */
    readonly share: number
    /** Their real time: on a busy machine timers come late, and the route is known to take longer. */
    readonly worked: number
    /** How many clients had gone before it was decided: time set aside for them comes back too late for the others. */
    readonly gone: number
  }

  /** Not paths that look like identifiers, which would be folded into one. */
  const newRoute = (name: string) =>
    `${name}-${String(routes++).replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)] as string)}`

  async function outcome(user: string, send: () => Promise<Shot>[] | Promise<Promise<Shot>[]>): Promise<Outcome> {
    for (const each of apis) await until(async () => !(await each.usage('nobody')).degraded)
    const shots = await Promise.all(await send())
    const gone = shots.filter(({ status }) => status === 0).length
    // Who had gone is gone for the processes, too; who was answered in time may ask again over its connection.
    if (gone > 0) for (const each of apis) await until(async () => (await each.connections()) <= kept(each) + FEW)
    const turned = () => apis.flatMap((each) => each.log().turned).filter((refused) => refused.user === user)
    const logs = await endedLogs(apis, (name) => name === user)
    const runs = logs.flatMap((log) => log.runs)
    await until(() => runs.length + turned().length >= shots.length - gone)
    return {
      share: runs.reduce((sum, run) => sum + run.nominalMs, 0) / BUDGET_MS,
      worked: runs.reduce((sum, { start, end = start }) => sum + end - start, 0) / 1_000 / BUDGET_MS,
      gone: turned().filter(({ status }) => status === 0).length,
    }
  }

  /** Makes one burst after the other in this condition. */
  async function inCondition(condition: Condition, once: () => Promise<Outcome>, times = TIMES): Promise<Outcome[]> {
    const isBusy = condition === 'beside busy loops' || condition === 'both'
    const isStopped = condition === 'Redis stopped amid it' || condition === 'both'
    const loops = isBusy ? await busyLoops() : undefined
    const outcomes: Outcome[] = []
    try {
      for (let i = 0; i < times; i++) {
        const made = once()
        if (isStopped) {
          await sleep(STOPPED_AFTER_MS)
          redis.signal('SIGSTOP')
          await sleep(STOPPED_MS)
          redis.signal('SIGCONT')
        }
        outcomes.push(await made)
      }
    } finally {
      redis.signal('SIGCONT')
      await loops?.stop()
    }
    return outcomes
  }

  /**
   * What is promised of every burst: the work admitted is the budget, and the longest request beside it. And of all
   * together where processes know what requests take: the budget is used.
   */
  function judge(
    t: TestContext,
    name: string,
    outcomes: readonly Outcome[],
    longestMs: number,
    isKnown: boolean,
  ): void {
    const shares = outcomes.map(({ share }) => share)
    const most = 1 + longestMs / BUDGET_MS
    const worked = mean(outcomes.map((got) => got.worked))
    tell(t, {
      burst: name,
      run: shares.length,
      mean: mean(shares),
      least: Math.min(...shares),
      most: Math.max(...shares),
      bound: most,
      worked: isKnown ? worked : null,
    })
    for (const share of shares) assert.ok(share <= most, `${name}: ${shares.join(', ')} of ${most}`)
    if (isKnown) assert.ok(worked >= MEAN_LEAST, `${name}: ${worked} of the budget was worked`)
  }

  /** At once, to a route that every process has learned from other users. */
  async function burst(ms: number, abortAfterMs?: number): Promise<() => Promise<Outcome>> {
    const route = newRoute('burst')
    await learn(route, [ms, ms, ms])
    return () => {
      const user = newUser('burst')
      return outcome(user, () =>
        Array.from({ length: BURST }, (_, n) => shoot(api(n), `/small/${route}/${ms}`, user, abortAfterMs)),
      )
    }
  }

  for (const condition of CONDITIONS) {
    for (const ms of [100, 450]) {
      const name = `${BURST} at once of ${ms} ms, ${condition}`
      it(`admits the budget and one request at most: ${name}`, async (t) => {
        judge(t, name, await inCondition(condition, await burst(ms)), ms, true)
      })
    }

    it(`admits the budget and one request at most: of a route not seen before, ${condition}`, async (t) => {
      const once = () => {
        const [route, user] = [newRoute('cold'), newUser('cold')]
        return outcome(user, () => Array.from({ length: BURST }, (_, n) => shoot(api(n), `/small/${route}/450`, user)))
      }
      judge(t, `${BURST} at once, cold, of 450 ms, ${condition}`, await inCondition(condition, once), 450, false)
    })

    it(`admits the budget and one request at most: handlers take 50 to 500 ms, ${condition}`, async (t) => {
      const { route, mixed } = await mixedRoute()
      const once = () => {
        const user = newUser('mixed')
        return outcome(user, () =>
          Array.from({ length: BURST }, (_, n) => shoot(api(n), `/small/${route}/${mixed()}`, user)),
        )
      }
      judge(t, `${BURST} at once of 50 to 500 ms, ${condition}`, await inCondition(condition, once), 500, true)
    })
  }

  /** A route that is known, and durations of which any few in a row have the mean of all, by the golden ratio. */
  async function mixedRoute(): Promise<{ route: string; mixed: () => number }> {
    let drawn = 0
    const mixed = () => 50 + Math.floor(((drawn++ * 0.618_033_988_75) % 1) * 451)
    const route = newRoute('mixed')
    await learn(route, Array.from({ length: 16 }, mixed))
    return { route, mixed }
  }

  for (const ms of [100, 450]) {
    const name = `${BURST} at once of ${ms} ms, clients gone after 20 ms`
    it(`admits the budget and one request at most: ${name}`, async (t) => {
      const once = await burst(ms, 20)
      const outcomes: Outcome[] = []
      for (let i = 0; i < TIMES; i++) {
        outcomes.push(await once())
        await open(BURST)
      }
      judge(t, name, outcomes, ms, false) // what is set aside for those who go comes back too late for the others
    })
  }

  it('admits the budget and one request at most where requests of 100 ms come 10 ms apart', async (t) => {
    const route = newRoute('steady')
    await learn(route, [100, 100])
    const once = () => {
      const user = newUser('steady')
      return outcome(user, async () => {
        const shots: Promise<Shot>[] = []
        for (let n = 0; n < 200; n++) {
          shots.push(shoot(api(n), `/small/${route}/100`, user))
          await sleep(10)
        }
        return shots
      })
    }
    judge(t, '100 ms, 10 ms apart', await inCondition('quiet', once), 100, true)
  })

  for (const throttle of ['usual', 'five']) {
    for (const route of ['cold', 'warm', 'poisoned']) {
      it(`serves a fresh user's six parallel calls: ${route} routes, the ${throttle} budget`, async () => {
        const paths = Array.from({ length: 6 }, () => `/${throttle}/${newRoute(route)}`)
        if (route === 'warm') {
          await Promise.all(paths.flatMap((path) => [1, 2, 3, 4].map((n) => shoot(api(n), `${path}/40`, `warm-${n}`))))
        }
        if (route === 'poisoned') {
          const slow = newUser('slow')
          await Promise.all(paths.slice(0, 2).map((path) => shoot(api(0), `${path}/2000`, slow)))
        }
        for (const processes of [1, 4]) {
          for (let round = 0; round < (FULL ? 20 : 3); round++) {
            const user = newUser('page')
            const shots = paths.map((path, i) => shoot(api(i % processes), `${path}/40`, user))
            for (const { status } of await Promise.all(shots)) assert.equal(status, 200)
          }
        }
      })
    }
  }

  it('admits a lone request in any process, though more is expected of it than is left', async () => {
    const user = newUser('lone')
    await Promise.all(apis.map((each) => shoot(each, '/tiny/heavy/400', newUser('teacher'))))
    assert.equal((await shoot(api(0), '/tiny/light/60', user)).status, 200)
    // What was in flight elsewhere is known to be over at the next tick.
    await until(async () => (await api(5).usage(user, 3)).spentMs > 50)
    assert.equal((await shoot(api(5), '/tiny/heavy/10', user)).status, 200)
  })
})

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
