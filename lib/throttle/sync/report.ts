import type { Account } from '../account/account'
import type { Answer, AnswerFigures, Report } from './store'

/** An active account is looked at this often. */
export const TICK_US = 125_000
/** The store counts what is granted ahead for so long after the last report. */
export const LEASE_US = 2_000_000
/** The store counts a hold for so long after it should have ended: two ticks. */
export const GRACE_US = 250_000
/** All processes together may be off by a hundredth of the limit; one of them by this at least. */
const TOLERANCE = 100
const TOLERANCE_LEAST_US = 1_000
/** Where no more may run than this, ends are told at once: other processes need each place. */
const FEW_PLACES = 8
/** Of a subject beyond its limit each process hears once more in this end of the window: all of it makes its strain. */
const LAST_US = 2_000_000
/** A line asks again so soon. */
const ASK_US = 100_000
/** A clock that was learned from an answer within the deadline is off by less. */
const BEHIND_US = 100_000

/** Whether few of the subject's requests may run at once. */
function areFew(account: Account, now: number): boolean {
  return !account.hasPlace(account.limitUs, now, FEW_PLACES)
}

/** How far the store's figures may be off from the truth. */
function toleranceOf({ limitUs, server }: Account): number {
  return Math.max(TOLERANCE_LEAST_US, limitUs / (TOLERANCE * server.living))
}

/**
 * When a report is due. `now`: requests wait for what it frees, here or perhaps in other processes. `tick`: the truth
 * differs from what was told by more than the tolerance, something is ahead, or a hold ends later or sooner than was told.
 */
export function dueAt(account: Account, now: number): 'now' | 'tick' | undefined {
  const { told, own, grant } = account
  if (told === undefined || account.hasNews) return 'tick'
  if (account.hasEnded && (account.line.length > 0 || areFew(account, now))) return 'now'
  const untold = own.used(now) + own.priced(now) - told.used - told.held
  if (Math.abs(untold) > toleranceOf(account) || grant.us > 0 || told.ahead > 0) return 'tick'
  if (own.addedUs !== told.added) return 'tick'
  if ((!account.isBusy || account.hasEnded) && told.until > now + TICK_US) return 'tick'
  if (isBeyond(account, now) && now - account.heardAt > LAST_US && account.endsInUs(now) < LAST_US) return 'tick'
  const endsLater = own.lastEnd > told.until + GRACE_US / 2 && now + LEASE_US / 2 > told.until
  return endsLater ? 'tick' : undefined
}

/** A tick has passed: how much was asked for, and whether that was more than one request now and then. */
export function tick(account: Account): void {
  const { demandUs, unitUs, wasAsked } = account
  account.latelyUs = demandUs > unitUs || (wasAsked && demandUs > 0) ? demandUs : 0
  account.wasAsked = demandUs > 0
  account.demandUs = 0
  account.peak = account.own.live
}

/** Whether a tick is to look at the account again. */
export function isActive(account: Account, now: number): boolean {
  const { isBusy, line, wasAsked, demandUs } = account
  return (
    isBusy || line.length > 0 || wasAsked || demandUs > 0 || isBeyond(account, now) || dueAt(account, now) !== undefined
  )
}

/** Whether the window will leave the subject strain. */
function isBeyond(account: Account, now: number): boolean {
  return account.measured(now) > account.limitUs
}

/** Whether the store has all of it, and grants it nothing ahead. */
export function isReported({ told, own }: Account, now: number): boolean {
  if (told === undefined) return false
  const { used, held, ahead, added } = told
  return used === own.used(now) && held === own.priced(now) && ahead === 0 && added === own.addedUs
}

/** What a report needs to be known by when its answer comes. */
export interface Sent {
  readonly report: Report
  /** In µs of the process's clock. */
  readonly at: number
}

/**
 * The account's next report, and what it asks for: all that waits, under the limit of the first. It gives up what was
 * granted ahead, and asks for that anew: so nothing is used twice where the answer is late, lost, or says less.
 */
