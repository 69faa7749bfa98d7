/** Largest drift between the clocks of two machines, in microseconds per microsecond. */
export const DRIFT = 5e-4

/**
 * A process's estimate of the store's clock: its offset from the process's monotonic clock, and the largest error, which
 * grows until the next reply. Windows follow this clock. All times are microseconds.
 */
export class WindowClock {
  /** What to add to the process's clock. */
  offset: number
  #error: number
  #heardAt = 0
  readonly #drift: number

  /**
   * @param offset the first guess: the machine's wall clock less its monotonic one
   * @param error how wrong that may be; 0 without a store, where the process's own clock counts
   */
  constructor(offset: number, error: number) {
    this.offset = offset
    this.#error = error
    this.#drift = error === 0 ? 0 : DRIFT
  }

  /** The estimated time of the store. */
  at(now: number): number {
    return now + this.offset
  }

  /** How far `at()` may be off. */
  error(now: number): number {
    return this.#error + Math.max(0, now - this.#heardAt) * this.#drift
  }

  /** Learns from a reply that said `time` to a command sent at `sentAt`. Keeps the estimate with the smaller error. */
  learn(sentAt: number, now: number, time: number): void {
    const offset = Math.round(time - (sentAt + now) / 2) // reports take whole microseconds
    const error = (now - sentAt) * (1 / 2 + this.#drift) // the clocks drift while the reply is under way
    const known = this.error(now)
    const jumped = Math.abs(offset - this.offset) > error + known // the store's clock was set
    if (error > known && !jumped) return
    this.offset = offset
    this.#error = error
    this.#heardAt = now
  }
}
