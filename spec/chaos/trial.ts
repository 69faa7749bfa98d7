import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { assertIs, atMost, above, until } from '../support/until'
import { type Api, endedLogs } from './apis'
import { Load, type Shot, shoot } from './load'
import { balance, isRight } from './balance'
import { type Log, type Work, workByUser } from './log'
import type { Total } from './shared-total'
import { type Stalls, longestStallMs, stoppedMs } from './stalls'
import { FULL, quantile, tell } from './table'

/** Nobody waits longer for a decision, 999 of 1,000, where neither machine nor process stands still meanwhile. */
const LONGEST_WAIT_MS = 100
/** The deadline, and what a process that stood still has longer to read what has come. */
const DEADLINE_MS = 70
const GRACE_MS = 35
const PER_SECOND = FULL ? 500 : 300
const USERS = 8
/** So many of a witness's requests in every process: one stall of the machine is not to be taken for a charge. */
const WITNESSED = 5

export interface World {
  readonly apis: readonly Api[]
  readonly total: Total
  readonly stalls: Stalls
  /** The throttle asked. */
  readonly mount: string
}

export interface Fault {
  readonly name: string
  /**
   * Breaks it.
   *
   * @param witness whose window the fault is to hit
   * @param ask one more request of that user
   */
  break(witness: string, ask: (user: string) => Promise<void>): Promise<void> | void
  /** Waits for as long as it is to last. */
  last(): Promise<unknown>
  /** Mends it; resolves when a client that came now would be served. */
  mend(): Promise<void> | void
  /** The shared total is right again within this of the fault's end. Default 1,000. */
  readonly withinMs?: number
}

let trials = 0

/**
 * Makes a fault under load and holds the processes to their promises. A witness works before and during the fault, and
 * once more after it: a process tells a server that has lost its data of a user at rest with the user's next request.
 *
 * @returns how long each request waited for its decision, in milliseconds, to be judged with `judgeWaits()`
 */
export async function trial(t: TestContext, { apis, total, stalls, mount }: World, fault: Fault): Promise<Waits> {
  const names = `${fault.name.replace(/\W+/g, '-')}-${++trials}`
  const witness = `witness-${names}`
  const pick = (n: number) => Math.floor(Math.random() * n)
  const pickApi = () => apis[pick(apis.length)] as Api
  const before = apis.map((api) => api.log())
  const plan = {
    perSecond: PER_SECOND,
    next: () => ({
      api: pickApi(),
      path: `/${mount}/work/${1 + pick(40)}`,
      user: `user-${pick(USERS)}-${names}`,
    }),
  }
  // One after another in each process: requests decided by one answer start one after another, but are charged from it.
  const everybody = async (path: string, user: string) => {
    const shots = apis.map(async (api) => {
      const own: Shot[] = []
      for (let i = 0; i < WITNESSED; i++) own.push(await shoot(api, path, user))
      return own
    })
    return (await Promise.all(shots)).flat()
  }
  const work = async (wanted: (user: string) => boolean) => workByUser(await endedLogs(apis, wanted))
  const witnessed = async () => (await work((user) => user === witness)).get(witness) as Work
  let broken = false

  await longestStallMs(apis, stalls)
  const load = new Load(plan)
  t.after(async () => {
    if (broken) await fault.mend()
    await load.stop()
  })
  const asked = [...(await everybody(`/${mount}/work/20`, witness))]
  const known = (sum: Work) =>
    until(async () => isRight(sum, await total(witness))).catch(async () =>
      assert.deepEqual(await total(witness), sum.ms, `of ${sum.requests} requests`),
    )
  await known(await witnessed())
  await until(() => load.shots.length, above(PER_SECOND / 2))
  broken = true
  await fault.break(witness, async (user) => void asked.push(await shoot(pickApi(), `/${mount}/work/10`, user)))
  asked.push(...(await everybody(`/${mount}/work/10`, witness)))
  await fault.last()
  asked.push(...(await everybody(`/${mount}/work/10`, witness)))
  await fault.mend()
  broken = false
  const mended = performance.now()
  asked.push(...(await everybody(`/${mount}/work/10`, witness)))
  await known(await witnessed())
  const recoveredMs = performance.now() - mended
  const during = load.shots.length
  await until(() => load.shots.length, above(during + PER_SECOND / 4))
  const shots = [...(await load.stop()), ...asked]
  const stallMs = await longestStallMs(apis, stalls)

  const { lostMs, doubledMs } = await balance(await work((user) => user.endsWith(names)), total)
  const waits = apis.flatMap((api, i) => {
    const { runs, turned } = api.log()
    const old = before[i] as Log
    return [...runs.slice(old.runs.length), ...turned.slice(old.turned.length)].map(({ waitedUs }) => waitedUs / 1_000)
  })
  const p999Ms = quantile(waits, 0.999)
  tell(t, {
    fault: `${fault.name} (${mount})`,
    load: load.perSecond,
    requests: shots.length,
    lostMs,
    doubledMs,
    longestMs: Math.max(...waits),
    p999Ms,
    stallMs,
    recoveredMs,
  })
  assert.deepEqual(
    [...new Set(shots.map(({ status }) => status))],
    [200],
    'nobody was to be refused, and nothing to fail',
  )
  assert.equal(waits.length, shots.length, 'every request is in the log')
  assert.equal(lostMs, 0, 'charges lost')
  assert.equal(doubledMs, 0, 'charges doubled')
  const withinMs = (fault.withinMs ?? 1_000) + stoppedMs(stallMs)
  if (FULL)
    assertIs(recoveredMs, atMost(withinMs), `the shared total was right after ${recoveredMs} ms, not ${withinMs}`)
  return { ms: waits, stallMs }
}

export interface Waits {
  readonly ms: readonly number[]
  readonly stallMs: number
}

/** Of fewer than some thousands a thousandth is nobody: what is judged is all trials together, where nothing else runs. */
export function judgeWaits(t: TestContext, trials: readonly Waits[]): void {
  const p999Ms = quantile(
    trials.flatMap(({ ms }) => ms),
    0.999,
  )
  const stallMs = Math.max(...trials.map((each) => each.stallMs))
  t.diagnostic(`999 of 1,000 waited up to ${p999Ms} ms; machine or process stood still for up to ${stallMs} ms`)
  if (!FULL) return
  assertIs(
    p999Ms,
    atMost(Math.max(LONGEST_WAIT_MS, DEADLINE_MS + GRACE_MS + stoppedMs(stallMs))),
    `999 of 1,000 waited up to ${p999Ms} ms`,
  )
}
