import type { Hold } from './hold'

/** Longest time until a line asks again. */
const ASK_US = 100_000

/** Requests of an account that wait, first come, first served. */
export class Line {
  first: Hold | undefined = undefined
  #last: Hold | undefined = undefined
  length = 0
  /** The line is asked about again then, in µs of the process's clock. */
  askAt = 0

  join(hold: Hold, now: number): void {
    hold.joinedAt = now
    if (this.#last === undefined) this.first = hold
    else this.#last.behind = hold
    this.#last = hold
    this.length++
  }

  /** A request leaves. @param before who stands before it */
  leave(hold: Hold, before: Hold | undefined): void {
    if (before === undefined) this.first = hold.behind
    else before.behind = hold.behind
    if (this.#last === hold) this.#last = before
    hold.behind = undefined
    hold.joinedAt = -1
    this.length--
  }

  /** Says when those who wait are to be asked about again. Not all processes at once. @param seq of the last report */
  askLater(now: number, seq: number): void {
    this.askAt = now + ASK_US * (0.75 + ((seq * 0.618) % 0.25))
  }
}
