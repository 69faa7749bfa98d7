import { type SubjectWindow, held } from './subject-window'

/**
 * Which window is open, when it ends, and the step into the next. A window's number is ⌊(time + phase) / length⌋ with
 * the store's time and the subject's own phase: every process, a store that restarted and a promoted replica come to
 * the same one, and nobody has to agree on anything.
 */
export class Calendar {
  constructor(readonly windowUs: number) {}

  /** The number of the window that is open at this time of the store. */
  numberAt(phase: number, time: number): number {
    return Math.floor((time + phase) / this.windowUs)
  }

  /** The number of the subject's window that is open now, as far as is known. */
  number(s: SubjectWindow, now: number): number {
    return this.numberAt(s.phase, s.shard.clock.at(now))
  }

  /** When the subject's window began, in the store's time. */
  start(s: SubjectWindow): number {
    return s.number * this.windowUs - s.phase
  }

  /** When the subject's window ends, in the store's time. */
  end(s: SubjectWindow): number {
    return this.start(s) + this.windowUs
  }

  /** Whether the window is open even where the clock's error is against it. */
  surelyOpen(s: SubjectWindow, now: number): boolean {
    return s.shard.clock.at(now) + this.#error(s, now) < this.end(s)
  }

  /** Microseconds until the window is over, even where the clock's error is against it. */
  endsInUs(s: SubjectWindow, now: number): number {
    return this.end(s) - s.shard.clock.at(now) + this.#error(s, now)
  }

  /** A store not heard of for long must not leave a short window without any time that is surely its own. */
  #error(s: SubjectWindow, now: number): number {
    return Math.min(s.shard.clock.error(now), this.windowUs / 4)
  }

  /**
   * Enters the window `number`. What requests in flight have taken until the boundary stays in the old one; from there
   * they start anew, each with its share of the hold that was left. True where the subject entered a new window.
   */
  roll(s: SubjectWindow, now: number, number: number = this.number(s, now)): boolean {
    if (s.number >= number) return false
    while (s.number < number) {
      const boundary = Math.min(now, Math.max(s.touched, s.shard.clock.local(this.end(s))))
      s.carried = s.running > 0 ? Math.floor(held(s, boundary) / s.running) : 0
      s.hold = s.carried * s.running
      s.starts = boundary * s.running
      s.opened = s.touched = boundary
      s.number = s.running > 0 ? s.number + 1 : number
      s.spent = s.othersSpent = s.othersRunning = s.slack = s.more = s.acked = 0
      s.asOf = -Infinity
      s.dirty = s.running > 0
    }
    return true
  }
}
