import { performance } from 'node:perf_hooks'
import { type Clock, nowUs, systemClock } from '../../http/clock'

/** How often the event loop is looked at while requests are in flight. */
const TICK_MS = 10
const TICK_US = TICK_MS * 1_000
/** The loop stood still where a look comes so much later than the one before. */
const STALL_US = TICK_US + 20_000
/**
 * The process was stopped (SIGSTOP, a laptop's lid) if the loop stood still for so long, and waited for events nearly all
 * the while, though a timer was due.
 */
const PAUSE_US = 1_000_000
const PAUSE_IDLE = 0.9

/** A request that is in flight while the event loop stands still. */
export interface StalledRequest {
  /** Its place among those in flight, -1 where it is none of them, and since when it is: kept by {@link StallSharing}. */
  inFlightAt: number
  inFlightSince: number
  /** Leaves this much out of its time, as another request's: at most one limit a window. */
  excuse(us: number, now: number): void
  /** Leaves this much out of its time. */
  leaveOut(us: number, now: number): number
  /** Whether every account that it is charged to is one of the other's. */
  sharesSubject(other: StalledRequest): boolean
}

/**
 * Who pays for the time in which a handler blocked the event loop: the request whose first turn it was and the same
 * subject's others, else all that were in flight, an equal part each. Without this every bystander pays for all of it.
 * Nobody pays for the time in which the process was stopped.
 */
export class StallSharing {
  static readonly #byClock = new WeakMap<Clock, StallSharing>()
  readonly #clock: Clock
  readonly #inFlight: StalledRequest[] = []
  #lookedAt = 0
  /** At the last tick: how long the event loop had waited for events, in ms. */
  #idleMs = 0
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
    request.inFlightSince = now
    if (request.inFlightAt < 0) request.inFlightAt = this.#inFlight.push(request) - 1
    if (!this.#isTimed) this.#arm()
  }

  /** The request's time is about to be charged. */
  stops(request: StalledRequest, now: number): void {
    this.look(now)
    if (request.inFlightAt < 0) return
    const last = this.#inFlight.pop() as StalledRequest
    if (last !== request) this.#inFlight[(last.inFlightAt = request.inFlightAt)] = last
    request.inFlightAt = -1
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
    if (gapUs >= PAUSE_US && this.#clock === systemClock && this.#wasStopped(gapUs)) this.#leaveOut(gapUs, now)
    else this.#share(gapUs, now)
  }

  #wasStopped(gapUs: number): boolean {
    return (idleMs() - this.#idleMs) * 1_000 >= PAUSE_IDLE * gapUs
  }

  #leaveOut(gapUs: number, now: number): void {
    for (const request of this.#inFlight) request.leaveOut(Math.min(gapUs, now - request.inFlightSince), now)
  }

  #share(gapUs: number, now: number): void {
    const payer = this.#running
    const all = this.#inFlight.length
    for (const request of this.#inFlight) {
      if (request === payer || (payer !== undefined && request.sharesSubject(payer))) continue
      const beside = Math.min(gapUs, now - request.inFlightSince)
      const us = payer === undefined ? Math.max(0, beside - TICK_US) * (1 - 1 / all) : beside
      request.excuse(Math.floor(us), now)
    }
  }

  #arm(): void {
    this.#isTimed = true
    this.#idleMs = idleMs()
    this.#clock.after(TICK_MS, () => {
      this.#isTimed = false
      this.look(nowUs(this.#clock))
      if (this.#inFlight.length > 0) this.#arm()
    })
  }
}

function idleMs(): number {
  return performance.eventLoopUtilization().idle
}
