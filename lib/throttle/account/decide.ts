import type { Account } from './account'
import { Hold } from './hold'

/** `spent`: used time exceeds the limit. `hold`: no room for as long as it may wait. `places`: the line is full. */
export type RefusalReason = 'spent' | 'hold' | 'places' | 'outage'

/** How a request waits for room beside its subject's running requests. */
export interface WaitRule {
  readonly maxUs: number
  /** Requests of one subject that wait in this process. */
  readonly perSubject: number
}

/** A request that asks for time. */
export interface Applicant {
  readonly limitUs: number
  readonly wait: WaitRule
  /** What it is expected to take, in µs. */
  price(of: Account): number
  /** Nobody waits for its response any more. */
  readonly isGone: boolean
  /** Told once, where it had to wait. A hold that it is given is parked. */
  decided(decision: Decision): void
}

/** A request that waits for the store, or for room. */
export interface Waiter {
  readonly applicant: Applicant
  priceUs: number
  /** It is refused then at the latest, in µs of the process's clock. */
  readonly until: number
  /** The first report that asked for it; undefined before. */
  seq: number | undefined
  /** An answer of the store knew of it, so it waits for room. */
  isConsidered: boolean
}

/** A refusal, with what it was decided by. */
export interface Refusal {
  readonly account: Account
  readonly reason: RefusalReason
  readonly limitUs: number
  readonly usedUs: number
  readonly heldUs: number
  /** How old the other processes' figures were; null where none were heard. */
  readonly othersAgeUs: number | null
  /** After this a repeated request may be let in, in µs. */
  readonly retryAfterUs: number
}

/** `gone`: nobody waits for the response, so the request does not begin. */
export type Decision =
  { readonly hold: Hold } | { readonly refusal: Refusal } | { readonly gone: true; readonly account: Account }

/** A decision, or a waiter: whether the store is to be asked about it now. */
export type Verdict = Decision | { readonly waiter: Waiter; readonly asks: boolean }

/** A waiter whose turn has come. */
export interface Served {
  readonly waiter: Waiter
  readonly decision: Decision
}

/** A user refused from memory is asked about at least this often. */
const UNHEARD_US = 2_000_000
/** Requests that may wait over all subjects; each subject may take a share of the places left. */
const MOST_WAITING = 4_096
const WAITING_SHARE = 16
/** Nothing is granted ahead for prices above this part of the limit. */
const LARGE_PART = 20
/** During an outage longer than this one request runs, though the share is used up. */
const LONG_OUTAGE_US = 1_000_000
/** Minimum Retry-After when the time is held by running requests. */
const ROOM_LEAST_US = 1_000_000

/**
 * Decides from memory, or lets the request wait. In this order: used time over the limit refuses; a full line refuses;
 * a line is joined; a request that fits starts; any other waits.
 *
 * @param lines accounts in which requests wait
 */
export function decide(account: Account, applicant: Applicant, lines: Iterable<Account>, now: number): Verdict {
  const { server, line } = account
  const { limitUs, wait } = applicant
  const priceUs = Math.min(applicant.price(account), limitUs)
  account.limitUs = limitUs
  account.unitUs = priceUs
  account.touched = now
  if (priceUs * LARGE_PART <= limitUs) account.demandUs += priceUs

  const isHeard = server.isMemory || server.isDown || now - account.heardAt < UNHEARD_US
  if (account.used(now) > limitUs && isHeard && account.isOpen(now)) return refuse(account, 'spent', limitUs, now)
  const isFull = line.length > 0 && wait.perSubject > 0 && line[mostWaiting(wait, lines) - 1]?.isConsidered
  if (isFull) return refuse(account, 'places', limitUs, now)
  const isDecided = server.isMemory || server.isDown
  if (line.length === 0) {
    if (fits(account, priceUs, limitUs, now)) return { hold: begin(account, priceUs, limitUs) }
    if (isDecided && wait.maxUs === 0) return refuse(account, server.isDown ? 'outage' : 'hold', limitUs, now)
  }
  if (applicant.isGone) return { gone: true, account }
  const waiter = { applicant, priceUs, until: now + wait.maxUs, seq: undefined, isConsidered: isDecided }
  line.push(waiter)
  return { waiter, asks: !isDecided && !(line[0] as Waiter).isConsidered }
}

