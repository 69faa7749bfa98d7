import type { Hold } from './hold'
import { OwnUsage } from './own-usage'
import { type Histories, type RoutePrice, learnPrice, priceOf } from './price'
import { type Answer, type AnswerFigures, GRANT_US, PARKED_US, type Report } from './report'
import { NO_STRAIN, type WindowTotals, debtAfter, keptAfter, strainAfter } from './rollover'
import type { Server } from './window-clock'

/** A subject's requests that run at once on a fresh budget, where the policy states no `concurrency`. */
export const PLACES = 32
/** A request that was written off unseen counts as this part of a limit towards strain. */
const WRITTEN_OFF = 1 / 4
/** Time is granted ahead only for prices of at most one part of the limit in so many. */
const LARGE_PART = 20
/** A subject that comes again within the lease is granted its latest price so many times, and one place. */
const STANDING = 2
/** A standing grant is for prices of at most one part of the limit in so many: it keeps time from other processes. */
const STANDING_PART = 100
/** A clock that was learned from an answer within the deadline is off by less. */
const BEHIND_US = 100_000
/** A line asks again so soon. */
const ASK_US = 100_000

/** What the other processes have in the store, as its last answer said. Microseconds, but for the count. */
class OthersUsage {
  used = 0
  held = 0
  ahead = 0
  running = 0
  excused = 0
  unseen = 0
}

/** What the store has of this process. */
class Told {
  isKnown = true
  used = 0
  held = 0
  ahead = 0
  unseen = 0
  excused = 0
  /** When the hold expires there, at the soonest, in µs of the process's clock. */
  until = 0
}

/** Time and places that the store has granted ahead of need. */
class GrantedTime {
  us = 0
  /** Requests that may start from it at once. */
  places = 0
  /** It was asked for under these terms, and serves no lower ones. */
  limitUs = 0
  concurrency = 0
  until = 0
  /** It was granted to a subject that comes now and then: unused, it is left to lapse. */
  isStanding = false
}

/** What a request's policy grants its subject. */
interface Terms {
  readonly limitUs: number
  /** Requests of the subject that run at once, over all processes. */
  readonly concurrency: number
}

/**
 * How many requests of a subject may run at once: its `concurrency`, and fewer where little of the limit is left. The
 * same rule is in sync.lua.
 */
export function placesOf({ limitUs, concurrency }: Terms, usedUs: number, strain: number): number {
  const byLimit = (Math.max(concurrency, PLACES) * (limitUs - usedUs)) / limitUs
  return (Math.min(concurrency, byLimit) * NO_STRAIN) / strain
}

/** What a request asks for. */
type AskTerms = Pick<Hold, 'priceUs' | 'limitUs' | 'concurrency'>

/** Terms of a policy that its accounts follow. */
export interface AccountTerms {
  /** The policy's name; and the name of this process in the policy's records. */
  readonly policy: string
  readonly process: string
  readonly windowUs: number
  /** Time used beyond the limit is the next window's first use. */
  readonly carryOvershoot: boolean
  /** Hears of a subject's total in the window that ends at `ends`, whenever it has changed. Microseconds. */
  readonly total?: (ends: number, beforeUs: number, afterUs: number) => void
}

/**
 * What one process knows of one subject's budget in the window that is open: its own requests, what the store has
 * granted ahead, and what the other processes reported. Nobody else writes its fields: see {@link Account}.
 *
 * The window's number is ⌊(time + phase) / length⌋ by the store's time and the subject's own phase, so all processes
 * agree on it without asking each other. Times are microseconds; `now` is the process's monotonic clock. Each method
 * that takes `now` and changes something enters the window that is open then.
 */
