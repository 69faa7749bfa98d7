import type { ThrottleReason } from '../../errors'
import type { RequestTime } from '../../http/measure/stopwatch'
import type { Account } from './account'

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
  /** A request that was let in has ended, and took so much in place of its price. */
  took(request: object, subject: string, us: number): void
}

/** The request that a hold belongs to. */
export interface HoldOwner {
  readonly time: RequestTime
  /** Nobody waits for its response any more. */
  readonly isGone: boolean
  /** What it is expected to take, in µs, by what is known now. */
  priceUs(hold: Hold): number
  /** It stays in line: it gives back its places in other accounts. Told whenever the line is looked at. */
  waits(): void
  /** Told once for each wait in a line. */
  decided(hold: Hold, end: WaitEnd): void
  /** The wait for the client is excused no longer: its time counts from `at` on, in µs of the process's clock. */
  waitCounts(at: number): void
  /** A window has begun at `at`: a wait for the client that was counted is excused again. */
  windowBegan(at: number): void
  /** The subject has used two limits: the request is asked to stop. */
  overrun(): void
}

/**
 * What an account keeps of a request. While it is live, it has a place, and the part of its price that it has not used
 * counts against the budget. Where the request has to wait for another account, this one takes the place back, and the
 * hold waits again. The request's time is its owner's; only the account writes here.
 */
export class HoldRecord {
  /** `waiting`: it stands in a line, here or elsewhere. `live`: it was let in, and its owner's time says whether it runs. */
  state: 'waiting' | 'live' | 'ended' = 'waiting'
  /** Its expected time in µs; below its limit. */
  priceUs = 0
  /** The same, raised once it runs longer. */
  expectedUs = 0
  /** What the request's time had counted when it first began here, below 0 before. µs. */
  beforeUs = -1
  /** The same, when it was let in last, or when the window began, if that was later. */
  baseUs = 0
  /** Its excused waits until then. */
  excusedBaseUs = 0
  /** Time that it was charged for while it was live, beside its stopwatch; and until the window began. */
  chargedUs = 0
  chargedBaseUs = 0
  /** The window that it was let in to. */
  number = 0
  /** Its neighbours among the account's holds. Lists made of the holds themselves: arrays would outlive them. */
  previous: HoldRecord | undefined = undefined
  following: HoldRecord | undefined = undefined
  /** Who waits behind it. */
  behind: HoldRecord | undefined = undefined
  /** While it waits: it is refused then at the latest, in µs of the process's clock. */
  waitsUntil = 0
  /** While it stands in the account's line: since when. Below 0 otherwise. */
  joinedAt = -1
  /** The first report that asked for it; 0 before. */
  askedIn = 0
  /** An answer of the store knew of it, so it waits for room. */
  isConsidered = false
  /** What became of its wait. */
  waitEnd: WaitEnd | undefined = undefined

  /**
   * @param clientWaitUs all waits for the client are excused up to this, in µs a window
   * @param concurrency requests of the subject that run at once, over all processes
   */
  constructor(
    public account: Account,
    readonly owner: HoldOwner,
    readonly limitUs: number,
    readonly clientWaitUs: number,
    readonly wait: WaitRule,
    readonly load?: LoadShedding,
    readonly concurrency = 32,
  ) {}

  /** It was let in before: in a line it stands before those who never were. */
  get hasBegun(): boolean {
    return this.beforeUs >= 0
  }

  get isInLine(): boolean {
    return this.joinedAt >= 0
  }

  /** What it needs to be let in, in µs. */
  get wantUs(): number {
    return Math.max(0, this.priceUs - this.takenUs(this.owner.time.since))
  }

  get isRunning(): boolean {
    return this.beforeUs >= 0 && this.owner.time.isCounting
  }

  /** The app waits for its client, within the cap of such waits. */
  get isExcused(): boolean {
    return this.beforeUs >= 0 && this.owner.time.state === 'awaitingClient'
  }

  /** Counted time since it began, in µs, and what it was charged for. */
  takenUs(now: number): number {
    return this.measuredUs(now) + this.chargedUs
  }

  /** Counted time alone. */
  measuredUs(now: number): number {
    return this.beforeUs < 0 ? 0 : this.owner.time.countedUs(now) - this.beforeUs
  }

  /** What it took in the present window, in µs. */
  usedUs(now: number): number {
    return this.beforeUs < 0 ? 0 : this.owner.time.countedUs(now) - this.baseUs + this.chargedUs - this.chargedBaseUs
  }

  /** What it took before is counted no more: here it has begun, or its window has. */
  isCountedFrom(at: number): void {
    const { time } = this.owner
    this.baseUs = time.countedUs(at)
    this.excusedBaseUs = time.excusedUs(at)
    this.chargedBaseUs = this.chargedUs
  }

  charge(us: number): void {
    this.chargedUs = Math.min(this.chargedUs + us, MOST_CHARGED_US)
  }

  /** Its excused waits in the present window, in µs. */
  excusedUs(now: number): number {
    return this.beforeUs < 0 ? 0 : this.owner.time.excusedUs(now) - this.excusedBaseUs
  }
}

/** A hold as all but its account see it. */
export type Hold = Readonly<HoldRecord>
