import { subjectId } from '../../../lib/throttle/budget/subjects'
import type { SimulatedProcess } from './simulated-process'
import type { SimulatedRequest } from './simulated-request'
import { EPOCH_US } from './simulated-store'

/** Work that ended so long ago is in the sums alone. */
const RECENT_US = 4_000_000

/** A stretch of time in which one request's processing time counted. */
export interface Stretch {
  readonly process: SimulatedProcess
  readonly from: number
  to: number | undefined
}

/** What one process did in one window: µs. */
interface Done {
  us: number
  /** Time that charges added; part of `us`. */
  chargedUs: number
  /** What requests that were written off count as, beside. */
  unseenUs: number
  excusedUs: number
  /** Seen after its request had ended. */
  lateUs: number
}

/** What was truly done for one subject, in simulated time. The laws judge by it. */
export class Work {
  readonly id: string
  readonly phase: number
  readonly open = new Set<Stretch>()
  /** Requests that were let in and have not ended. */
  readonly live = new Set<SimulatedRequest>()
  /** Excused waits for clients that are under way. */
  readonly waits = new Set<Stretch>()
  /** All stretches, in the order of their starts. */
  readonly stretches: Stretch[] = []
  /** When time was last charged that no running request took. */
  chargedAt = -Infinity
  readonly #charges: { readonly at: number; readonly us: number; readonly isLate: boolean }[] = []
  #recent: Stretch[] = []
  readonly #windows = new Map<number, Map<SimulatedProcess, Done>>()

  constructor(
    readonly subject: string,
    readonly windowUs: number,
    readonly now: () => number,
  ) {
    const { id, phase } = subjectId(subject, windowUs)
    this.id = id
    this.phase = phase
  }

  number(at = this.now()): number {
    return Math.floor((at + EPOCH_US + this.phase) / this.windowUs)
  }

  startOf(number: number): number {
    return number * this.windowUs - this.phase - EPOCH_US
  }

  /** Time counts from `from` on, which may have passed. */
  begin(process: SimulatedProcess, from = this.now()): Stretch {
    const stretch = { process, from, to: undefined }
    this.open.add(stretch)
    this.stretches.push(stretch)
    return stretch
  }

  end(stretch: Stretch, at = this.now()): void {
    if (stretch.to !== undefined) return
    stretch.to = at
    this.open.delete(stretch)
    this.#recent.push(stretch)
    if (this.#recent.length > 256) this.#recent = this.#recent.filter(({ to = 0 }) => to > this.now() - RECENT_US)
    this.#share(stretch.process, stretch.from, at, 'us')
  }

  beginWait(process: SimulatedProcess): Stretch {
    const wait = { process, from: this.now(), to: undefined }
    this.waits.add(wait)
    return wait
  }

  endWait(wait: Stretch, at = this.now()): void {
    if (wait.to !== undefined) return
    wait.to = at
    this.waits.delete(wait)
    this.#share(wait.process, wait.from, at, 'excusedUs')
  }

  /** Time that was charged and that no request took. */
  add(process: SimulatedProcess, us: number): void {
    this.chargedAt = this.now()
    const done = this.#done(this.number(), process)
    done.us += us
    done.chargedUs += us
    this.#charges.push({ at: this.now(), us, isLate: false })
  }

  /** Time that counts, seen after the request has ended. */
  addLate(process: SimulatedProcess, us: number): void {
    this.chargedAt = this.now()
    const done = this.#done(this.number(), process)
    done.us += us
    done.lateUs += us
    this.#charges.push({ at: this.now(), us, isLate: true })
  }

  /** What was seen late in so long a time. */
  seenLate(from: number, to: number): number {
    return this.#charges.reduce((sum, { at, us, isLate }) => sum + (isLate && at >= from && at < to ? us : 0), 0)
  }

  /** What was charged since a time. */
  chargedSince(from: number): number {
    return this.#charges.reduce((sum, { at, us }) => sum + (at >= from ? Math.max(0, us) : 0), 0)
  }

  /** A request was written off unseen: towards overshoot it counts a quarter of its limit. */
  writeOff(process: SimulatedProcess, limitUs: number): void {
    this.#done(this.number(), process).unseenUs += Math.round(limitUs / 4)
  }

  #share(process: SimulatedProcess, from: number, to: number, as: 'us' | 'excusedUs'): void {
    for (let start = from; start < to;) {
      const number = this.number(start)
      const end = Math.min(to, this.startOf(number + 1))
      this.#done(number, process)[as] += end - start
      start = end
    }
  }

  #done(number: number, process: SimulatedProcess): Done {
    let window = this.#windows.get(number)
    if (!window) this.#windows.set(number, (window = new Map<SimulatedProcess, Done>()))
    let done = window.get(process)
    if (!done) window.set(process, (done = { us: 0, chargedUs: 0, unseenUs: 0, excusedUs: 0, lateUs: 0 }))
    return done
  }

  #sum(number: number, as: keyof Done, by?: SimulatedProcess): number {
    let us = 0
    for (const [process, done] of this.#windows.get(number) ?? []) if (!by || process === by) us += done[as]
    return us
  }

  /** Used time of a window up to now, over all processes or by one. */
  used(number: number, by?: SimulatedProcess): number {
    return this.#sum(number, 'us', by) + this.#within(this.open, number, by)
  }

  charged(number: number): number {
    return this.#sum(number, 'chargedUs')
  }

  unseen(number: number): number {
    return this.#sum(number, 'unseenUs')
  }

  late(number: number): number {
    return this.#sum(number, 'lateUs')
  }

  excused(number: number): number {
    return this.#sum(number, 'excusedUs') + this.#within(this.waits, number)
  }

  #within(under: Iterable<Stretch>, number: number, by?: SimulatedProcess): number {
    const [start, end] = [this.startOf(number), Math.min(this.now(), this.startOf(number + 1))]
    let us = 0
    for (const { process, from } of under) if (!by || process === by) us += Math.max(0, end - Math.max(from, start))
    return us
  }

  /** Work since a time of the last seconds. */
  since(at: number, by?: SimulatedProcess): number {
    const now = this.now()
    let us = 0
    for (const { process, from, to = now } of [...this.open, ...this.#recent])
      if (!by || process === by) us += Math.max(0, to - Math.max(from, at))
    return us
  }

  /** Whether any work ended or went on since a time of the last seconds. */
  isBusySince(at: number): boolean {
    return this.open.size > 0 || this.#recent.some(({ to = 0 }) => to > at)
  }

  /** What ran across the start of a window, and counts in it. */
  carried(number: number): number {
    const start = this.startOf(number)
    const end = this.startOf(number + 1)
    let us = 0
    for (const { from, to = this.now() } of this.stretches)
      if (from < start && to > start) us += Math.min(to, end) - start
    return us
  }

  /** Work between two times. */
  between(from: number, to: number): number {
    let us = 0
    for (const stretch of this.stretches)
      us += Math.max(0, Math.min(stretch.to ?? this.now(), to) - Math.max(stretch.from, from))
    return us
  }

  /** How many stretches were under way within `slack` of a time. */
  across(at: number, slack: number, by?: SimulatedProcess): number {
    let n = 0
    for (const { process, from, to = this.now() } of this.stretches)
      if ((!by || process === by) && from < at + slack && to > at - slack) n++
    return n
  }
}
