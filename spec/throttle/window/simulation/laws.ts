import type { SimulatedProcess } from './simulated-process'
import type { Bounds, Fault, Scenario, Simulation } from './simulation'
import { DECIDED_US, type Violations } from './watch'
import { type Work, allWork, endOf, sum } from './work'

/** Rounding costs each request some microseconds. */
const ROUNDING_US = 10
/** Redis may know of a process's running time a little more than the process's figures of the same moment. */
const PROCESS_US = 2_000
/** A command that was not answered so soon is given up, within DECIDED_US at the latest. */
const DEADLINE_US = 70_000
/** A loss so soon after a close may have it charged twice: RELIABILITY.md. */
const AMBIGUOUS_US = 700_000
/** All is whole again so long after something went wrong, in Redis or in a process. */
export const WHOLE_US = 3_200_000

/** Holds a finished run to the laws of the shared window. */
export function violations(simulation: Simulation): Violations {
  const { watch, scenario } = simulation
  watch.end()
  const found: Violations = { ...watch.violations }
  const judge = (law: string, broken: readonly unknown[]) => {
    if (broken.length > 0) found[law] = [...broken]
  }
  judge('each process charges exactly what its requests took', unequalSums(simulation))
  judge('a client that waits for Retry-After is let in', brokenPromises(simulation))
  const all = allWork(simulation)
  const each = (law: (work: Work) => readonly unknown[]) => all.flatMap(law)
  judge(
    'Redis never has more than the processes themselves',
    each((work) => excess(simulation, work)),
  )
  judge(
    'Redis has all that was charged, once nothing has gone wrong for a while',
    each((work) => missing(simulation, work)),
  )
  judge('nobody is refused as spent before the limit is reached', refusedEarly(simulation, all))
  const { bounds } = scenario
  if (!bounds) return found
  judge(
    'a window is charged what was done in it',
    each((work) => misplaced(simulation, work)),
  )
  judge(
    'a burst stays within the limit',
    each((work) => overLimit(simulation, work, bounds)),
  )
  judge(
    'nothing is admitted long after the limit',
    each((work) => late(work, bounds)),
  )
  return found
}

/** By the process's own clock, over all windows. */
function unequalSums({ everyProcess, served }: Simulation): unknown[] {
  const took = new Map<SimulatedProcess, { count: number; us: number }>()
  for (const one of served) {
    const { process } = one
    const so = took.get(process) ?? { count: 0, us: 0 }
    took.set(process, so)
    so.count++
    so.us += Math.min(one.ownEndUs ?? process.nowUs(), process.ownDiedUs) - one.ownStartUs
  }
  return everyProcess.flatMap((process) => {
    const { count = 0, us = 0 } = took.get(process) ?? {}
    const charged = process.window.chargedUs
    return Math.abs(charged - us) > ROUNDING_US * count ? [{ process: process.id, took: us, charged }] : []
  })
}

/** Refused again in the very window that the client was told to wait for, though all could be known. */
function brokenPromises({ refusals, faults, scenario }: Simulation): unknown[] {
  return refusals.flatMap(({ told, refused, decidedUs, asked, process }) => {
    // Only spent time is promised to be over: a refusal for want of room says when room is expected.
    if (!told || !refused || told.reason !== 'spent' || refused.reason !== 'spent') return []
    if (refused.endUs > told.endUs || told.isDown || (refused.isDown && !refused.knowsTime)) return []
    const since = decidedUs - told.retryAfterSec * 1e6 - scenario.window.windowUs
    const isExcused = faults.some(
      ({ kind, fromUs, toUs }) =>
        (kind === 'reach' || kind === 'stop' || kind === 'clock') && fromUs < decidedUs && toUs > since,
    )
    return isExcused ? [] : [{ ...asked, process: process.id, decidedUs, told, refused }]
  })
}

/** Redis's record against what the processes themselves made of that window. */
function excess(simulation: Simulation, work: Work): unknown[] {
  const { everyProcess, faults } = simulation
  const { record, subject, number } = work
  if (record === undefined) return []
  const { fields, gone, inherited } = record.hash
  const of = (process: SimulatedProcess) => process.window.chargedTo(subject, number)
  const found: unknown[] = []
  for (const process of everyProcess) {
    const field = fields.get(process.store.field)
    if (field && field.spent > of(process) + PROCESS_US)
      found.push({ process: process.id, subject, number, spent: field.spent, own: of(process) })
  }
  const isAmbiguous = faults.some(
    (loss) => isLoss(loss) && faults.some((one) => one.kind === 'close' && isSoonAfter(loss, one)),
  )
  if (isAmbiguous || mayBeDoubled(simulation, work)) return found
  const stored =
    Math.max(
      record.hash.sum,
      sum([...fields.values()], ({ spent }) => spent),
    ) +
    gone +
    inherited
  const own = sum(everyProcess, of)
  if (stored > own + PROCESS_US * everyProcess.length) found.push({ subject, number, stored, gone, inherited, own })
  return found
}

