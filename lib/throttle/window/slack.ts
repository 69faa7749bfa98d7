/** A subject that is asked for is granted ahead this much more than was asked for since the last tick. */
const AHEAD = 1.25
/** One that asks more often than before is granted so many times what was asked for since the last tick. */
const RAMP = 2
/** What is granted ahead is asked for anew once no more than this part is left, by who asks so often within a tick. */
const LOW_PART = 1 / 4
const OFTEN = 8

/**
 * Time granted ahead of the requests that will use it: a short lease, so that a busy subject's requests are admitted
 * from memory. Whole microseconds.
 */
export class Slack {
  #left = 0
  /** What was left when the store last answered. */
  #filled = 0
  #more = 0
  /** The limit that it was granted under, and that it is asked for under. */
  #limit = 0
  #wishLimit = 0
  #unit = 0
  #isAsked = false
  #demand = 0
  #wasAsked = false
  /** What was asked for in the tick that passed, by a subject that asks often enough to need it again. */
  #repeated = 0

  /** What is granted and not used. */
  get left(): number {
    return this.#left
  }

  /** The limit that it was granted under: a request with a smaller one must not use it. */
  get limit(): number {
    return this.#limit
  }

  /** What the latest request is expected to take. */
  get unit(): number {
    return this.#unit
  }

  /** Requests have asked since the last tick, if only for nothing: those for whom nothing is held. */
  get inDemand(): boolean {
    return this.#isAsked
  }

  /** They ask for more than one in a tick, or in one after the other: more are likely to come. */
  get isRepeated(): boolean {
    return this.#wasAsked || this.#demand > this.#unit
  }

  /** So little is left that it may be used up before the next tick: requests would wait for the store. */
  get isLow(): boolean {
    return this.#left < this.#filled * LOW_PART && this.#demand >= OFTEN * this.#unit
  }

  /** What could be had at most when last heard. */
  get obtainable(): number {
    return this.#left + this.#more
  }

  /** A request asks that is expected to take `cost`. */
  ask(cost: number): void {
    this.#isAsked = true
    this.#demand += cost
    this.#unit = cost
  }

  /** A request was admitted. */
  use(cost: number): void {
    this.#left = Math.max(0, this.#left - cost)
  }

  /**
   * The store answered.
   *
   * @param granted undefined where that is not to be used
   * @param more what more could have been had
   */
  hear(granted: number | undefined, more: number): void {
    if (granted !== undefined) {
      this.#left = this.#filled = Math.max(0, granted)
      this.#limit = this.#wishLimit
    }
    this.#more = more
  }

  /** A request ended before its hold did: what is left of it may be used by those that wait. */
  give(us: number): void {
    this.#left += us
  }

  /** Gives up what is granted. */
  drop(): void {
    this.#left = this.#filled = 0
  }

  /** Forgets what was left when last heard, too: another window begins. */
  reset(): void {
    this.#left = this.#filled = this.#more = 0
  }

  /**
   * A tick has passed. One request alone is no reason to grant ahead: most often none follows, and giving it back takes
   * another command.
   */
  tick(): void {
    this.#repeated = this.isRepeated ? this.#demand : 0
    this.#wasAsked = this.#isAsked
    this.#demand = 0
    this.#isAsked = false
  }

  /** Nothing is wished for any more. */
  stop(): void {
    this.#left = this.#filled = this.#demand = this.#repeated = 0
    this.#isAsked = this.#wasAsked = false
  }

  /**
   * How much to ask for ahead, under `limit`, beside what those need who wait. What is kept is no more than that, and
   * nothing of what a larger limit allowed.
   *
   * @param isLarge a request is expected to take so much that nothing is granted ahead
   */
  wish(limit: number, isLarge: boolean): number {
    this.#wishLimit = limit
    const demanded = this.#demand > this.#unit ? this.#demand : 0
    const wish = isLarge ? 0 : Math.floor(Math.max(AHEAD * this.#repeated, RAMP * demanded))
    this.#left = limit < this.#limit ? 0 : Math.min(this.#left, wish)
    return wish
  }
}
