import { subjectId } from '../../../../lib/throttle/window/subject-id'
import type { SimulatedProcess } from './simulated-process'
import type { WindowRecord } from './simulated-redis'
import type { SimulatedRequest } from './simulated-request'
import type { Simulation } from './simulation'

/** Processes know Redis's clock again so long after it was set. */
const CLOCK_KNOWN_US = 4_000_000

/** A process has entered the next window so long after the end of one. */
const NOTICED_US = 300_000

interface Part {
  readonly one: SimulatedRequest
  readonly fromUs: number
  readonly toUs: number
}

/** What was really done in one window of one subject. Simulated time. */
export class Work {
  /** Every request that ran in it, with the part of it that did. */
  readonly parts: readonly Part[]
  readonly us: number

  constructor(
    readonly simulation: Simulation,
    readonly subject: string,
    /** Its number, and Redis's record of it as it was last. */
    readonly number: number,
    readonly record: WindowRecord | undefined,
    readonly startUs: number,
    readonly endUs: number,
    /** Its end by Redis's clock. */
    readonly redisEndUs: number,
    requests: readonly SimulatedRequest[],
  ) {
    const parts: Part[] = []
    const { now } = simulation.loop
    for (const one of requests) {
      const fromUs = Math.max(one.startUs, startUs)
      const toUs = Math.min(endOf(one, now), endUs)
      if (toUs > fromUs) parts.push({ one, fromUs, toUs })
    }
    this.parts = parts
    this.us = sum(parts, ({ fromUs, toUs }) => toUs - fromUs)
  }

  /** What one process did in it, up to a time. */
  of(process: SimulatedProcess, untilUs = this.endUs): number {
    return sum(this.parts, ({ one, fromUs, toUs }) =>
      one.process === process ? Math.max(0, Math.min(toUs, untilUs) - fromUs) : 0,
    )
  }

  /** When the work came to this much. */
  reached(us: number): number | undefined {
    if (this.us <= us) return undefined
    const changes = this.parts.flatMap(({ fromUs, toUs }) => [
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
}

/** When it ended: with its process at the latest. */
export function endOf(one: SimulatedRequest, now: number): number {
  return Math.min(one.endUs ?? now, one.process.diedUs)
}

/** The work in all windows that have ended, but for those that Redis's clock was set in, and the one after. */
export function allWork(simulation: Simulation): Work[] {
  const { loop, redis, scenario, served, faults } = simulation
  const { windowUs } = scenario.window
  const offsetUs = redis.timeUs() - Math.floor(loop.now)
  const fromUs = faults.reduce(
    (latest, { kind, toUs }) => (kind === 'clock' ? toUs + CLOCK_KNOWN_US : latest),
    -Infinity,
  )
  const bySubject = new Map<string, SimulatedRequest[]>()
  for (const one of served) {
    const { subject } = one.asked
    const requests = bySubject.get(subject)
    if (requests) requests.push(one)
    else bySubject.set(subject, [one])
  }
  const all: Work[] = []
  for (const [subject, requests] of bySubject) {
    const { id, phase } = subjectId(subject, windowUs)
    for (let number = Math.floor((offsetUs + phase) / windowUs); ; number++) {
      const startUs = number * windowUs - phase - offsetUs
      if (startUs + windowUs + NOTICED_US > loop.now) break
      const record = redis.record(id, number)
      if (startUs < fromUs || record?.isOld) continue // a window may come again where the clock is set back and forth
      all.push(
        new Work(
          simulation,
          subject,
          number,
          record,
          startUs,
          startUs + windowUs,
          startUs + windowUs + offsetUs,
          requests,
        ),
      )
    }
  }
  return all
}

export function sum<T>(values: readonly T[], of: (value: T) => number): number {
  let total = 0
  for (const value of values) total += of(value)
  return total
}
