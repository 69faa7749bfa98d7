import type { Account } from '../budget/account'
import { GRACE_US, PARKED_US, TICK_US } from '../budget/report'

/** All processes together may be off by a hundredth of the limit; one of them by this at least. */
const TOLERANCE = 100
const TOLERANCE_LEAST_US = 1_000
/** Where no more may run than this, ends are told at once: other processes need each place. */
const FEW_PLACES = 8

/**
 * When a report is due. `now`: requests wait for what it frees, here or perhaps in other processes. `tick`: the truth
 * differs from what was told by more than the tolerance, a hot subject has something ahead, or a hold ends later or sooner
 * than was told.
 */
export function dueAt(account: Account, now: number): 'now' | 'tick' | undefined {
  const { told, own, grant, hasEnded } = account
  if (!told.isKnown) return 'tick'
  if (hasEnded && (account.waiting > 0 || areFew(account, now))) return 'now'
  const untold = own.usedUs(now) + own.pricedUs(now) - told.used - told.held
  if (Math.abs(untold) > toleranceOf(account)) return 'tick'
  if ((grant.us > 0 || told.ahead > 0) && !grant.isStanding) return 'tick'
  if (own.unseenUs !== told.unseen || isHalfExcused(account, now)) return 'tick'
  if ((own.live === 0 || hasEnded) && told.until > now + TICK_US) return 'tick'
  const lastEnd = own.lastEnd(now)
  const startedAhead = told.ahead > 0 && lastEnd < Infinity // its time is reserved as long as the grant lasts
  const until = startedAhead ? Math.max(told.until, grant.until) : told.until
  const endsLater = lastEnd > until + GRACE_US / 2 && now + PARKED_US / 2 > until
  return endsLater ? 'tick' : undefined
}

/** Whether waits for clients have taken half of what this process may excuse by itself. */
function isHalfExcused(account: Account, now: number): boolean {
  const { own, told, clientWaitUs } = account
  const us = own.excusedUs(now) - told.excused
  return us > 0 && 2 * us > account.excusedMostUs(clientWaitUs) - told.excused
}

/** Whether few of the subject's requests may run at once. */
function areFew(account: Account, now: number): boolean {
  return !account.hasPlace(account, account.usedUs(now), FEW_PLACES)
}

/** How far the store's figures may be off from the truth. */
function toleranceOf({ limitUs, server }: Account): number {
  return Math.max(TOLERANCE_LEAST_US, limitUs / (TOLERANCE * server.living))
}

/** Whether a tick is to look at the account again. */
export function isActive(account: Account, now: number): boolean {
  const { own, waiting, wasAsked, demandUs } = account
  return own.live > 0 || waiting > 0 || wasAsked || demandUs > 0 || isDue(account, now)
}

export function isDue(account: Account, now: number): boolean {
  return dueAt(account, now) !== undefined
}

/** Whether the store has all of it, and grants it nothing ahead. */
export function isReported({ told, own }: Account, now: number): boolean {
  const { isKnown, used, held, ahead, unseen } = told
  return isKnown && used === own.usedUs(now) && held === own.pricedUs(now) && ahead === 0 && unseen === own.unseenUs
}
