import type { Histories } from './price'
import { Figures } from './figures'
import type { Hold } from './hold'
import { NO_STRAIN, type WindowTotals, debtAfter, strainAfter } from './rollover'
import type { Server } from './server'
import type { Waiter } from './decide'

/** A subject's requests that run at once on a fresh budget; in proportion fewer as it is used. */
export const PLACES = 32
/** A request that was written off unseen counts as this part of a limit towards strain. */
const WRITTEN_OFF = 1 / 4

/** What the other processes have in the store, as its last answer said. Microseconds, but for the count. */
export interface OthersFigures {
  readonly used: number
  readonly held: number
  readonly ahead: number
  readonly running: number
  readonly excused: number
  readonly added: number
}

/** What the store has of this process. */
export interface Told extends Omit<OthersFigures, 'running' | 'excused'> {
  /** When the hold expires there, at the soonest, in µs of the process's clock. */
  readonly until: number
}

/** Time and places that the store has granted ahead of need. */
export interface Grant {
  us: number
  /** Requests that may start from it at once. */
  places: number
  /** It was asked for under this limit, and serves no lower one. */
  limitUs: number
  /** Its lease ends in the store a second later. */
  until: number
}

/** Terms of a policy that its accounts follow. */
export interface AccountTerms {
  readonly windowUs: number
  /** Time used beyond the limit is the next window's first use. */
  readonly carryOver: boolean
  /** Time may be granted ahead of need. */
  readonly grantAhead: boolean
}

const NOTHING: OthersFigures = { used: 0, held: 0, ahead: 0, running: 0, excused: 0, added: 0 }
export const TOLD_NOTHING: Told = { used: 0, held: 0, ahead: 0, added: 0, until: -Infinity }

/**
 * What one process knows of one subject's budget in the window that is open: its own requests, what the store has
 * granted ahead, and what the other processes reported.
 *
 * The window's number is ⌊(time + phase) / length⌋ by the store's time and the subject's own phase, so all processes
 * agree on it without asking each other. Times are microseconds.
 */
export class Account {
  readonly own = new Figures()
  number = 0
  /** The window's start and end, by the store's clock. */
  start = 0
  end = 0
  /** The limit of the latest request; the highest of those that ran in this window; the latest price. */
  limitUs = 0
  highestLimitUs = 0
  unitUs = 0
  others = NOTHING
  /** When what the others have was sent for, in µs of the process's clock. */
  heardAt = -Infinity
  /** Own used and held time when the store's answer came: an outage divides what was left then. */
  ownWhenHeard = 0
  readonly grant: Grant = { us: 0, places: 0, limitUs: 0, until: 0 }
  /** Requests that wait, first come, first served. */
  line: Waiter[] = []
  /** The line is asked about again then. */
  askAt = 0
  /** The subject's overshoot in earlier windows, in hundredths of a limit: so many times fewer places. */
  strain = NO_STRAIN
  /** Overshoot of the last window that counts in this one. */
  carriedUs = 0
  /** When the last window ended, the store had not heard all of this process: it may know less of strain and debt. */
  hasNews = false
  /** Strain and debt were reset here, and the store has not heard so. */
  isCleared = false
  /** Time asked for since the last tick and in the tick before; most requests at once in the two. */
  demandUs = 0
  latelyUs = 0
  wasAsked = false
  peak = 0
  /** What the store has; undefined where that is not known. */
  told: Told | undefined = TOLD_NOTHING
  /** A report is under way. */
  sent: object | undefined
  /** The number of the last report in this window, and of the last that was answered; 0 for none. */
  lastSeq = 0
  stored = 0
  /** A request has ended since the last report. */
  hasEnded = false
  #shownUs = 0
  /** The total as the usage log has it; without a store only. */
  loggedUs = 0
  /** Something was going on at this time, in µs of the process's clock. */
  touched = 0
  /** What the subject's requests took, by route. */
  histories: Histories = undefined
  /** It was put to rest: another account stands for the subject now. */
  isEvicted = false

  /**
   * @param id the subject's name in the store
   * @param phase where the subject's windows begin
   */
  constructor(
    readonly subject: string,
    readonly id: string,
    readonly phase: number,
    readonly terms: AccountTerms,
    public server: Server,
    now: number,
    /** In the window that was open then, by the store's clock. */
    time = server.clock.at(now),
  ) {
    this.#place(time)
    this.touched = now
  }

