import type { ThrottleReason } from '../../errors'
import type { Stopwatch } from '../../http/measure/stopwatch'
import type { RoutePrice } from './price'

/** Charges of one request stay below this many µs, four years, so that sums of them are whole numbers. */
const MOST_CHARGED_US = 2 ** 47

/** How a request waits for room beside its subject's running requests. */
export interface WaitRule {
  readonly maxUs: number
  /** Requests of one subject that wait in this process. */
  readonly perSubject: number
  /** It does not start without the store: `onOutage` is `closed`. */
  readonly needsStore?: boolean
}

/**
 * Why a request is refused. `spent`: used time exceeds the limit. `reserved`: running requests have reserved the rest,
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
 * request's time is its stopwatch's; only the account writes here. An account knows its holds, so a hold is told only by its parameters what an account and a window are.
 */
export class Hold<Account = unknown, Window extends HoldRules = HoldRules> {
  /** `waiting`: it stands in the line. `live`: it was let in, and its stopwatch says whether it runs. */
  state: 'waiting' | 'live' | 'ended' = 'waiting'
  /** Its expected time in µs; below its limit. */
  priceUs = 0
  /** The same, raised once it runs longer. */
  expectedUs = 0
  /** What the stopwatch had counted when it first began here, below 0 before. µs. */
  beforeUs = -1
  /** The same, or when the window began, if that was later. */
  baseUs = 0
  /** Its excused waits until then. */
  excusedBaseUs = 0
  /** Time that it was charged for while it was live, beside its stopwatch; and until the window began. */
  chargedUs = 0
  chargedBaseUs = 0
  /** The window that it was let in to. */
  number = 0
  /** Its neighbours among the account's holds. Lists made of the holds themselves: arrays would outlive them. */
  previous: Hold | undefined = undefined
  following: Hold | undefined = undefined
  /** Who waits behind it. */
  behind: Hold | undefined = undefined
  /** While it waits: it is refused then at the latest, in µs of the process's clock. */
  waitsUntil = 0
  /** While it stands in the account's line: since when. Below 0 otherwise. */
  joinedAt = -1
  /** The first report that asked for it; 0 before. */
  askedIn = 0
  /** An answer of the store knew of it, so it waits for room. */
  isConsidered = false
  /** While it waits: hears once what became of it. */
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

  get isInLine(): boolean {
    return this.joinedAt >= 0
  }

  get isRunning(): boolean {
    return this.beforeUs >= 0 && this.time.isCounting
  }

  /** The app waits for its client, within the cap of such waits. */
  get isExcused(): boolean {
    return this.beforeUs >= 0 && this.time.state === 'awaitingClient'
  }

  /** Counted time since it began, in µs, and what it was charged for. */
  takenUs(now: number): number {
    return this.measuredUs(now) + this.chargedUs
  }

  /** Counted time alone. */
  measuredUs(now: number): number {
    return this.beforeUs < 0 ? 0 : this.time.countedUs(now) - this.beforeUs
  }

  /** What it took in the present window, in µs. */
  usedUs(now: number): number {
    return this.beforeUs < 0 ? 0 : this.time.countedUs(now) - this.baseUs + this.chargedUs - this.chargedBaseUs
  }

  /** What it took before is counted no more: here it has begun, or its window has. */
  isCountedFrom(at: number): void {
    const { time } = this
    this.baseUs = time.countedUs(at)
    this.excusedBaseUs = time.excusedUs(at)
    this.chargedBaseUs = this.chargedUs
  }

  /** Time that counted was left out: what was before the window is not counted here. */
  leftOut(now: number): void {
    this.baseUs = Math.min(this.baseUs, this.time.countedUs(now))
  }

  charge(us: number): void {
    this.chargedUs = Math.min(this.chargedUs + us, MOST_CHARGED_US)
  }

  /** Its excused waits in the present window, in µs. */
  excusedUs(now: number): number {
    return this.beforeUs < 0 ? 0 : this.time.excusedUs(now) - this.excusedBaseUs
  }
}
