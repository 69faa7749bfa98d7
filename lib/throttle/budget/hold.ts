import type { ThrottleReason } from '../../errors'
import type { Stopwatch } from '../../http/measure/stopwatch'
import type { RoutePrice } from './price'

/** Sums and charges stay below this many µs, four years, so that numbers and records keep them whole. */
const MOST_US = 2 ** 47
/** A request that runs longer than its price is expected to take half as long again, and this much at least. */
const LONGER_LEAST_US = 1_000

/** Sums over more requests than may run at once are added up anew after so many µs for each of them. */
const US_EACH = 50

/** How a request waits while running requests of its subject reserve the rest. */
export interface WaitRule {
  readonly maxUs: number
  /** Requests of one subject that wait in this process. */
  readonly perSubject: number
  /** It does not start without the store: `onOutage` is `closed`. */
  readonly needsStore?: boolean
}

/**
 * Why a request is refused. `spent`: used time has reached the limit. `reserved`: running requests have reserved the rest,
 * for as long as it may wait. `concurrency`: too many of the subject's requests run at once. `queue`: the line is full.
 * `outage`: the store does not answer, and this process's share is used up. `overload`: the process sheds load, and the
 * subject asks for more than its part.
 */
export type RefusalReason = ThrottleReason | 'overload'

/**
 * What becomes of a request that had to wait. `gone`: nobody waits for its response, so it does not begin. `closed`: the
 * throttle was closed meanwhile.
 */
export type WaitEnd = 'start' | 'gone' | 'closed' | RefusalReason

/** Refuses requests while the process is overloaded. */
export interface LoadShedding {
  /** Whether a new request is refused. @param request stands for it in all of its throttles */
  refuses(request: object, subject: string, priceUs: number): boolean
  /** A request that was let in has ended. @param us what it took, in place of its price */
  took(request: object, subject: string, us: number): void
}

/** The rules of a throttle that accounts follow. */
export interface HoldRules {
  readonly wait: WaitRule
  /** What the process sheds while it is overloaded. */
  readonly load?: LoadShedding | undefined
}

/**
 * One request in one account: what it asks of a window, and what it has there. While it is live, it has a place, and the
 * part of its price that it has not used counts against the budget, also while it waits for another account. The
 * request's time is its stopwatch's; only the account writes here. An account knows its holds, so a hold is told only by
 * its parameters what an account and a window are.
 */
export class Hold<Account = unknown, Window extends HoldRules = HoldRules> {
  /** `waiting`: it stands in the line. `live`: it was let in, and its stopwatch says whether it runs. */
  state: 'waiting' | 'live' | 'ended' = 'waiting'
  /** Its expected time in µs; below its limit. */
  priceUs = 0
  /** The same, raised once it runs longer. */
  expectedUs = 0
  /** What the stopwatch had counted when it began here, below 0 before. µs. */
  beforeUs = -1
  /** What had been counted and charged by then, or when the window began, if that was later. */
  baseUs = 0
  /** Its excused waits until then, and what was left out of its time. */
  excusedBaseUs = 0
  stalledBaseUs = 0
  /** Time that it was charged for while it was live, beside its stopwatch. */
  chargedUs = 0
  /** While it waits: since when, and when it is refused at the latest, in µs of the process's clock. */
  joinedAt = 0
  waitsUntil = 0
  /** The first report that asked for it; 0 before. */
  askedIn = 0
  /** An answer of the store knew of it, so it waits for room. */
  isConsidered = false
  /** While it waits: called once with the decision. */
  heard: ((end: WaitEnd) => void) | undefined = undefined
  /** The same request's hold in another account. */
  next: Hold<Account, Window> | undefined = undefined

  /**
   * @param window the throttle's window that asks
   * @param subject as `req.throttle.subject`
   * @param clientWaitUs all waits for the client are excused up to this, in µs a window
   * @param concurrency requests of the subject that run at once, over all processes
   */
  constructor(
    readonly account: Account,
    readonly window: Window,
    readonly time: Stopwatch,
    readonly route: RoutePrice,
    readonly subject: string,
    readonly limitUs: number,
    readonly clientWaitUs: number,
    readonly concurrency: number,
  ) {}

