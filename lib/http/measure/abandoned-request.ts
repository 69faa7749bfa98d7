import { type Clock, nowUs } from '../clock'

/** Longest time that is charged after the first wait, if a handler works on after its client has disconnected. */
const SEEN_MOST_US = 60_000_000

/**
 * A request whose client has disconnected while its handler may work on. It counts as running until the handler ends
 * the response or the request is written off, because the handler gave no sign. A later sign adds the time since.
 */
export class AbandonedRequest {
  readonly #clock: Clock
  readonly #waitUs: number
  readonly #writeOff: (now: number) => void
  /** Time of the write-off. Each sign moves it, but not beyond `#countedMost`. */
  #dueAt: number
  /** No time after this is charged. */
  readonly #countedMost: number
  /** After the write-off: time is charged until here. */
  #countedTo: number | undefined

  /** @param waitUs wait for a sign before the write-off; Infinity: never written off */
  constructor(clock: Clock, now: number, waitUs: number, writeOff: (now: number) => void) {
    this.#clock = clock
    this.#waitUs = waitUs
    this.#writeOff = writeOff
    this.#dueAt = now + waitUs
    this.#countedMost = this.#dueAt + SEEN_MOST_US
    this.#look(now)
  }

  get isWrittenOff(): boolean {
    return this.#countedTo !== undefined
  }

  /** A sign of the handler. Returns the time that is charged late, in microseconds. */
  seen(now: number): number {
    const until = Math.min(now, this.#countedMost)
    if (this.#countedTo === undefined) {
      this.#dueAt = Math.min(now + this.#waitUs, this.#countedMost)
      return 0
    }
    const us = Math.max(0, until - this.#countedTo)
    this.#countedTo += us
    return us
  }

  /** The response was ended. */
  settle(): void {
    this.#dueAt = Infinity
  }

  /** A timer may fire early, as Node counts from the beginning of the event loop's turn in which it was set. */
  #look(now: number): void {
    if (this.#dueAt === Infinity) return
    if (now < this.#dueAt) {
      this.#clock.after((this.#dueAt - now) / 1_000, () => this.#look(nowUs(this.#clock)))
      return
    }
    this.#countedTo = now
    this.#writeOff(now)
  }
}
