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
  const { told, heard, toldUntil, own, grant, hasEnded } = account
  if (!account.isTold) return 'tick'
  if (hasEnded && (account.line.length > 0 || areFew(account, now))) return 'now'
  const sums = own.at(now)
  const untold = sums.usedUs + sums.pricedUs - told.used - told.held - heard.granted
  if (Math.abs(untold) > toleranceOf(account)) return 'tick'
  if ((grant.us > 0 || heard.ahead > 0) && !grant.isStanding) return 'tick'
  if (own.unseenUs !== told.unseen || isHalfExcused(account, sums.excusedUs)) return 'tick'
  if ((own.live.length === 0 || hasEnded) && toldUntil > now + TICK_US) return 'tick'
  const { lastEnd } = sums
  const startedAhead = heard.ahead > 0 && lastEnd < Infinity // its time is reserved as long as the grant lasts
  const until = startedAhead ? Math.max(toldUntil, grant.until) : toldUntil
  const endsLater = lastEnd > until + GRACE_US / 2 && now + PARKED_US / 2 > until
  return endsLater ? 'tick' : undefined
}

/** Whether waits for clients have taken half of what this process may excuse by itself. */
function isHalfExcused(account: Account, excusedUs: number): boolean {
  const { told, clientWaitUs } = account
  const us = excusedUs - told.excused
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
  const { own, line, grant } = account
  return own.live.length > 0 || line.length > 0 || grant.wasAsked || grant.demandUs > 0 || isDue(account, now)
}

export function isDue(account: Account, now: number): boolean {
  return dueAt(account, now) !== undefined
}

/** Whether the store has all of it, and grants it nothing ahead. */
export function isReported({ isTold, told, heard, own }: Account, now: number): boolean {
  const { usedUs, pricedUs } = own.at(now)
  const isSame = told.used === usedUs && told.unseen === own.unseenUs
  return isTold && isSame && told.held + heard.granted === pricedUs && heard.ahead === 0
}