/** A process's field was lost before it heard that it had been written: to Redis the next command is its first. */
function mayBeDoubled({ faults, scenario }: Simulation, { startUs, endUs }: Work): boolean {
  return isLossy(scenario) && faults.some(({ kind, fromUs }) => kind === 'damage' && fromUs > startUs && fromUs < endUs)
}

/** Commands and replies get lost, or come late. */
function isLossy({ network }: Scenario): boolean {
  return network.latestUs !== undefined
}

function isLoss({ kind }: Fault): boolean {
  return kind === 'data' || kind === 'rollback' || kind === 'damage'
}

function isSoonAfter(loss: Fault, { fromUs, toUs }: Fault): boolean {
  return loss.fromUs >= fromUs && loss.fromUs <= toUs + AMBIGUOUS_US
}

/** What Redis lacks of what the processes had charged, where nothing has gone wrong shortly before the window's end. */
function missing({ everyProcess, faults, scenario, loop }: Simulation, work: Work): unknown[] {
  const { record, subject, number, startUs, endUs } = work
  const since = faults.filter(({ toUs, kind }) => toUs > startUs && kind !== 'close' && kind !== 'kill')
  if (since.some(({ fromUs, toUs }) => fromUs < endUs && toUs > endUs - WHOLE_US)) return []
  const isLost = since.some(({ fromUs, kind }) => fromUs < endUs && (kind === 'data' || kind === 'rollback'))
  // A damaged field is written again with the process's next command; until then the sum has it.
  const isDamaged = since.some(({ fromUs, kind }) => fromUs < endUs && kind === 'damage')
  const hash = record?.hash
  const found: unknown[] = []
  let handedOver = 0
  for (const process of everyProcess) {
    const ended = Math.min(process.diedUs, loop.now)
    const toldUs = toldUntil(process, Math.min(ended, endUs), scenario.lagUs)
    const spent = hash?.fields.get(process.store.field)?.spent ?? 0
    if (process.stoodStill) continue // its own clock did, so that it charged less
    // Before it has heard of Redis it may take a window for over that is not.
    if (work.parts.some(({ one }) => one.process === process && one.startUs < process.store.heardFirstUs)) continue
    if (process.closingUs < endUs) {
      // Where its last commands get lost, it leaves what a killed process does.
      const closedUs = isLossy(scenario) ? toldUntil(process, process.closingUs, scenario.lagUs) : process.closingUs
      handedOver += process.isClosed ? work.of(process, Math.min(toldUs, closedUs)) - spent : 0
    } else if (isDamaged || (process.isDead && ended < endUs && isLost)) continue
    else {
      const workUs = work.of(process, toldUs)
      const own = process.window.chargedTo(subject, number) // less where it was early to enter the next window
      if (spent < Math.min(workUs - allowed(process, work, scenario.boundaryUs), own - PROCESS_US))
        found.push({ process: process.id, subject, number, spent, workUs, own })
    }
  }
  const told = (hash?.gone ?? 0) + (hash?.inherited ?? 0)
  const known = isLost ? knownOfEnded(work, since) : handedOver - everyProcess.length * scenario.boundaryUs
  if (told < known - PROCESS_US * everyProcess.length) found.push({ subject, number, told, known })
  return found
}

/**
 * Until when Redis has all that a process had charged at `atUs`. While the network loses one command after another it is
 * told nothing, and all at once when one is answered again.
 */
function toldUntil({ store }: SimulatedProcess, atUs: number, lagUs: number): number {
  const silences: { fromUs: number; toUs: number }[] = []
  let silence: { fromUs: number; toUs: number } | undefined
  for (const { sentUs, answeredUs } of store.sent) {
    if (sentUs >= atUs) break
    if (answeredUs - sentUs > DEADLINE_US) {
      if (silence === undefined) silences.push((silence = { fromUs: sentUs, toUs: Infinity }))
    } else if (silence && sentUs > silence.fromUs + DECIDED_US) {
      silence.toUs = answeredUs
      silence = undefined
    }
  }
  return silences.reduceRight(
    (told, { fromUs, toUs }) => (toUs > told ? Math.min(told, fromUs - lagUs) : told),
    atUs - lagUs,
  )
}

