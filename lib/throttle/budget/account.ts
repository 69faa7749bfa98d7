import { Watch } from '../../http/clock'
import type { TimeLimit } from '../../http/deadline'
import { GrantedTime } from './granted-time'
import { type AskTerms, type Hold, OwnUsage } from './hold'
import {
  PLACES,
  Past,
  type Terms,
  type WindowTotals,
  isUnlimited,
  keptAfter,
  placesOf,
  unseenOf,
  writtenOffAfterUs,
} from './past'
import { type Histories, type RoutePrice, learnPrice, priceOf, takesUs } from './price'
import {
  type Answer,
  type AnswerFigures,
  NOTHING_HEARD,
  NOTHING_TOLD,
  PARKED_US,
  type Report,
  type Told,
} from './report'
import type { WindowClock } from './window-clock'

/** A clock that was learned from an answer within the deadline is off by less. */
const BEHIND_US = 100_000

/** Longest time until a line asks again. */
const ASK_US = 100_000

/** Terms of a policy that its accounts follow. */
export interface AccountTerms {
  /** The policy's name; and the name of this process in the policy's records. */
  readonly policy: string
  readonly process: string
  readonly windowUs: number
  /** Time used beyond the limit is the next window's first use. */
  readonly carryOvershoot: boolean
  /** Called with a subject's new total in the window that ends at `ends`. Microseconds. */
  readonly total?: (ends: number, beforeUs: number, afterUs: number) => void
  /** The table of subjects: the account of one, in the window that is open. */
  readonly of: (subject: string, now: number) => Account
  readonly lines: Lines
}

/** Accounts of a policy in which requests wait, and how many requests these are. */
export class Lines extends Watch<Account> {
  waiting = 0
}

/** The server that keeps an account, as this process knows it. Times are µs of the process's clock. */
export interface Server {
  readonly clock: WindowClock
  /** Undefined stands for the only one. */
  readonly name: string | undefined
  /** This process's memory stands for a server: it grants all that is left, and never goes down. */
  readonly isMemory: boolean
  /** It does not answer: this process decides within its share. Since when. */
  readonly isDown: boolean
  readonly downSince: number
  /** It counts as down because the process has just started and has no answer yet. */
  readonly isStarting: boolean
  /** The longest wait of a request for its answer. */
  readonly deadlineUs: number
  /** Number of live processes by the server's last answer, at least 1. */
  readonly living: number
  /** The account has changed, so the next tick checks it. */
  activate(account: Account): void
  /** Whether the next tick checks the account again, or a caller waits for its figures. */
  isActive(account: Account): boolean
  /** Reports the account in this turn of the event loop. */
  ask(account: Account): void
  /** A request has ended: reports at once if somebody waits for that. */
  ended(account: Account, now: number): void
  /**
   * Brings the other processes' newest figures, if it answers within the deadline.
   *
   * @param time it resolves by then, whatever the server does. Default 2 s
   * @param isLast the process closes
   */
  refresh(account: Account, time?: TimeLimit, isLast?: boolean): Promise<void>
}

/** The memory of this process in place of a server. */
export function memoryServer(clock: WindowClock): Server {
  const figures = { isMemory: true, isDown: false, downSince: 0, isStarting: false, deadlineUs: 0, living: 1 }
  const nothing = () => undefined
  const methods = { activate: nothing, isActive: () => false, ask: nothing, ended: nothing }
  return { clock, name: undefined, refresh: () => Promise.resolve(), ...figures, ...methods }
}

/**
 * What one process knows of one subject's budget in the window that is open: its own requests, what the store has
 * granted ahead, and what the other processes reported. Nobody else writes its fields: see {@link Account}.
 *
 * The window's number is ⌊(time + phase) / length⌋ by the store's time and the subject's own phase, so all processes agree
 * on it without asking each other. Times are microseconds; `now` is the process's monotonic clock. Each method that takes
 * `now` and changes a figure of the window enters the open window first.
 */
