import { type Clock, nowUs } from '../../http/clock'

/** How often the event loop is looked at while requests are in flight. */
const TICK_MS = 10
const TICK_US = TICK_MS * 1_000
/** The loop stood still where a look comes so much later than the one before. */
const STALL_US = TICK_US + 20_000

/** A request that is in flight while the event loop stands still. */
export interface StalledRequest {
  /** Leaves this much out of its time. */
  excuse(us: number): void
}

/**
 * Who pays for the time in which a handler blocked the event loop: the request whose first turn it was, else all that
 * were in flight, an equal part each. Without this every bystander pays for all of it.
 */
export class StallSharing {
  static readonly #byClock = new WeakMap<Clock, StallSharing>()
  readonly #clock: Clock
  /** The requests in flight, and since when. */
  readonly #inFlight = new Map<StalledRequest, number>()
  #lookedAt = 0
  #isTimed = false
  /** Whose handlers run in this turn of the loop, for the first time. */
  #running: StalledRequest | undefined

  private constructor(clock: Clock) {
    this.#clock = clock
  }

  /** All requests that go by one clock share. */
  static forClock(clock: Clock): StallSharing {
    let sharing = StallSharing.#byClock.get(clock)
    if (sharing === undefined) StallSharing.#byClock.set(clock, (sharing = new StallSharing(clock)))
    return sharing
  }

  /** The request's time begins, or goes on. */
  begins(request: StalledRequest, now: number): void {
    this.look(now)
    this.#inFlight.set(request, now)
    this.#arm()
  }

  /** The request's time is about to be charged. */
  stops(request: StalledRequest, now: number): void {
    this.look(now)
    this.#inFlight.delete(request)
  }

  /** Runs the request's handlers: what they do at once is theirs. To be called just after a look. */
  run(request: StalledRequest, handlers: () => void): void {
    const outer = this.#running
    this.#running = request
    try {
      handlers()
    } finally {
      this.look(nowUs(this.#clock))
      this.#running = outer
    }
  }

  /** Shares out the time since the last look, where it was long. */
  look(now: number): void {
    const gapUs = now - this.#lookedAt
    this.#lookedAt = now
    if (gapUs < STALL_US) return
    const payer = this.#running
    for (const [request, since] of this.#inFlight) {
      if (request === payer) continue
      const beside = Math.min(gapUs, now - since)
      const us = payer === undefined ? Math.max(0, beside - TICK_US) * (1 - 1 / this.#inFlight.size) : beside
      request.excuse(Math.floor(us))
    }
  }

  #arm(): void {
    if (this.#isTimed || this.#inFlight.size === 0) return
    this.#isTimed = true
    this.#clock.after(TICK_MS, () => {
      this.#isTimed = false
      this.look(nowUs(this.#clock))
      this.#arm()
    })
  }
}