/** What those who live on, and were not ending, had heard of ended processes' charges when data was lost last. */
function knownOfEnded({ record, endUs, startUs }: Work, faults: readonly Fault[]): number {
  if (faults.some(({ kind, fromUs }) => kind === 'rollback' && fromUs < endUs)) return 0
  const losses = faults.filter(({ kind, fromUs }) => kind === 'data' && fromUs > startUs && fromUs < endUs)
  const key = record && `${record.id}/${record.number}`
  const { known = [], fromUs = 0 } = losses.at(-1) ?? {}
  // One that was ending has handed its figures over, and says nothing again.
  const canSay = (process: SimulatedProcess) => process.diedUs > endUs && process.closingUs > fromUs
  return known.reduce((most, one) => (one.key === key && canSay(one.process) ? Math.max(most, one.ended) : most), 0)
}

/** The processes' clocks differ about where a window begins and ends. */
function allowed(process: SimulatedProcess, { parts, startUs, endUs, simulation }: Work, boundaryUs: number): number {
  const own = parts.filter(({ one }) => one.process === process)
  const crossing = own.filter(
    ({ one }) => one.startUs < startUs + boundaryUs || endOf(one, simulation.loop.now) > endUs - boundaryUs,
  )
  const us = sum(own, ({ fromUs, toUs }) => toUs - fromUs)
  return 20 * own.length + 2.5e-4 * us + boundaryUs * crossing.length + PROCESS_US
}

/** What a process noted for a window, against the truth. */
function misplaced({ everyProcess, scenario }: Simulation, work: Work): unknown[] {
  const { subject, number } = work
  return everyProcess.flatMap((process) => {
    if (process.isDead) return []
    const charged = process.window.chargedTo(subject, number)
    const trueUs = work.of(process)
    const isRight = Math.abs(charged - trueUs) <= allowed(process, work, scenario.boundaryUs)
    return isRight ? [] : [{ process: process.id, subject, number, charged, trueUs }]
  })
}

/** By what was done in the window, over all processes. */
function refusedEarly(simulation: Simulation, all: readonly Work[]): unknown[] {
  const { refusals, scenario, everyProcess } = simulation
  const windows = new Map(all.map((work) => [`${work.subject}/${work.redisEndUs}`, work]))
  const reached = new Map<string, number>()
  return refusals.flatMap(({ asked, refused, decidedUs, process, limitUs }) => {
    const window = `${asked.subject}/${refused?.endUs}`
    const work = windows.get(window)
    if (refused?.reason !== 'spent' || work === undefined || mayBeDoubled(simulation, work)) return []
    const key = `${window}/${limitUs}`
    let at = reached.get(key)
    if (at === undefined) {
      const us = limitUs - 2 * scenario.boundaryUs * work.parts.length - PROCESS_US
      // Where heartbeats get lost a process may be wrong about when a window begins.
      const isCharged = sum(everyProcess, (one) => one.window.chargedTo(work.subject, work.number)) >= us
      reached.set(key, (at = scenario.bounds ? (work.reached(us) ?? Infinity) : isCharged ? 0 : Infinity))
    }
    return decidedUs < at ? [{ ...asked, process: process.id, decidedUs, reachedUs: at, workUs: work.us }] : []
  })
}

/** Work beyond the limit that is neither one request's running over nor what began in the window before. */
function overLimit({ scenario }: Simulation, work: Work, bounds: Bounds): unknown[] {
  const { parts, subject, number, startUs } = work
  let longest = 0
  let carried = 0
  for (const { one, fromUs, toUs } of parts) {
    longest = Math.max(longest, toUs - fromUs)
    if (one.startUs < startUs) carried += toUs - fromUs
  }
  const over = work.us - scenario.window.limitUs - longest - carried
  return over > bounds.overLimitUs ? [{ subject, number, workUs: work.us, longest, carried, over }] : []
}

/** What was admitted too long after its limit had been reached. */
function late(work: Work, bounds: Bounds): unknown[] {
  const { parts, subject, number, endUs } = work
  const reachedUs = new Map<number, number>()
  return parts.flatMap(({ one }) => {
    const { limitUs, startUs } = one
    let at = reachedUs.get(limitUs)
    if (at === undefined) reachedUs.set(limitUs, (at = work.reached(limitUs * 1.0005 + 2_000) ?? Infinity))
    return startUs > at + bounds.lateUs && startUs < endUs ? [{ subject, number, limitUs, reachedUs: at, startUs }] : []
  })
}