class AccountState {
  readonly own = new OwnUsage()
  number = 0
  /** The window's start and end, by the store's clock. */
  start = 0
  end = 0
  /** The limit of the latest request; the highest of those that ran in this window, or left strain or a debt; the latest price. */
  limitUs = 0
  concurrency = PLACES
  highestLimitUs = 0
  unitUs = 0
  /** Its cap for waits for clients. */
  clientWaitUs = Infinity
  readonly others = new OthersUsage()
  /** When what the others have was sent for, in µs of the process's clock. */
  heardAt = -Infinity
  /** Own used and held time when the store's answer came: an outage divides what was left then. */
  ownWhenHeard = 0
  readonly grant = new GrantedTime()
  /** Requests that wait, first come, first served. */
  firstInLine: Hold | undefined = undefined
  #lastInLine: Hold | undefined = undefined
  waiting = 0
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
  /** A request that another window of the same server decides now, and that will ask here next. */
  #expected: AskTerms | undefined = undefined
  /** When the latest request asked, and whether that was soon after the one before. */
  #askedAt = -Infinity
  #isRegular = false
  readonly told = new Told()
  /** The report that is under way, and when it was sent. */
  sent: Report | undefined
  sentAt = 0
  /** The number of the last report in this window, and of the last that was answered; 0 for none. */
  lastSeq = 0
  stored = 0
  /** A request has ended since the last report. */
  hasEnded = false
  #shownUs = 0
  /** The total as {@link AccountTerms.total} has it. */
  #totalUs = 0
  /** What the subject's requests took, by route. */
  histories: Histories = undefined
  /** The table of subjects has let go of it: another account stands for the subject now. */
  isForgotten = false

  /**
   * @param id the subject's name in the store; empty without one
   * @param phase where the subject's windows begin
   */
  constructor(
    readonly subject: string,
    readonly id: string,
    readonly phase: number,
    readonly terms: AccountTerms,
    public server: Server,
    now: number,
  ) {
    this.#place(server.clock.at(now))
  }

