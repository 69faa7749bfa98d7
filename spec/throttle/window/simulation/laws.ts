import type { SimulatedProcess } from './simulated-process'
import { EPOCH_US, type WindowHash } from './simulated-redis'
import type { Bounds, Served, Simulation } from './simulation'

/** What a run broke, by the law's name. */
export type Violations = Record<string, unknown[]>

/** Holds a finished run to the laws of the shared window. */
export function violations(simulation: Simulation): Violations {
  const found: Violations = {}
  const judge = (law: string, broken: unknown[]) => {
    if (broken.length > 0) found[law] = broken
  }
  judge('each process charges exactly what its requests took', unequalSums(simulation))
  judge('a client that waits for Retry-After is let in', brokenPromises(simulation))
  judge('a figure never shrinks within its window', simulation.redis.shrunk)
  const windows = simulation.redis.ended()
  judge(
    'Redis never has more than the process itself',
    windows.flatMap((window) => excess(simulation, window)),
  )
  const { bounds } = simulation.scenario
  if (!bounds) return found
  const judged = windows.map((window) => ({ window, work: new Work(simulation, window) }))
  const each = (law: (one: (typeof judged)[number]) => unknown[]) => judged.flatMap(law)
  judge(
    'a window is charged what was done in it',
    each(({ window, work }) => misplaced(simulation, window, work)),
  )
  judge(
    'a burst stays within the limit',
    each(({ window, work }) => overLimit(simulation, window, work, bounds)),
  )
  judge(
    'nothing is admitted long after the limit',
    each(({ window, work }) => late(simulation, window, work, bounds)),
  )
  return found
}

/** By the process's own clock, over all windows; rounding costs each request some microseconds. */
function unequalSums({ everyProcess, served }: Simulation): unknown[] {
  return everyProcess
    .filter(({ isDead }) => !isDead)
    .flatMap((process) => {
      const requests = served.filter((one) => one.process === process)
      return [...new Set(requests.map(({ subject }) => subject))].flatMap((subject) => {
        const own = requests.filter((one) => one.subject === subject)
        const took = sum(own.map((one) => (one.ownEndUs ?? process.host.nowUs()) - one.ownStartUs))
        const charged = sum(process.windowsOf(subject).map(({ spentUs }) => spentUs))
        return Math.abs(charged - took) > 10 * own.length ? [{ process: process.id, subject, took, charged }] : []
      })
    })
}

/** Refused again in the very window that the client was told to wait for, though Redis could be reached. */
function brokenPromises({ refusedAgain, outages, scenario }: Simulation): unknown[] {
  return refusedAgain.filter(({ told, then, atUs }) => {
    // Only spent time is promised to be over: a refusal for want of room says when room is expected.
    if (told.reason !== 'spent' || then.reason !== 'spent') return false
    if (then.endMs > told.endMs) return false
    if ((then.isDown && !then.knowsTime) || told.isDown) return false
    const windowUs = simulatedUs(told.endMs) - scenario.window.windowUs
    return !outages.some(({ fromUs, toUs }) => fromUs < atUs && toUs > windowUs)
  })
}

/** A process's field, against what the process itself made of that window. */
function excess({ everyProcess }: Simulation, { subject, endMs, hash }: WindowHash): unknown[] {
  return [...hash.fields].flatMap(([id, { spent }]) => {
    if (spent === 0) return []
    const process = everyProcess.find((one) => one.id === id)
    const own = process?.windowsOf(subject).find((window) => window.endMs === endMs)
    return own && spent <= own.spentUs + 2_000 ? [] : [{ process: id, subject, endMs, spent, own: own?.spentUs }]
  })
}

/** What was really done in a window. */
class Work {
  readonly startUs: number
  readonly endUs: number
  /** Every request of the subject that ran in it, with the part of it that did. */
  readonly parts: readonly { readonly one: Served; readonly fromUs: number; readonly toUs: number }[]