/** How many requests of one subject may wait now. */
function mostWaiting({ perSubject }: WaitRule, lines: Iterable<Account>): number {
  let waiting = 0
  for (const { line } of lines) waiting += line.length
  return Math.min(perSubject, Math.ceil(Math.max(1, MOST_WAITING - waiting) / WAITING_SHARE))
}

/**
 * Decides those who wait, first come, first served. To be called when time was freed, granted, or has passed.
 *
 * @param isAlone this process decides without the store
 */
export function serve(account: Account, now: number, isAlone = account.server.isDown): Served[] {
  const { line } = account
  const served: Served[] = []
  const left: Waiter[] = []
  const isOpen = account.isOpen(now)
  for (const waiter of line) {
    const { applicant, priceUs } = waiter
    const { limitUs, wait } = applicant
    const done = (decision: Decision) => served.push({ waiter, decision })
    if (applicant.isGone) done({ gone: true, account })
    else if (account.used(now) > limitUs && isOpen) done(refuse(account, 'spent', limitUs, now))
    else if (left.length === 0 && fits(account, priceUs, limitUs, now, isAlone))
      done({ hold: begin(account, priceUs, limitUs) })
    else if (!waiter.isConsidered && !isAlone) left.push(waiter)
    else if (now >= waiter.until) done(refuse(account, isAlone ? 'outage' : 'hold', limitUs, now))
    else if (left.length >= wait.perSubject) done(refuse(account, isAlone ? 'outage' : 'places', limitUs, now))
    else {
      waiter.isConsidered ||= isAlone
      left.push(waiter)
    }
  }
  account.line = left
  return served
}

/** Whether a request may start now, by what this process knows or was granted. */
function fits(
  account: Account,
  priceUs: number,
  limitUs: number,
  now: number,
  isAlone = account.server.isDown,
): boolean {
  const { server, grant, own } = account
  if (server.isMemory) {
    if (!account.hasPlace(limitUs, now)) return false
    return priceUs <= account.left(limitUs, now) || (own.live === 0 && account.used(now) <= limitUs)
  }
  if (isAlone) return fitsShare(account, priceUs, limitUs, now) || isLoneInOutage(account, now)
  const isGranted = priceUs <= grant.us && grant.places > 0 && limitUs >= grant.limitUs && now < grant.until
  return isGranted && account.hasPlace(limitUs, now)
}

/** Without the store: this process's share of what was left when the others were last heard, and of the places. */
function fitsShare(account: Account, priceUs: number, limitUs: number, now: number): boolean {
  const { others, own, server, ownWhenHeard } = account
  const usedUs = own.used(now)
  const leftThen = limitUs - others.used - others.held - ownWhenHeard
  const shareUs = leftThen > 0 ? leftThen / server.living : leftThen
  const leftUs = shareUs - (usedUs + own.held(now) - ownWhenHeard)
  return priceUs <= leftUs && account.hasPlace(limitUs, now, own.live * server.living)
}

function isLoneInOutage(account: Account, now: number): boolean {
  return !account.isBusy && now - account.server.downSince > LONG_OUTAGE_US
}

/** Takes a request in. Its time stands still until its handlers start. */
export function begin(account: Account, priceUs: number, limitUs: number): Hold {
  const hold = new Hold(account, priceUs, limitUs, account.number)
  account.own.begin(hold)
  account.highestLimitUs = Math.max(account.highestLimitUs, limitUs)
  account.peak = Math.max(account.peak, account.own.live)
  if (!account.server.isMemory) account.takeGrant(hold)
  return hold
}

function refuse(account: Account, reason: RefusalReason, limitUs: number, now: number): { refusal: Refusal } {
  const { heardAt, others, own } = account
  const endsInUs = account.endsInUs(now)
  const heldEndsUs = own.soonestEnd(now) - now
  const roomUs = Math.max(ROOM_LEAST_US, Number.isFinite(heldEndsUs) ? heldEndsUs : 0)
  return {
    refusal: {
      account,
      reason,
      limitUs,
      usedUs: account.used(now),
      heldUs: own.held(now) + others.held,
      othersAgeUs: heardAt === -Infinity ? null : now - heardAt,
      retryAfterUs: reason === 'spent' ? endsInUs : Math.min(endsInUs, roomUs),
    },
  }
}
