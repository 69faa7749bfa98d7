import type { LeftOut, Stopwatch } from '../../http/measure/stopwatch'
import { type Clock, nowUs } from '../../http/clock'

/** Interval of the checks of the event loop while requests are in flight. */
const TICK_MS = 10
const TICK_US = TICK_MS * 1_000
/** The loop was blocked if two checks are further apart than this. */
const STALL_US = TICK_US + 20_000

/**
 * Who pays for the time in which a handler blocked the event loop: the request whose first turn it was, else all that were
 * in flight, an equal part each. `leftOutUs` is the time left out of all requests so far: a request leaves
 * out what the number grew by while it ran. An account excuses at most one limit of that in a window.
 */
export class StallSharing implements LeftOut {
  static readonly #byClock = new WeakMap<Clock, StallSharing>()
  leftOutUs = 0
  /** How long the loop has stood still while requests were in flight. */
  stalledUs = 0
  #inFlight = 0
  #lookedAt = 0
  #isTimed = false
  /** The request whose handlers run in this turn of the loop, which is its first. */
  #running: Stopwatch | undefined

  private constructor(readonly clock: Clock) {}

  /** All requests that go by one clock share. */
  static forClock(clock: Clock): StallSharing {
    let sharing = StallSharing.#byClock.get(clock)
    if (sharing === undefined) StallSharing.#byClock.set(clock, (sharing = new StallSharing(clock)))
    return sharing
  }

  /** A request's time is about to begin. */
  begins(now: number): void {
    this.look(now)
    this.#inFlight++
    if (!this.#isTimed) this.#arm()
  }

  /** A request's time is about to end. */
  ends(now: number): void {
    this.look(now)
    this.#inFlight--
  }

  /** Runs a request's handlers: what they do at once is its own. To be called just after a look. */
  run(time: Stopwatch, handlers: () => void): void {
    const outer = this.#running
    this.#running = time
    try {
      handlers()
    } finally {
      this.look(nowUs(this.clock))
      this.#running = outer
    }
  }

  /** Leaves out the time since the last look, where it was long. */
  look(now: number): void {
    const gapUs = now - this.#lookedAt
    this.#lookedAt = now
    if (gapUs < STALL_US || this.#inFlight === 0) return
    this.stalledUs += gapUs - TICK_US
    const payer = this.#running
    const us = payer === undefined ? Math.floor((gapUs - TICK_US) * (1 - 1 / this.#inFlight)) : gapUs
    this.leftOutUs += us
    payer?.pays(us)
  }

  #arm(): void {
    this.#isTimed = true
    this.clock.after(TICK_MS, () => {
      this.#isTimed = false
      this.look(nowUs(this.clock))
      if (this.#inFlight > 0) this.#arm()
    })
  }
}