  get isRunning(): boolean {
    return this.beforeUs >= 0 && this.time.isCounting
  }

  /** Counted time since it began, in µs. */
  measuredUs(now: number): number {
    return this.beforeUs < 0 ? 0 : this.time.countedUs(now) - this.beforeUs
  }

  /** The same, and what it was charged for. */
  takenUs(now: number): number {
    return this.measuredUs(now) + this.chargedUs
  }

  /** What it took before is counted no more: here it has begun, or its window has. */
  isCountedFrom(at: number): void {
    this.baseUs = this.time.countedUs(at) + this.chargedUs
    this.excusedBaseUs = this.time.excusedUs(at)
    this.stalledBaseUs = this.time.stalledUs
  }

  charge(us: number): void {
    this.chargedUs = Math.min(this.chargedUs + us, MOST_US)
  }

  /** What it is expected to take still, in µs. One that runs longer than expected is expected to take half as long again. */
  restUs(takenUs: number, now: number): number {
    if (!this.time.isCounting) return Math.max(0, this.priceUs - takenUs)
    if (takenUs >= this.expectedUs) {
      const workedUs = takenUs - this.time.countedWaitsUs(now)
      this.expectedUs = takenUs + Math.max(LONGER_LEAST_US, Math.ceil(workedUs / 2))
    }
    return this.expectedUs - takenUs
  }
}

/** What one process's requests come to in a window at one moment. µs. */
export interface OwnFigures {
  /** Time that requests took, with the elapsed time of running ones. */
  usedUs: number
  /** What running requests are expected to take still. For this process's own decisions. */
  heldUs: number
  /** What is left of their prices. The store is told no more: it counts as used if the process is not heard again. */
  pricedUs: number
  /** Waits for clients that are excused. */
  excusedUs: number
  /** When the first running request should have ended; Infinity where none runs. */
  soonestEnd: number
  /** When the last one should have ended. Infinity where the time of one stands still, -Infinity where there is none. */
  lastEnd: number
}

/**
 * What one process's requests have used of a subject's window, and still hold. Nothing is kept of a running request but
 * where its time stood when it began here: all figures are read from the requests' own stopwatches. Whole microseconds.
 */
export class OwnUsage {
  /** Counts as overshoot though it was not used: what nobody saw of requests that were written off, less rehearsals. */
  unseenUs = 0
  /** Requests that have a place: they were let in and have not ended. */
  readonly live: Hold[] = []
  /** Time that was left out as other requests'; all of it beyond one limit a window is used. */
  #stalledUs = 0
  #limitUs = 0
  /** How many may run at once. */
  #places = 0
  /** Time of requests that have ended, and their excused waits. */
  #endedUs = 0
  #excusedUs = 0
  /** When the window began, in µs of the process's clock; -Infinity for the first. */
  #beganAt = -Infinity
  /** The last sums over many requests, and when they were added up. Few are not worth the memory in each account. */
  #sums: OwnFigures | undefined = undefined
  #summedAt = 0

