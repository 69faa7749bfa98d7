/** The app waits for a slow reader of its response. */
export const READER = 1
/** The app waits for a slow sender of its request. */
export const SENDER = 2

/**
 * Counts the time of one request in whole microseconds. It pauses while the app waits for its client. It stops once.
 */
export class Stopwatch {
  #startedAt: number
  #excludedUs = 0
  /** {@link READER}, {@link SENDER}, both (3) or neither (0). */
  #waitsFor = 0
  /** Start of the pause. Undefined while a wait is charged. */
  #pausedAt: number | undefined
  #stoppedAt: number | undefined
  /** Waits for the client that were charged: those that are over, and the start of the present one. */
  #chargedWaitsUs = 0
  #chargedFrom: number | undefined

  constructor(now: number) {
    this.#startedAt = now
  }

  get stopped(): boolean {
    return this.#stoppedAt !== undefined
  }

  /** The time counted so far. */
  countedUs(now: number): number {
    return (this.#pausedAt ?? this.#stoppedAt ?? now) - this.#startedAt - this.#excludedUs
  }

  /**
   * The present wait for the client is excused no longer: it goes on, and its time counts from `at`. `at` may lie in the
   * past, but not before the wait. An observer may call it at any time, also from its own methods.
   */
  countFrom(at: number): void {
    if (this.#pausedAt === undefined) return
    this.#excludedUs += at - this.#pausedAt
    this.#pausedAt = undefined
    if (this.#waitsFor !== 0) this.#chargedFrom = at
  }

  /** Waits for the client that were charged, the present one included: they say nothing of the work. */
  chargedWaitsUs(now: number): number {
    return this.#chargedWaitsUs + (this.#chargedFrom === undefined ? 0 : now - this.#chargedFrom)
  }

  #endChargedWait(at: number): void {
    if (this.#chargedFrom === undefined) return
    this.#chargedWaitsUs += at - this.#chargedFrom
    this.#chargedFrom = undefined
  }

  /** Pauses from `at` on if the app waits for its client and that wait is charged. Returns whether it does. */
  pauseFrom(at: number): boolean {
    if (this.#waitsFor === 0 || this.#pausedAt !== undefined || this.stopped) return false
    this.#endChargedWait(at)
    this.#pausedAt = at
    return true
  }

  /** Subtracts time that has passed. */
  exclude(us: number): void {
    this.#excludedUs += us
  }

  /** Counts from zero again. */
  protected restartAt(now: number): void {
    this.#waitsFor = 0
    this.#pausedAt = this.#chargedFrom = undefined
    this.#chargedWaitsUs = 0
    this.#excludedUs = now - this.#startedAt
  }

  /** Goes by another clock from now on, which is ahead by `us`. */
  protected shift(us: number): void {
    this.#startedAt += us
  }

  protected waits(whom: number): boolean {
    return (this.#waitsFor & whom) !== 0
  }

  /** The app waits. Returns whether this pauses the time. */
  protected waitFor(whom: number, now: number): boolean {
    this.#waitsFor |= whom
    if (this.#pausedAt !== undefined) return false
    this.#endChargedWait(now)
    this.#pausedAt = now
    return true
  }

  /** The app waits no more. Returns whether a pause is over. */
  protected waitsNoMore(whom: number, now: number): boolean {
    this.#waitsFor &= ~whom
    if (this.#waitsFor === 0) this.#endChargedWait(now)
    return this.#waitsFor === 0 && this.#pausedAt !== undefined
  }

  /** Stops for good. A pause is not counted. */
  protected stop(now: number): void {
    this.#endChargedWait(now)
    this.#stoppedAt = now
  }
}
