import { performance } from 'node:perf_hooks'
import { type Clock, nowUs, systemClock } from '../../http/clock'
import type { ThrottledRequest } from './request'
import { accountOf } from './window'

/** How often the event loop is looked at while requests are in flight. */
const TICK_MS = 10
const TICK_US = TICK_MS * 1_000
/** The loop stood still if a look comes later than this after the one before. */
const STALL_US = TICK_US + 20_000
/**
 * A process that stands still for longer was stopped (SIGSTOP, a laptop's lid), if its loop waited for events during this
 * part of the time, though a timer was due.
 */
const PAUSE_US = 1_000_000
const PAUSE_IDLE = 0.9

/**
 * Who pays for the time in which a handler blocked the event loop: the request whose first turn it was and the same
 * subject's others, else all that were in flight, an equal part each. Without this every bystander pays for all of it.
 * Nobody pays for the time in which the process was stopped.
 */
export class StallSharing {
  static readonly #byClock = new WeakMap<Clock, StallSharing>()
  readonly #clock: Clock
  readonly #inFlight: ThrottledRequest[] = []
  #lookedAt = 0
  /** At the last tick: how long the event loop had waited for events, in ms. */
  #idleMs = 0
  #isTimed = false
  /** Whose handlers run in this turn of the loop, for the first time. */
  #running: ThrottledRequest | undefined

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
  begins(request: ThrottledRequest, now: number): void {
    this.look(now)
    request.inFlightSince = now
    if (request.inFlightAt < 0) request.inFlightAt = this.#inFlight.push(request) - 1
    if (!this.#isTimed) this.#arm()
  }

  /** The request's time is about to be charged. */
  stops(request: ThrottledRequest, now: number): void {
    this.look(now)
    if (request.inFlightAt < 0) return
    const last = this.#inFlight.pop() as ThrottledRequest
    if (last !== request) this.#inFlight[(last.inFlightAt = request.inFlightAt)] = last
    request.inFlightAt = -1
  }

  /** Runs the request's handlers: what they do at once is theirs. To be called just after a look. */
  run(request: ThrottledRequest, handlers: () => void): void {
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
    for (const request of this.#inFlight) leaveOut(request, Math.min(gapUs, now - request.inFlightSince), now)
  }

  #share(gapUs: number, now: number): void {
    const payer = this.#running
    const all = this.#inFlight.length
    for (const request of this.#inFlight) {
      if (request === payer || (payer !== undefined && sharesSubject(request, payer))) continue
      const beside = Math.min(gapUs, now - request.inFlightSince)
      const us = payer === undefined ? Math.max(0, beside - TICK_US) * (1 - 1 / all) : beside
      excuse(request, Math.floor(us), now)
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

/** Leaves this much out of a request's time, as another's: at most one limit a window. */
function excuse(request: ThrottledRequest, us: number, now: number): void {
  let mostUs = us
  for (let hold = request.firstHold; hold !== undefined; hold = hold.next)
    mostUs = Math.min(mostUs, accountOf(hold, now).own.excusableUs(hold.limitUs))
  const excusedUs = leaveOut(request, mostUs, now)
  for (let hold = request.firstHold; hold !== undefined; hold = hold.next) hold.account.own.stalled(excusedUs)
}

function leaveOut({ time, firstHold }: ThrottledRequest, us: number, now: number): number {
  const leftOutUs = time.leaveOut(us, now)
  for (let hold = firstHold; hold !== undefined; hold = hold.next)
    hold.baseUs = Math.min(hold.baseUs, time.countedUs(now) + hold.chargedUs) // what was before the window is not counted here
  return leftOutUs
}

/** Whether every account that a request is charged to is one of the other's. */
function sharesSubject({ firstHold }: ThrottledRequest, other: ThrottledRequest): boolean {
  let hold = firstHold
  while (hold !== undefined && other.heldIn(hold.account, hold.window.budgets) !== undefined) hold = hold.next
  return hold === undefined
}

function idleMs(): number {
  return performance.eventLoopUtilization().idle
}
