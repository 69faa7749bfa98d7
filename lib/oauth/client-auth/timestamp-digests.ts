import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'

/** Hashes made in one turn of the event loop: some 5 ms. */
const TURN = 8_192
/** Times this close to now are tried without the table. A client whose clock is right needs no more. */
const NEAR_MS = 2_000

/**
 * Finds the time that was hashed, among the milliseconds around now. The hashes are kept in a table that moves with the
 * clock, so each millisecond is hashed once, however many digests are looked up: a search costs one look through the table,
 * and at most one hash for each millisecond since the search before.
 */
export class TimestampDigests {
  readonly #algorithm: string
  readonly #toleranceMs: number
  /** Milliseconds that the table covers. */
  readonly #span: number
  /** The first 32 bits of the digest of each millisecond from `#first` to `#last`, at its remainder by `#span`. */
  #heads: Uint32Array | undefined
  #first = 0
  #last = -1
  #extending: Promise<void> | undefined

  /** @param algorithm of Node's `hash()`, such as `sha256` @param toleranceMs how far the time may lie from now */
  constructor(algorithm: string, toleranceMs: number) {
    this.#algorithm = algorithm
    this.#toleranceMs = toleranceMs
    this.#span = 2 * toleranceMs + 1
  }

  /**
   * @param digest hexadecimal, of the decimal milliseconds since 1970
   * @param now whole milliseconds since 1970
   * @returns milliseconds since 1970, or undefined if the digest is not that of a time within the tolerance
   */
  async find(digest: string, now: number): Promise<number | undefined> {
    const found = this.#lookUp(digest, now) ?? this.#findNear(digest, now)
    if (found !== undefined) return found
    while (!this.#covers(now)) {
      this.#extending ??= this.#extend(now).finally(() => (this.#extending = undefined))
      await this.#extending
    }
    return this.#lookUp(digest, now)
  }

  #lookUp(digest: string, now: number): number | undefined {
    const head = headOf(digest)
    for (let at = -1; (at = this.#heads?.indexOf(head, at + 1) ?? -1) >= 0;) {
      const ahead = (at - (this.#first % this.#span) + this.#span) % this.#span
      const time = this.#first + ahead
      const isInside = time <= this.#last && Math.abs(time - now) <= this.#toleranceMs
      if (isInside && this.#digest(time) === digest) return time
    }
    return undefined
  }

  /** Tries the times around now that the table does not cover, nearest first. */
  #findNear(digest: string, now: number): number | undefined {
    for (let away = 0; away <= Math.min(NEAR_MS, this.#toleranceMs); away++) {
      for (const time of [now - away, now + away]) {
        const isCovered = this.#first <= time && time <= this.#last
        if (!isCovered && this.#digest(time) === digest) return time
      }
    }
    return undefined
  }

  #covers(now: number): boolean {
    return this.#first <= now - this.#toleranceMs && this.#last >= now + this.#toleranceMs
  }

  async #extend(now: number): Promise<void> {
    const [from, to] = [now - this.#toleranceMs, now + this.#toleranceMs]
    if (this.#last < from || this.#first > to) [this.#first, this.#last] = [now, now - 1] // nothing of it is of use
    for (let n = 1; !this.#covers(now); n++) {
      if (this.#last < to) this.#put(++this.#last)
      else this.#put(--this.#first)
      if (n % TURN === 0) await setImmediate()
    }
  }

  #put(time: number): void {
    this.#heads ??= new Uint32Array(this.#span)
    this.#heads[time % this.#span] = headOf(this.#digest(time))
    // What was at this place is covered no more.
    if (time === this.#last) this.#first = Math.max(this.#first, time - this.#span + 1)
    else this.#last = Math.min(this.#last, time + this.#span - 1)
  }

  #digest(time: number): string {
    return hash(this.#algorithm, String(time))
  }
}

function headOf(digest: string): number {
  return parseInt(digest.slice(0, 8), 16)
}