class AccountState {
  number = 0
  /** The window's start and end, by the store's clock. */
  start = 0
  end = 0
  readonly own = new OwnUsage()
  /** Requests that wait, first come, first served; they are asked about again at `askAt`. */
  readonly line: Hold[] = []
  askAt = 0
  readonly grant = new GrantedTime()
  readonly past = new Past()
  /** The limit, the places and the cap for waits for clients of the latest request. */
  limitUs = 0
  concurrency = PLACES
  clientWaitUs = Infinity
  /** What the store has of this process: the last report that was answered. */
  told: Told = NOTHING_TOLD
  /** The store has that, and nothing later. */
  isTold = true
  /** Earliest time at which the store ends the hold of {@link told}, in µs of the process's clock. */
  toldUntil = 0
  /** The store's last answer: what the other processes have, and what it granted. */
  heard = NOTHING_HEARD
  /** When that was asked for, in µs of the process's clock. */
  heardAt = -Infinity
  /** Used and held time of this process when that answer came. In an outage, shares divide what was left then. */
  ownWhenHeard = 0
  /** A request that another window of the same server decides now, and that will ask here next. */
  #expected: AskTerms | undefined = undefined
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
   * @param block the block of networks that its first request came from: see blockOf()
   * @param id the subject's name in the store; empty without one
   * @param phase where the subject's windows begin
   */
  constructor(
    readonly subject: string,
    readonly block: string,
    readonly id: string,
    readonly phase: number,
    readonly terms: AccountTerms,
    public server: Server,
    now: number,
  ) {
    this.#placeAt(server.clock.at(now))
  }

  // --- what is known

  /** Used time over all processes. */
  usedUs(now: number): number {
    return this.heard.used + this.own.at(now).usedUs
  }

  /** Used time as clients see it: within a window only a reset lowers it. */
  shownUs(now: number): number {
    return (this.#shownUs = Math.max(this.#shownUs, this.usedUs(now)))
  }

  /** What requests that were written off count towards strain, over all processes. */
  get unseenUs(): number {
    return this.heard.unseen + this.own.unseenUs
  }

  /** Time of this window's requests, unseen time included: overshoot is judged by it. */
  workUs(now: number): number {
    return this.usedUs(now) + this.unseenUs - this.past.carriedUs
  }

  /** Whether one more may run at once. One alone always may. */
  hasPlace(of: Terms, usedUs: number, live = this.own.live.length + this.heard.running): boolean {
    return live === 0 || live + 1 <= placesOf(of, usedUs, this.unseenUs, this.past.strain)
  }

  /**
   * Excused time that this process has reported, plus its equal share of what was left of the cap then. The other
   * processes may excuse their shares meanwhile.
   */
  excusedMostUs(capUs: number): number {
    const { heard, told, server } = this
    return told.excused + Math.max(0, capUs - heard.excused - told.excused) / Math.max(1, server.living)
  }

  /** Known total of the window. */
  totals(now: number): WindowTotals {
    const { carriedUs, strain, highestLimitUs: limitUs } = this.past
    return { usedUs: this.usedUs(now), unseenUs: this.unseenUs, carriedUs, strain, limitUs }
  }

  /** Whether the account can be dropped: no request, no report, no strain, no debt. */
  hasNothingLeft(now: number): boolean {
    if (this.own.live.length > 0 || this.line.length > 0 || this.sent !== undefined || this.grant.isRecent(now))
      return false
    const isUnused = this.own.at(now).usedUs === 0 && this.own.unseenUs === 0
    if (isUnused && this.lastSeq === 0 && this.past.isNone) return true
    const { windowUs, carryOvershoot } = this.terms
    const time = this.server.clock.at(now)
    return time >= this.end && time >= this.end + keptAfter(this.totals(now), this.end, windowUs, carryOvershoot, 0)
  }

  /** Whether the store has all of it, and grants it nothing ahead. */
  isReported(now: number): boolean {
    const { told, heard, own } = this
    const { usedUs, pricedUs } = own.at(now)
    const isSame = told.used === usedUs && told.unseen === own.unseenUs
    return this.isTold && isSame && told.held + heard.granted === pricedUs && heard.ahead === 0
  }

  // --- windows

  /** Enters the window that is open at this time of the store. Returns how many windows were passed over. */
  #placeAt(time: number): number {
    const { windowUs } = this.terms
    const ended = this.number
    this.number = Math.floor((time + this.phase) / windowUs)
    this.start = this.number * windowUs - this.phase
    this.end = this.start + windowUs
    return Math.max(0, this.number - ended - 1)
  }

  /** Whether the window is open for certain. */
  isOpen(now: number): boolean {
    const { clock } = this.server
    return clock.at(now) + clock.error(now) < this.end
  }

  /** Time until the window has certainly ended, in µs. */
  endsInUs(now: number): number {
    const { clock } = this.server
    return Math.max(0, this.end - clock.at(now)) + clock.error(now)
  }

  /** Enters the window that is open, and counts waits for clients beyond their cap: also short ones. */
  enter(now: number): void {
    this.enterWindow(now)
    if (this.own.live.length > 0) this.own.boundWaits(now, this)
  }

  /** Enters the open window. Call it before a stopwatch changes its state, also if the change is dated in the past. */
  enterWindow(now: number): void {
    const time = now + this.server.clock.offset
    // Where the store's clock was set back, nobody is to wait for a window that begins much later.
    if (time >= this.end || this.start - time > this.terms.windowUs / 2) this.#roll(now, time)
  }