  #place(time: number): void {
    const { windowUs } = this.terms
    this.number = Math.floor((time + this.phase) / windowUs)
    this.start = this.number * windowUs - this.phase
    this.end = this.start + windowUs
  }

  // --- what is known

  /** Used time over all processes. */
  usedUs(now: number): number {
    return this.others.used + this.own.usedUs(now)
  }

  /** The same as clients are told it: within a window only a reset takes any of it back. */
  shownUs(now: number): number {
    return (this.#shownUs = Math.max(this.#shownUs, this.usedUs(now)))
  }

  /** Time of this window's requests, unseen time included: overshoot is judged by it. */
  workUs(now: number): number {
    return this.usedUs(now) + this.others.unseen + this.own.unseenUs - this.carriedUs
  }

  /** What others hold, or were granted ahead, and this process's requests are expected to take still. */
  reservedUs(now: number): number {
    return this.others.held + this.others.ahead + this.own.heldUs(now)
  }

  /** Whether one more may run at once. One alone always may. */
  hasPlace(of: Terms, usedUs: number, live = this.own.live + this.others.running): boolean {
    return live === 0 || live + 1 <= placesOf(of, usedUs, this.strain)
  }

  /**
   * How much of a cap for waits in a window this process may excuse, by what it had told: others may excuse their share of
   * the rest meanwhile.
   */
  excusedMostUs(capUs: number): number {
    const { others, told, server } = this
    return told.excused + Math.max(0, capUs - others.excused - told.excused) / Math.max(1, server.living)
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

  /** What the window has come to, as far as is known. */
  totals(now: number): WindowTotals {
    const { carriedUs, strain, highestLimitUs: limitUs } = this
    return { usedUs: this.usedUs(now), unseenUs: this.others.unseen + this.own.unseenUs, carriedUs, strain, limitUs }
  }

  /** Whether nothing of it matters any more: no request, no report, no strain, no debt. */
  hasNothingLeft(now: number): boolean {
    if (this.own.first !== undefined || this.waiting > 0 || this.sent !== undefined || this.#isRecent(now)) return false
    if (this.own.usedUs(now) === 0 && this.lastSeq === 0 && this.strain === NO_STRAIN && this.carriedUs === 0)
      return true
    const { windowUs, carryOvershoot } = this.terms
    const time = this.server.clock.at(now)
    return time >= this.end && time >= this.end + keptAfter(this.totals(now), this.end, windowUs, carryOvershoot, 0)
  }

  // --- windows

  /** Enters the window that is open, and counts waits for clients beyond their cap: also short ones. */
  enter(now: number): void {
    this.enterWindow(now)
    this.own.boundWaits(now, this)
  }

  /** Enters the window that is open. To be called before the time of a request changes, also at a time that has passed. */
  enterWindow(now: number): void {
    const time = now + this.server.clock.offset
    // Where the store's clock was set back, nobody is to wait for a window that begins much later.
    if (time >= this.end || this.start - time > this.terms.windowUs / 2) this.#roll(now, time)
  }

  #roll(now: number, time: number): void {
    const endedAt = Math.min(now, now - (time - this.end))
    this.noteTotal(endedAt)
    const totals = this.totals(endedAt)
    const isUntold = this.#isUntold(endedAt)
    const ended = this.number
    this.#place(time)
    const missed = Math.max(0, this.number - ended - 1)
    this.strain = strainAfter(totals, missed)
    this.carriedUs = this.terms.carryOvershoot ? debtAfter(totals, missed) : 0
    const isLeft = this.strain > NO_STRAIN || this.carriedUs > 0
    this.hasNews = isLeft && (this.hasNews || isUntold)
    if (!isLeft) this.highestLimitUs = 0
    this.own.enter(now - (time - this.start))
    this.#forgetOthers()
    this.heardAt = -Infinity
    this.dropGrant()
    const { told } = this
    told.used = told.held = told.unseen = told.excused = 0 // the store keeps what runs
    this.lastSeq = this.stored = this.ownWhenHeard = this.#shownUs = this.#totalUs = 0
    for (let hold = this.own.first; hold !== undefined; hold = hold.following) {
      this.highestLimitUs = Math.max(this.highestLimitUs, hold.limitUs)
      if (hold.isRunning) hold.time.excuseWait(Math.max(hold.time.since, now - (time - this.start)))
    }
  }

  #forgetOthers(): void {
    const { others } = this
    others.used = this.carriedUs
    others.held = others.ahead = others.running = others.excused = others.unseen = 0
  }

  /** Whether the store may lack some of what this process used. */
  #isUntold(now: number): boolean {
    const { told, own } = this
    return !told.isKnown || told.used !== own.usedUs(now) || told.unseen !== own.unseenUs
  }

  /** Says the total where somebody counts them. */
  noteTotal(now: number): void {
    const { total } = this.terms
    if (total === undefined || !this.server.isMemory) return // a store's answers say it
    const used = this.usedUs(now)
    if (used !== this.#totalUs) total(this.end, this.#totalUs, used)
    this.#totalUs = used
  }

  /** Another server keeps it now. */
  moveTo(server: Server): void {
    this.server = server
    this.told.isKnown = false
  }

  forget(): void {
    this.isForgotten = true
  }

  // --- requests

  /** A request asks for time. */
  ask(hold: Hold, now: number): void {
    const { limitUs } = hold
    this.#isRegular = this.#isRecent(now)
    this.#askedAt = now
    const priceUs = (hold.priceUs = priceOf(hold.route, this.histories, limitUs))
    hold.waitsUntil = now + hold.window.wait.maxUs
    this.limitUs = limitUs
    this.concurrency = hold.concurrency
    this.unitUs = priceUs
    this.clientWaitUs = hold.clientWaitUs
    if (priceUs * LARGE_PART <= limitUs) this.demandUs += priceUs
  }

  /** A request is about to ask: the next report asks for it. Time ahead is renewed with it, so that windows ask together. */
  expect(terms: AskTerms): void {
    this.#expected = terms
  }

  /** It joins the line: behind all others, but one that was let in before stands behind those alone. */
  join(hold: Hold, now: number): void {
    const { isMemory, isDown, isStarting } = this.server
    hold.joinedAt = now
    hold.askedIn = 0
    hold.isConsidered = isMemory || (isDown && !isStarting && hold.window.wait.needsStore !== true)
    let before = this.#lastInLine
    if (hold.hasBegun) {
      before = undefined
      for (let next = this.firstInLine; next?.hasBegun === true; next = next.behind) before = next
    }
    hold.behind = before === undefined ? this.firstInLine : before.behind
    if (before === undefined) this.firstInLine = hold
    else before.behind = hold
    if (hold.behind === undefined) this.#lastInLine = hold
    this.waiting++
  }

  /** A request leaves the line. @param before who stands before it */
  leave(hold: Hold, before: Hold | undefined, isLetIn: boolean): void {
    if (before === undefined) this.firstInLine = hold.behind
    else before.behind = hold.behind
    if (this.#lastInLine === hold) this.#lastInLine = before
    hold.behind = undefined
    hold.joinedAt = -1
    this.waiting--
    if (isLetIn) this.begin(hold)
    else this.refuse(hold)
  }

  /** This process decides alone about who stays in line. */
  consider(hold: Hold): void {
    hold.isConsidered = true
  }

  /** Lets a request in. Its time stands still until {@link run}. */
  begin(hold: Hold, priceUs = hold.priceUs): void {
    hold.priceUs = priceUs
    hold.number = this.number
    this.own.begin(hold)
    this.highestLimitUs = Math.max(this.highestLimitUs, hold.limitUs)
    this.peak = Math.max(this.peak, this.own.live)
    if (this.server.isMemory) return
    this.grant.us = Math.max(0, this.grant.us - hold.neededUs)
    this.grant.places = Math.max(0, this.grant.places - 1)
  }

  /** The time of a request begins. The account has entered the window. */
  run(hold: Hold, now: number): void {
    this.own.start(hold, now)
  }

  /** A request waits in another account's line: it holds nothing here, and is to ask again for as long as it waits there. */
  setAside(hold: Hold, now: number): void {
    this.#end(hold, now, 'waiting')
    hold.waitsUntil = now + hold.window.wait.maxUs
  }

  /** How much running time of the subject's requests may be left out still in this window, as other requests': one limit. */
  excusableUs(limitUs: number): number {
    return Math.max(0, limitUs - this.own.stalledUs)
  }

  /** So much was left out as other requests'. */
  stalled(us: number): void {
    this.own.stalledUs += us
  }

  /** Running time of a request was left out: what was before the window is not counted here. */
  leftOut(hold: Hold, now: number): void {
    hold.baseUs = Math.min(hold.baseUs, hold.time.countedUs(now))
  }

  /** A request has ended: it pays for what it took. */
  finish(hold: Hold, now: number): void {
    if (hold.state === 'live') this.#end(hold, now, 'ended')
    else hold.state = 'ended'
  }

  #end(hold: Hold, now: number, state: 'ended' | 'waiting'): void {
    this.enter(now)
    this.own.end(hold, now, state)
    this.hasEnded = true
    // A hot subject's requests start from its grant one after the other, at one command a tick.
    if (this.grant.us > 0) this.grant.places++
  }

  /** A request that was not let in. One that was before is to be finished yet. */
  refuse(hold: Hold): void {
    hold.number = this.number
    if (!hold.hasBegun) hold.state = 'ended'
  }

  /** Takes in what a request on the route took. */
  learn(route: RoutePrice, us: number): void {
    this.histories = learnPrice(route, this.subject, this.histories, us)
  }

  // --- charges

  /** Charges a request for time that its stopwatch does not see. It counts as measured time does, also after its end. */
  charge(hold: Hold, us: number, now: number): void {
    this.enter(now)
    if (hold.state !== 'ended') hold.charge(us)
    if (hold.state === 'live') return
    this.limitUs ||= hold.limitUs
    this.highestLimitUs ||= hold.limitUs // or it would not count towards strain
    this.own.charge(us)
  }

  /** Charges time that is only a rehearsal: it raises no price, and counts neither as overshoot nor as a debt. */
  rehearse(us: number, now: number): void {
    this.enter(now)
    this.own.charge(us)
    this.own.unseenUs -= us
  }

  /** A request was written off unseen: nobody knows what it took. */
  writeOff(limitUs: number, now: number): void {
    this.enter(now)
    this.own.unseenUs += Math.round(limitUs * WRITTEN_OFF)
  }

  /** Takes back all use of the window, the other processes' too. */
  reset(now: number): void {
    this.enter(now)
    const used = this.usedUs(now)
    this.own.unseenUs = -this.others.unseen
    this.own.charge(-used)
    this.carriedUs = this.#shownUs = 0
    this.strain = NO_STRAIN
    this.isCleared = true
    this.hasNews = false
  }

  // --- reports

  /**
   * The account's next report: all figures are absolute. It asks for all that waits, under the limit of the first. It
   * gives up what was granted ahead, and asks for that anew: so nothing is used twice where the answer is late, lost, or
   * says less.
   */
  takeReport(seq: number, now: number): Report {
    this.enter(now)
    this.dropGrant()
    const { own, firstInLine: first } = this
    const latest = own.lastEnd(now)
    let lasts = latest === Infinity ? PARKED_US : Math.max(0, latest - now)
    const asks = first ?? this.#expected
    let want = first === undefined ? (asks?.priceUs ?? 0) : 0
    lasts = Math.max(lasts, want)
    this.#expected = undefined
    for (let hold = first; hold !== undefined; hold = hold.behind) {
      if (!hold.hasBegun) hold.priceUs = priceOf(hold.route, this.histories, hold.limitUs)
      if (hold.askedIn === 0) hold.askedIn = seq
      want += hold.neededUs
      lasts = Math.max(lasts, hold.neededUs)
    }
    const hotUs = this.#hotUs()
    const wish = hotUs === 0 ? this.#standingUs(now) : hotUs
    this.grant.isStanding = hotUs === 0 && wish > 0
    const report: Report = {
      account: this,
      ends: this.end,
      seq,
      used: own.usedUs(now),
      held: own.pricedUs(now),
      running: own.live,
      excused: own.excusedUs(now),
      unseen: own.unseenUs,
      strain: this.strain,
      carried: this.carriedUs,
      past: this.isCleared ? 'cleared' : this.hasNews ? 'news' : 'known',
      lasts,
      want,
      count: first === undefined && asks !== undefined ? 1 : this.waiting,
      unit: first?.neededUs ?? asks?.priceUs ?? 0,
      wish,
      wishPlaces: hotUs > 0 ? 2 * Math.max(1, this.peak) : Math.sign(wish),
      limit: asks?.limitUs ?? (this.highestLimitUs || this.limitUs),
      concurrency: asks?.concurrency ?? this.concurrency,
    }
    this.sent = report
    this.sentAt = now
    this.lastSeq = seq
    this.hasEnded = false
    this.told.isKnown = false
    return report
  }

  /** Time wished for ahead where requests follow each other from tick to tick. */
  #hotUs(): number {
    const { unitUs, latelyUs, demandUs } = this
    return Math.floor(Math.max(1.25 * latelyUs, demandUs > unitUs ? 2 * demandUs : 0))
  }

  /** Whether a request asked so lately that another one would make the subject a regular one. */
  #isRecent(now: number): boolean {
    return now - this.#askedAt < GRANT_US
  }

  /** Time wished for ahead where the subject comes again within the lease, and half of its budget and places is free. */
  #standingUs(now: number): number {
    const { unitUs, limitUs, own, others } = this
    if (!this.#isRegular || !this.#isRecent(now) || unitUs * STANDING_PART > limitUs) return 0
    const usedUs = this.usedUs(now)
    const isHalfFree = 2 * (usedUs + others.held + others.ahead) <= limitUs
    return isHalfFree && this.hasPlace(this, usedUs, 2 * (own.live + others.running) + 1) ? STANDING * unitUs : 0
  }

  /**
   * Takes an answer in. Ignores one that was given up.
   *
   * @returns whether those who wait can be decided, without the store where it did not write
   */
  takeAnswer(report: Report, answer: Answer, now: number): boolean {
    if (this.sent !== report) return false
    this.sent = undefined
    this.enter(now)
    if (report.ends !== this.end) return false
    if (answer.status === 'written') {
      this.#hear(report, answer, answer.figures as AnswerFigures, now)
      return true
    }
    // The server's clock was set back, or a promoted replica's is behind: the window has not begun there.
    const isBehind = answer.status === 'closed' && answer.time < this.start - BEHIND_US
    return answer.status === 'unreadable' || isBehind
  }

  #hear(report: Report, { found }: Answer, figures: AnswerFigures, now: number): void {
    const { grant, others, own, sentAt, told } = this
    const { granted, count, ahead, places } = figures
    this.stored = found < this.stored ? 0 : report.seq // it was lost there: the next report names the subject again
    others.used = figures.used
    others.held = figures.held
    others.ahead = figures.aheadOfOthers
    others.running = figures.running
    others.excused = figures.excused
    others.unseen = figures.unseen
    this.heardAt = sentAt
    this.hasNews = false
    if (report.past === 'cleared') this.isCleared = false
    if (!this.isCleared) {
      this.strain = figures.strain
      this.carriedUs = figures.carried
    }
    told.isKnown = true
    told.used = report.used
    told.held = report.held + granted
    told.ahead = ahead
    told.unseen = report.unseen
    told.excused = report.excused
    told.until = sentAt + report.lasts
    grant.us = ahead + granted
    grant.places = places + count
    grant.limitUs = report.limit
    grant.concurrency = report.concurrency
    grant.until = sentAt + GRANT_US
    this.ownWhenHeard = own.usedUs(now) + own.heldUs(now)
    for (let hold = this.firstInLine; hold !== undefined; hold = hold.behind)
      hold.isConsidered ||= hold.askedIn !== 0 && hold.askedIn <= report.seq
  }

  /** No answer came: what the store has is not known, and the report may still be done. */
  giveUp(): void {
    this.sent = undefined
    this.told.isKnown = false
  }

  /** What the store has is to be told again: it may have lost it. */
  tellAgain(): void {
    this.told.isKnown = false
  }

  /** Says when those who wait are to be asked about again. Not all processes at once. */
  askLater(now: number): void {
    this.askAt = now + ASK_US * (0.75 + ((this.lastSeq * 0.618) % 0.25))
  }

  /** A tick has passed: how much was asked for, and whether that was more than one request now and then. */
  tick(): void {
    const { demandUs, unitUs, wasAsked } = this
    this.latelyUs = demandUs > unitUs || (wasAsked && demandUs > 0) ? demandUs : 0
    this.wasAsked = demandUs > 0
    this.demandUs = 0
    this.peak = this.own.live
  }

  /** Nothing is asked for ahead any more. */
  calm(): void {
    this.demandUs = this.latelyUs = 0
    this.wasAsked = this.#isRegular = false
    this.dropGrant()
  }

  /** The process closes: what runs pays so far. */
  close(now: number): void {
    this.enter(now)
    while (this.own.first !== undefined) this.own.end(this.own.first, now)
    this.dropGrant()
  }

  dropGrant(): void {
    this.grant.us = this.grant.places = 0
  }
}

/** A subject's budget in this process, as all but itself see it: they read it and call its methods. */
export type Account = Readonly<AccountState>

/** The constructor of accounts. */
export const Account: new (...given: ConstructorParameters<typeof AccountState>) => Account = AccountState