export function reportOf(account: Account, seq: number, now: number, wants = true): Sent {
  const { own, line } = account
  const first = line[0]
  account.dropGrant()
  const latest = own.lastEnd
  let lasts = latest === Infinity ? LEASE_US : Math.max(0, latest - now)
  let want = 0
  for (const waiter of line) {
    waiter.priceUs = Math.min(waiter.applicant.price(account), waiter.applicant.limitUs)
    waiter.seq ??= seq
    want += waiter.priceUs
    lasts = Math.max(lasts, waiter.priceUs)
  }
  const wish = wants ? wishOf(account) : 0
  const wishPlaces = wish > 0 ? 2 * Math.max(1, account.peak) : 0
  const report: Report = {
    subject: account.subject,
    id: account.id,
    number: account.number,
    starts: account.start,
    ends: account.end,
    seq,
    stored: account.stored,
    used: own.used(now),
    held: own.priced(now),
    running: own.live,
    excused: own.excused(now),
    added: own.addedUs,
    strain: account.strain,
    carried: account.carriedUs,
    lasts,
    want,
    count: line.length,
    unit: first?.priceUs ?? 0,
    wish,
    wishPlaces,
    limit: first?.applicant.limitUs ?? (account.highestLimitUs || account.limitUs),
    carries: account.terms.carryOver,
    hasNews: account.hasNews,
    clears: account.isCleared,
  }
  const sent = { report, at: now }
  account.sent = sent
  account.lastSeq = seq
  account.hasEnded = false
  account.told = undefined
  return sent
}

/** Time wished for ahead. */
function wishOf(account: Account): number {
  const { unitUs, latelyUs, demandUs } = account
  return Math.floor(Math.max(1.25 * latelyUs, demandUs > unitUs ? 2 * demandUs : 0))
}

/**
 * Takes an answer in. Ignores one that was given up.
 *
 * @returns `serve`: those who wait can be decided, without the store where it did not write. `again`: another report is
 *   needed now
 */
export function takeAnswer(account: Account, sent: Sent, answer: Answer, now: number): 'serve' | 'again' | undefined {
  const { report } = sent
  if (account.sent !== sent) return undefined
  account.sent = undefined
  if (report.number !== account.number) return undefined
  if (answer.status === 'written') {
    hear(account, sent, answer.figures as AnswerFigures, now)
    if (answer.found < report.stored) account.stored = 0 // it was lost there: the next report names the subject again
    return 'serve'
  }
  if (answer.status === 'unreadable' || isBehind(account, answer)) return 'serve'
  return account.line.length > 0 ? 'again' : undefined
}

/** The server's clock was set back, or a promoted replica's clock is behind: the window has not begun there. */
function isBehind({ start }: Account, { status, time }: Answer): boolean {
  return status === 'closed' && time < start - BEHIND_US
}

function hear(account: Account, { report, at }: Sent, figures: AnswerFigures, now: number): void {
  const { grant, own } = account
  const { used, held, aheadOfOthers, running, excused, added, granted, count, ahead, places } = figures
  account.stored = report.seq
  account.hasNews = false
  if (report.clears) account.isCleared = false
  account.others = { used, held, ahead: aheadOfOthers, running, excused, added }
  account.heardAt = at
  if (!account.isCleared) {
    account.strain = figures.strain
    account.carriedUs = figures.carried
  }
  const reported = { used: report.used, ahead, added: report.added }
  account.told = { ...reported, held: report.held + granted, until: at + report.lasts }
  grant.us = ahead + granted
  grant.places = places + count
  grant.limitUs = report.limit
  grant.until = at + LEASE_US / 2
  account.ownWhenHeard = own.used(now) + own.held(now)
  for (const waiter of account.line) waiter.isConsidered ||= waiter.seq !== undefined && waiter.seq <= report.seq
}

/** No answer came: what the store has is not known, and the report may still be done. */
export function giveUp(account: Account): void {
  account.sent = undefined
  account.told = undefined
}

/** Says when those who wait are to be asked about again. Not all processes at once. */
export function askLater(account: Account, now: number): void {
  account.askAt = now + ASK_US * (0.75 + ((account.lastSeq * 0.618) % 0.25))
}