  #roll(now: number, time: number): void {
    const endedAt = Math.min(now, now - (time - this.end))
    this.noteTotal(endedAt)
    const totals = this.totals(endedAt)
    const { told, own } = this
    const isUntold = !this.isTold || told.used !== own.at(endedAt).usedUs || told.unseen !== own.unseenUs
    const missed = this.#placeAt(time)
    this.past.roll(totals, missed, this.terms.carryOvershoot, isUntold)
    this.own.enter(now - (time - this.start))
    this.heard = { ...NOTHING_HEARD, used: this.past.carriedUs }
    this.heardAt = -Infinity
    this.grant.drop()
    this.told = NOTHING_TOLD // the store keeps what runs
    this.lastSeq = this.stored = this.ownWhenHeard = this.#shownUs = this.#totalUs = 0
    for (const hold of own.live) {
      this.#ranUnder(hold)
      if (hold.isRunning) hold.time.excuseWait(Math.max(hold.time.since, now - (time - this.start)))
    }
  }

  /** Reports the total to the advisor. */
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
    this.isTold = false
  }

  forget(): void {
    this.isForgotten = true
  }

  /** The subject's account in the window that is open: another one where the table of subjects has let go of this. */
  current(now: number): Account {
    if (this.isForgotten) return this.terms.of(this.subject, now)
    this.enter(now)
    return this
  }

  // --- requests

  /** A request asks for time. */
  ask(hold: Hold, now: number): void {
    const { limitUs, window } = hold
    hold.priceUs = priceOf(hold.route, this.histories, limitUs)
    hold.waitsUntil = now + window.wait.maxUs
    this.limitUs = limitUs
    this.concurrency = hold.concurrency
    this.clientWaitUs = hold.clientWaitUs
    this.grant.asked(hold.priceUs, limitUs, now)
  }

  /** A request is about to ask: the next report asks for it. Time ahead is renewed with it, so that windows ask together. */
  expect(terms: AskTerms): void {
    this.#expected = terms
  }

  /** It joins the line. */
  join(hold: Hold, now: number): void {
    const { isMemory, isDown, isStarting } = this.server
    hold.isConsidered = isMemory || (isDown && !isStarting && hold.window.wait.needsStore !== true)
    hold.joinedAt = now
    this.line.push(hold)
    this.terms.lines.waiting++
  }

  /** A request leaves the line. */
  leave(at: number, isLetIn: boolean): void {
    const [hold] = this.line.splice(at, 1) as [Hold]
    this.terms.lines.waiting--
    if (isLetIn) this.begin(hold)
    else this.refuse(hold)
  }

  /** Sets the time of the next question about waiting requests, spread so that not all processes ask at once. */
  askLater(now: number): void {
    this.askAt = now + ASK_US * (0.75 + ((this.lastSeq * 0.618) % 0.25))
  }

  /** Lets a request in. Its time stands still until {@link run}. */
  begin(hold: Hold, priceUs = hold.priceUs): void {
    hold.priceUs = priceUs
    this.own.begin(hold)
    this.#ranUnder(hold)
    if (!this.server.isMemory) this.grant.started(hold.priceUs, this.own.live.length)
  }

  /** A request runs in this window: overshoot is judged by the highest limit. */
  #ranUnder({ limitUs }: Hold): void {
    if (!isUnlimited(limitUs, this.terms.windowUs)) this.past.ranUnder(limitUs)
  }

  /** The time of a request begins. The account has entered the window. */
  run(hold: Hold, now: number): void {
    this.own.start(hold, now)
  }

  /** A request has ended: it pays for what it took. */
  finish(hold: Hold, now: number): void {
    if (hold.state !== 'live') return void (hold.state = 'ended')
    this.enter(now)
    this.own.end(hold, now)
    this.hasEnded = true
    this.grant.ended()
  }

  /** Refuses a request. */
  refuse(hold: Hold): void {
    hold.state = 'ended'
  }

  /** Takes in what a request on the route took. */
  learn(route: RoutePrice, us: number): void {
    this.histories = learnPrice(route, this.block, this.histories, us)
  }

  // --- charges

  /** Charges a request for time that its stopwatch does not see. It counts as measured time does, also after its end. */
  charge(hold: Hold, us: number, now: number): void {
    this.enter(now)
    if (hold.state !== 'ended') hold.charge(us)
    if (hold.state === 'live') return
    this.limitUs ||= hold.limitUs
    if (this.past.highestLimitUs === 0) this.#ranUnder(hold) // or it would not count towards strain
    this.own.charge(us)
  }

  /** Charges time that is only a rehearsal: it raises no price, and counts neither as overshoot nor as a debt. */
  rehearse(us: number, now: number): void {
    this.enter(now)
    this.own.charge(us)
    this.own.unseenUs -= us
  }

  /** When a request whose client has gone is written off, in µs from now. */
  writesOffInUs(hold: Hold, now: number): number {
    const { limitUs, route } = hold
    this.enter(now)
    const knownUs = takesUs(route, this.histories, limitUs)
    const afterUs = writtenOffAfterUs(limitUs, knownUs, this.past.strain, this.unseenUs, this.workUs(now))
    return afterUs - hold.takenUs(now)
  }

  /** A request was written off unseen: nobody knows what it took. */
  writeOff(limitUs: number, now: number): void {
    this.enter(now)
    this.own.unseenUs += unseenOf(limitUs)
  }

  /** Takes back all use of the window, the other processes' too. */
  reset(now: number): void {
    this.enter(now)
    const used = this.usedUs(now)
    this.own.unseenUs = -this.heard.unseen
    this.own.charge(-used)
    this.#shownUs = 0
    this.past.reset()
  }

  // --- reports

  /**
   * The account's next report. It asks for all waiting requests, under the limit of the first. It gives up the time
   * that was granted ahead, so no time is used twice if the answer is late, lost, or grants less.
   */
  takeReport(seq: number, now: number): Report {
    this.enter(now)
    this.grant.drop()
    const { own, line, past, limitUs, terms } = this
    const [first] = line
    const sums = own.at(now)
    let runsForUs = sums.lastEnd === Infinity ? PARKED_US : Math.max(0, sums.lastEnd - now)
    const asks = first ?? this.#expected
    let neededUs = first === undefined ? (asks?.priceUs ?? 0) : 0
    runsForUs = Math.max(runsForUs, neededUs)
    this.#expected = undefined
    for (const hold of line) {
      hold.priceUs = priceOf(hold.route, this.histories, hold.limitUs)
      if (hold.askedIn === 0) hold.askedIn = seq
      neededUs += hold.priceUs
      runsForUs = Math.max(runsForUs, hold.priceUs)
    }
    const ahead = this.grant.askAhead(this.limitUs, now, () => this.#isHalfFree(now))
    const report: Report = {
      account: this,
      ends: this.end,
      seq,
      used: sums.usedUs,
      held: sums.pricedUs,
      running: own.live.length,
      excused: sums.excusedUs,
      unseen: own.unseenUs,
      strain: past.strain,
      carried: past.carriedUs,
      past: past.status,
      runsForUs,
      neededUs,
      count: first === undefined && asks !== undefined ? 1 : line.length,
      firstNeededUs: asks?.priceUs ?? 0,
      askedAheadUs: ahead.us,
      askedAheadPlaces: ahead.places,
      limit: asks?.limitUs ?? (past.highestLimitUs || (isUnlimited(limitUs, terms.windowUs) ? 0 : limitUs)),
      concurrency: asks?.concurrency ?? this.concurrency,
    }
    this.sent = report
    this.sentAt = now
    this.lastSeq = seq
    this.hasEnded = false
    this.isTold = false
    return report
  }

  /** Whether half of the budget and of the places is free. */
  #isHalfFree(now: number): boolean {
    const { limitUs, own, heard } = this
    const usedUs = this.usedUs(now)
    const isHalfFree = 2 * (usedUs + heard.held + heard.aheadOfOthers) <= limitUs
    return isHalfFree && this.hasPlace(this, usedUs, 2 * (own.live.length + heard.running) + 1)
  }

  /**
   * Takes an answer in. Ignores one that was given up.
   *
   * @returns whether the waiting requests can be decided now; if the store did not write, this process decides alone
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
    const { own, sentAt } = this
    this.stored = found < this.stored ? 0 : report.seq // it was lost there: the next report names the subject again
    this.told = report
    this.isTold = true
    this.toldUntil = sentAt + report.runsForUs
    this.heard = figures
    this.heardAt = sentAt
    this.past.hear(report, figures)
    this.grant.granted(report, figures, sentAt)
    const { usedUs, heldUs } = own.at(now)
    this.ownWhenHeard = usedUs + heldUs
    for (const hold of this.line) hold.isConsidered ||= hold.askedIn !== 0 && hold.askedIn <= report.seq
  }

  /** No answer came: the report may still be done. */
  giveUp(): void {
    this.sent = undefined
    this.tellAgain()
  }

  /** Notes that the store's figures of this process are unknown. The next report tells them again. */
  tellAgain(): void {
    this.isTold = false
  }
}

/** A subject's budget in this process, as all but itself see it: they read it and call its methods. */
export type Account = Readonly<AccountState>

/** The constructor of accounts. */
export const Account: new (...given: ConstructorParameters<typeof AccountState>) => Account = AccountState