  /** Where more requests run than any limit lets run, as in a dry run, one request is not to cost a look at all of them. */
  #recent(now: number): OwnFigures | undefined {
    return now - this.#summedAt < this.live.length * US_EACH ? this.#sums : undefined
  }

  at(now: number): OwnFigures {
    const recent = this.#recent(now)
    if (recent !== undefined) return recent
    const sums: OwnFigures = {
      usedUs: this.#endedUs,
      heldUs: 0,
      pricedUs: 0,
      excusedUs: this.#excusedUs,
      soonestEnd: Infinity,
      lastEnd: -Infinity,
    }
    this.#sums = this.live.length > this.#places ? sums : undefined
    this.#summedAt = now
    let stalledUs = this.#stalledUs
    for (const hold of this.live) {
      const { time, priceUs, chargedUs, beforeUs } = hold
      const hasBegun = beforeUs >= 0
      const countedUs = hasBegun ? time.countedUs(now) : 0
      const takenUs = hasBegun ? countedUs - beforeUs + chargedUs : chargedUs
      const leftUs = Math.max(0, priceUs - takenUs)
      sums.usedUs += hasBegun ? Math.max(0, countedUs + chargedUs - hold.baseUs) : chargedUs
      sums.pricedUs += leftUs
      if (hasBegun) sums.excusedUs += time.excusedUs(now) - hold.excusedBaseUs
      if (hasBegun) stalledUs += time.stalledUs - hold.stalledBaseUs
      if (hasBegun && time.isCounting) {
        const restUs = hold.restUs(takenUs, now)
        sums.heldUs += restUs
        sums.soonestEnd = Math.min(sums.soonestEnd, now + restUs)
        sums.lastEnd = Math.max(sums.lastEnd, now + restUs)
      } else {
        sums.heldUs += leftUs
        sums.lastEnd = Infinity
      }
    }
    sums.usedUs = Math.min(sums.usedUs + Math.max(0, stalledUs - this.#limitUs), MOST_US)
    return sums
  }

  /** Takes a request in. Its time stands still until {@link start}. */
  begin(hold: Hold): void {
    hold.expectedUs = hold.priceUs
    this.#limitUs = hold.limitUs
    this.#places = hold.concurrency
    hold.state = 'live'
    this.live.push(hold)
  }

  /** The time of a request begins. */
  start(hold: Hold, now: number): void {
    hold.isCountedFrom(now)
    hold.beforeUs = hold.baseUs - hold.chargedUs
  }

  /** A request has ended: it pays for what it took. */
  end(hold: Hold, now: number): void {
    const { time, chargedUs } = hold
    const hasBegun = hold.beforeUs >= 0
    this.#paid(hasBegun ? Math.max(0, time.countedUs(now) + chargedUs - hold.baseUs) : chargedUs)
    if (hasBegun) this.#excusedUs += time.excusedUs(now) - hold.excusedBaseUs
    if (hasBegun) this.#stalledUs += time.stalledUs - hold.stalledBaseUs
    hold.state = 'ended'
    const last = this.live.pop() as Hold
    if (last !== hold) this.live[this.live.indexOf(hold)] = last
  }

  endAll(now: number): void {
    for (const hold of [...this.live]) this.end(hold, now)
  }

  /** Adds time that no live request took, or takes it back. */
  charge(us: number): void {
    this.#paid(us)
    this.#sums = undefined
  }

  #paid(us: number): void {
    this.#endedUs = Math.min(this.#endedUs + us, MOST_US)
  }

  /** A window begins. What runs across the boundary is counted from it. */
  enter(boundary: number): void {
    this.#beganAt = boundary
    this.#sums = undefined
    this.#endedUs = this.#excusedUs = this.unseenUs = this.#stalledUs = 0
    for (const hold of this.live) hold.isCountedFrom(Math.max(hold.time.since, boundary))
  }

  /**
   * Waits for clients count again from when the cap was reached.
   *
   * @param account says how much of a cap is this process's
   */
  boundWaits(now: number, account: { excusedMostUs(capUs: number): number }): void {
    if (this.#recent(now) !== undefined) return
    if (this.live.length > this.#places) this.at(now) // or requests without a limit, which need no sums, would all come here
    let waiting: Hold[] | undefined
    for (const hold of this.live)
      if (hold.beforeUs >= 0 && hold.time.state === 'awaitingClient') (waiting ??= []).push(hold)
    if (waiting === undefined) return
    let left = waiting.length
    for (const { time, clientWaitUs } of waiting) {
      const beyondUs = this.at(now).excusedUs - account.excusedMostUs(clientWaitUs)
      if (beyondUs <= 0) continue
      const from = Math.max(time.since, this.#beganAt)
      time.countWait(Math.max(from, now - Math.ceil(beyondUs / left--)))
    }
  }
}

/** What a request asks for. */
export type AskTerms = Pick<Hold, 'priceUs' | 'limitUs' | 'concurrency'>
