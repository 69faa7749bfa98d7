import type { Clock } from '../http/clock'
import type { OverloadMessage } from './events'
import { STEP_MS, Series } from './series'

/** A series of refusals ends this long after the Retry-After of the last one. */
const RUN_MS = 60_000
/** Subjects told apart; those beyond count by reason alone. */
const MOST_SUBJECTS = 1_000
/** Subjects that a process names in one message. */
const NAMED = 20

/** Refusals in a row: each follows at most a minute after the Retry-After of the one before. */
export class RefusalRun {
  count = 0
  /** When the first of them was refused, in ms of the process's clock. */
  since = 0
  /** When the last one may come back, by its Retry-After. */
  againAt = -Infinity

  add(now: number, retryAfterSec: number): void {
    if (this.isOver(now)) [this.since, this.count] = [now, 0]
    this.count++
    this.againAt = now + retryAfterSec * 1_000
  }

  isOver(now: number): boolean {
    return now > this.againAt + RUN_MS
  }
}

/** One subject's refusals in a row. */
export interface RefusedSubject {
  /** Its hash, by which the store knows it. */
  readonly subject: string
  readonly window: string
  readonly count: number
  /** How long ago the first one was refused, in milliseconds. */
  readonly sinceMs: number
}

/** What one process refuses, as it tells the store with each heartbeat. */
export interface RefusalsMessage {
  /** Requests refused in the last minute, by reason. */
  readonly reasons: Readonly<Record<string, number>>
  /** Those refused most often, 20 at most. */
  readonly subjects: readonly RefusedSubject[]
  /** What it sheds; undefined where it is not overloaded. */
  readonly overload: OverloadMessage | undefined
}

/** Refusals of one process over one store. Takes the same memory whatever is refused. */
export class Refusals {
  readonly #clock: Clock
  readonly #reasons = new Map<string, Series>()
  readonly #runs = new Map<string, { readonly subject: string; readonly window: string; readonly run: RefusalRun }>()
  #sweptAt = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @param subject its hash */
  add(window: string, subject: string, reason: string, retryAfterSec: number): void {
    const now = this.#clock.now()
    const series = this.#reasons.get(reason) ?? new Series()
    this.#reasons.set(reason, series)
    series.add(now, 1)
    const key = `${subject} ${window}`
    let known = this.#runs.get(key)
    if (known === undefined) {
      if (this.#runs.size >= MOST_SUBJECTS) this.#sweep(now)
      if (this.#runs.size >= MOST_SUBJECTS) return
      this.#runs.set(key, (known = { subject, window, run: new RefusalRun() }))
    }
    known.run.add(now, retryAfterSec)
  }

  message(overload: OverloadMessage | undefined): RefusalsMessage {
    const now = this.#clock.now()
    const counted = [...this.#reasons].map(([reason, series]) => [reason, series.aMinute(now)] as const)
    const reasons = Object.fromEntries(counted.filter(([, count]) => count > 0))
    const going = [...this.#runs.values()].filter(({ run }) => !run.isOver(now))
    const most = going.sort((a, b) => b.run.count - a.run.count).slice(0, NAMED)
    const subjects = most.map(({ subject, window, run: { count, since } }) => {
      return { subject, window, count, sinceMs: Math.round(now - since) }
    })
    return { reasons, subjects, overload }
  }

  /** Drops those whose refusals are over. A flood of new subjects does not make it search each time. */
  #sweep(now: number): void {
    if (now - this.#sweptAt < STEP_MS) return
    this.#sweptAt = now
    for (const [key, { run }] of this.#runs) if (run.isOver(now)) this.#runs.delete(key)
  }
}