  constructor({ served, loop, scenario }: Simulation, { subject, endMs }: WindowHash) {
    this.endUs = simulatedUs(endMs)
    this.startUs = this.endUs - scenario.window.windowUs
    this.parts = served
      .filter((one) => one.subject === subject)
      .map((one) => ({
        one,
        fromUs: Math.max(one.startUs, this.startUs),
        toUs: Math.min(one.endUs ?? loop.now, this.endUs),
      }))
      .filter(({ fromUs, toUs }) => toUs > fromUs)
  }

  get us(): number {
    return sum(this.parts.map(({ fromUs, toUs }) => toUs - fromUs))
  }
}

/** What a process noted for a window, against the truth: the processes' clocks differ about where it ends. */
function misplaced(simulation: Simulation, { subject, endMs }: WindowHash, work: Work): unknown[] {
  const { everyProcess, scenario, loop } = simulation
  const boundaryUs = scenario.boundaryUs ?? 2_000
  const crosses = ({ startUs, endUs = loop.now }: Served) =>
    startUs < work.startUs + boundaryUs || endUs > work.endUs - boundaryUs
  const near = (process: SimulatedProcess) =>
    simulation.served.filter(
      (one) =>
        one.subject === subject &&
        one.process === process &&
        one.startUs < work.endUs + boundaryUs &&
        (one.endUs ?? loop.now) > work.startUs - boundaryUs,
    )
  return everyProcess.flatMap((process) => {
    const noted = process.host.left.filter((window) => window.subject === subject && window.endMs === endMs)
    if (process.isDead || noted.length !== 1) return []
    const trueUs = sum(work.parts.filter(({ one }) => one.process === process).map(({ fromUs, toUs }) => toUs - fromUs))
    const requests = near(process)
    const allowed = 20 * requests.length + 2.5e-4 * trueUs + boundaryUs * requests.filter(crosses).length
    const { spentUs } = noted[0] as { spentUs: number }
    return Math.abs(spentUs - trueUs) > allowed ? [{ process: process.id, subject, endMs, spentUs, trueUs }] : []
  })
}

/** Work beyond the limit that is neither one request's running over nor what began in the window before. */
function overLimit({ scenario }: Simulation, { subject, endMs }: WindowHash, work: Work, bounds: Bounds): unknown[] {
  const lengths = work.parts.map(({ fromUs, toUs }) => toUs - fromUs)
  const carried = sum(
    work.parts.filter(({ one }) => one.startUs < work.startUs).map(({ fromUs, toUs }) => toUs - fromUs),
  )
  const over = work.us - scenario.window.limitUs - 1.7 * Math.max(0, ...lengths) - carried
  return over > bounds.overLimitUs ? [{ subject, endMs, workUs: work.us, carried, over }] : []
}

/** What was admitted too long after the limit had been reached. */
function late({ scenario }: Simulation, { subject, endMs }: WindowHash, work: Work, bounds: Bounds): unknown[] {
  const reachedUs = reached(work, scenario.window.limitUs * 1.0005 + 2_000)
  if (reachedUs === undefined) return []
  return work.parts
    .map(({ one }) => one)
    .filter(({ decidedUs }) => decidedUs > reachedUs + bounds.lateUs && decidedUs < work.endUs)
    .map(({ decidedUs }) => ({ subject, endMs, reachedUs, decidedUs }))
}

/** When the work done in the window came to this much. */
function reached({ parts }: Work, us: number): number | undefined {
  const changes = parts.flatMap(({ fromUs, toUs }) => [
    { atUs: fromUs, by: 1 },
    { atUs: toUs, by: -1 },
  ])
  changes.sort((a, b) => a.atUs - b.atUs || a.by - b.by)
  let running = 0
  let done = 0
  let lastUs = 0
  for (const { atUs, by } of changes) {
    const more = running * (atUs - lastUs)
    if (running > 0 && done + more > us) return lastUs + (us - done) / running
    done += more
    running += by
    lastUs = atUs
  }
  return undefined
}

/** The simulation's time at one of Redis's. */
function simulatedUs(redisMs: number): number {
  return redisMs * 1000 - EPOCH_US
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