  #place(time: number): void {
    const { windowUs } = this.terms
    this.number = Math.floor((time + this.phase) / windowUs)
    this.start = this.number * windowUs - this.phase
    this.end = this.start + windowUs
  }

  /** Used time over all processes, as far as is known. */
  used(now: number): number {
    return this.others.used + this.own.used(now)
  }

  /** The same as clients are told it: it does not fall within a window but by a reset. */
  shown(now: number): number {
    return (this.#shownUs = Math.max(this.#shownUs, this.used(now)))
  }

  /** Used time that was measured, without what was carried over: what overshoot is judged by. */
  measured(now: number): number {
    return this.used(now) - this.others.added - this.own.addedUs - this.carriedUs
  }

  /** What is neither used nor held nor granted to anybody. */
  left(limitUs: number, now: number): number {
    const { used, held, ahead } = this.others
    return limitUs - used - held - ahead - this.own.used(now) - this.own.held(now)
  }

  /** Whether one more may run at once: by the part of the limit that is left. One alone always may. */
  hasPlace(limitUs: number, now: number, live = this.own.live + this.others.running): boolean {
    return live === 0 || (live + 1) * limitUs * this.strain <= PLACES * NO_STRAIN * (limitUs - this.used(now))
  }

  get isBusy(): boolean {
    return this.own.live > 0
  }

  /** Nothing runs, waits, is reported or is granted ahead. */
  get isQuiet(): boolean {
    return !this.isBusy && this.line.length === 0 && this.sent === undefined && this.grant.us === 0
  }

  /** Whether the window is open for certain. */
  isOpen(now: number): boolean {
    const { clock } = this.server
    return clock.at(now) + clock.error(now) < this.end
  }

  /** In how many µs the window is over for certain. */
  endsInUs(now: number): number {
    const { clock } = this.server
    return Math.max(0, this.end - clock.at(now)) + clock.error(now)
  }

  /** The store's clock was set back: its window began so much earlier that nobody is to wait for this one. */
  isAhead(time: number): boolean {
    return this.start - time > this.terms.windowUs / 2
  }

  /** Charges time that no request took. */
  add(us: number): void {
    this.own.charge(us)
    this.own.addedUs += us
  }

  /** A request was written off unseen: nobody knows what it took. */
  writeOff(limitUs: number): void {
    this.own.addedUs -= Math.round(limitUs * WRITTEN_OFF)
  }

  /** Takes back all use of the window, the other processes' too. */
  reset(now: number): void {
    const used = this.used(now)
    this.own.addedUs -= this.own.addedUs + this.others.added
    this.own.charge(-used)
    this.carriedUs = this.#shownUs = 0
    this.strain = NO_STRAIN
    this.isCleared = true
    this.hasNews = false
  }

  /** Uses the grant for a request of this price. */
  takeGrant(hold: Hold): void {
    this.grant.us = Math.max(0, this.grant.us - hold.priceUs)
    this.grant.places = Math.max(0, this.grant.places - 1)
  }

  dropGrant(): void {
    this.grant.us = this.grant.places = 0
  }

  /** The window is over: enters the one that is open at the store's `time`. */
  enter(now: number, time: number): void {
    const endedAt = Math.min(now, now - (time - this.end))
    const totals = this.totals(endedAt)
    const isUntold = this.#isUntold(endedAt)
    const ended = this.number
    this.#place(time)
    const missed = Math.max(0, this.number - ended - 1)
    this.strain = strainAfter(totals, missed)
    this.carriedUs = this.terms.carryOver ? debtAfter(totals, missed) : 0
    const isLeft = this.strain > NO_STRAIN || this.carriedUs > 0
    this.hasNews = isLeft && (this.hasNews || isUntold)
    this.own.enter(now - (time - this.start))
    this.others = { ...NOTHING, used: this.carriedUs }
    this.heardAt = -Infinity
    this.dropGrant()
    if (this.told) this.told = { ...this.told, used: 0, held: 0, added: 0 } // the store keeps what runs
    // What is left over is judged by the limit that it came about under.
    if (!isLeft) this.highestLimitUs = 0
    this.lastSeq = this.stored = this.ownWhenHeard = this.#shownUs = this.loggedUs = 0
    for (const hold of this.own.holds) {
      this.highestLimitUs = Math.max(this.highestLimitUs, hold.limitUs)
      if (hold.state === 'running') hold.owner?.windowBegan(hold.from)
    }
  }

  /** What the window has come to, as far as is known. */
  totals(now: number): WindowTotals {
    const { carriedUs, strain, highestLimitUs: limitUs } = this
    return { usedUs: this.used(now), addedUs: this.others.added + this.own.addedUs, carriedUs, strain, limitUs }
  }

  /** Whether the store may lack some of what this process used. */
  #isUntold(now: number): boolean {
    const { told, own } = this
    return told === undefined || told.used !== own.used(now) || told.added !== own.addedUs
  }
}
