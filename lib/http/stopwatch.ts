/** A handler waits for a slow reader of its response. */
export const READER = 1
/** A handler waits for a slow sender of its request. */
export const SENDER = 2

/** A handler may wait this long, over the whole request, for the client to send the body. More is counted. */
const SENDER_MOST_US = 60_000_000

/**
 * Counts the time of one request, in whole microseconds. It stands still while the handler waits for its client, and
 * stops once.
 */
export class Stopwatch {
  #startedAt: number
  #excludedUs = 0
  /** {@link READER}, {@link SENDER}, both (3) or neither (0). */
  #waitsFor = 0
  #pausedAt: number | undefined
  #senderAwaitedAt = 0
  #senderLeftUs = SENDER_MOST_US
  #stoppedAt: number | undefined

  constructor(now: number) {
    this.#startedAt = now
  }

  get stopped(): boolean {
    return this.#stoppedAt !== undefined
  }

  /** The time counted so far. */
  countedUs(now: number): number {
    return (this.#stoppedAt ?? this.#pausedAt ?? now) - this.#startedAt - this.#excludedUs
  }

  /** Counts from zero again. */
  restartAt(now: number): void {
    this.#waitsFor = 0
    this.#pausedAt = undefined
    this.#excludedUs = now - this.#startedAt
  }

  /** Leaves out some time that has passed. */
  exclude(us: number): void {
    this.#excludedUs += us
  }

  /** Goes by another clock from now on, which is ahead by `us`. */
  protected shift(us: number): void {
    this.#startedAt += us
  }

  protected waits(whom: number): boolean {
    return (this.#waitsFor & whom) !== 0
  }

  /** The handler waits. True where the time stands still from now on, and did not before. */
  protected waitFor(whom: number, now: number): boolean {
    if (this.stopped || this.waits(whom)) return false
    if (whom === SENDER) this.#senderAwaitedAt = now
    this.#waitsFor |= whom
    if (this.#pausedAt !== undefined) return false
    this.#pausedAt = now
    return true
  }

  /** The handler waits no more. True where the time goes on from now. */
  protected goOn(whom: number, now: number): boolean {
    if (this.stopped || !this.waits(whom)) return false
    this.#waitsFor &= ~whom
    if (this.#waitsFor !== 0 || this.#pausedAt === undefined) return false
    this.#excludedUs += now - this.#pausedAt
    this.#pausedAt = undefined
    return true
  }

  /**
   * To be asked when a wait for the sender ends. How much of it is counted all the same: a handler may work while its
   * client keeps the last byte of the body back.
   */
  protected countLongWait(now: number): number {
    const waitUs = now - this.#senderAwaitedAt
    const countedUs = Math.max(0, waitUs - this.#senderLeftUs)
    this.#senderLeftUs -= waitUs - countedUs
    this.#excludedUs -= countedUs
    return countedUs
  }

  /** Stops for good; where it stood still, at that time. Returns when. */
  protected stop(now: number): number {
    return (this.#stoppedAt = this.#pausedAt ?? now)
  }
}
