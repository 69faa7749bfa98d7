import type { Account } from './account'
import type { Hold, RefusalReason } from './hold'
import { PLACES } from './places'

/** `start`: at once. `ask`: the store decides. `wait`: for room. Else it is refused. */
export type Decision = 'start' | 'ask' | 'wait' | RefusalReason

/** A user refused from memory is asked about at least this often. */
const UNHEARD_US = 2_000_000
/** During an outage longer than this a request runs alone whose price is beyond what is left of the share. */
const LONG_OUTAGE_US = 1_000_000

/**
 * Decides about a request that comes. In this order: a limit of 0 refuses, and one without a limit passes; used time
 * over the limit refuses; an overloaded process refuses; a full line refuses; a line is joined; a request that fits
 * starts; any other asks the store, or waits.
 */
export function decide(account: Account, hold: Hold, now: number): Decision {
  const { server, line } = account
  const { limitUs } = hold
  if (limitUs === 0) return 'spent'
  if (limitUs >= PLACES * account.terms.windowUs) return 'start' // nobody could use it up: it was stated as Infinity
  if (server.isDown && server.isStarting) return 'wait'
  if (server.isDown && hold.window.wait.needsStore) return 'outage'
  const usedUs = account.usedUs(now)
  const isDecided = server.isMemory || server.isDown
  const isHeard = isDecided || now - account.heardAt < UNHEARD_US
  if (usedUs > limitUs && isHeard && account.isOpen(now)) return 'spent'
  if (hold.window.load?.refuses(hold.time, account.subject, hold.priceUs)) return 'overload'
  if (line.length > 0) {
    const { perSubject } = hold.window.wait
    if (perSubject > 0 && isConsidered(account, perSubject)) return 'queue'
    return isDecided || isConsidered(account, 1) ? 'wait' : 'ask'
  }
  if (fits(account, hold, usedUs, now, server.isDown)) return 'start'
  if (!isDecided) return 'ask'
  if (server.isDown && isShareUsedUp(account, limitUs, now)) return 'outage'
  return now < hold.waitsUntil ? 'wait' : noRoom(account, hold, usedUs, server.isDown)
}

/** Whether the store, or this process, has considered the first `count` requests that wait. */
function isConsidered(account: Account, count: number): boolean {
  let hold = account.line.first
  for (let n = 1; n < count && hold !== undefined; n++) hold = hold.behind
  return hold?.isConsidered === true
}

/**
 * Decides about a request that waits, when time was freed, granted, or has passed.
 *
 * @param before how many wait before it still
 * @param isAlone this process decides without the store
 */
export function decideWaiting(
  account: Account,
  hold: Hold,
  before: number,
  now: number,
  isAlone: boolean,
): 'start' | 'wait' | 'gone' | RefusalReason {
  const { limitUs } = hold
  const { wait } = hold.window
  const { server } = account
  const usedUs = account.usedUs(now)
  if (hold.time.isOver) return 'gone'
  if (usedUs > limitUs && account.isOpen(now)) return 'spent'
  if (hold === account.line.first && fits(account, hold, usedUs, now, isAlone)) return 'start'
  if (!hold.isConsidered && !isAlone) return 'wait'
  if (server.isDown && isShareUsedUp(account, limitUs, now)) return 'outage'
  if (now >= hold.waitsUntil) return noRoom(account, hold, usedUs, isAlone)
  return before < wait.perSubject ? 'wait' : isAlone ? 'outage' : 'queue'
}

/**
 * Why the store would have refused a request of a dry run, which runs meanwhile, by its newest figures. Undefined where it
 * would not have, or where the request might have waited for room.
 *
 * @param mayWait requests that do not fit wait
 */
export function decideAfterwards(
  account: Account,
  hold: Hold,
  mayWait: boolean,
  now: number,
): RefusalReason | undefined {
  const { limitUs } = hold
  const { own, heard } = account
  const usedUs = account.usedUs(now)
  if (usedUs - hold.takenUs(now) > limitUs) return 'spent'
  const beside = own.live + heard.running - 1
  if (mayWait || beside <= 0) return undefined
  if (!account.hasPlace(hold, usedUs, beside)) return 'concurrency'
  return usedUs + account.reservedUs(now) > limitUs ? 'reserved' : undefined
}

function noRoom(account: Account, hold: Hold, usedUs: number, isAlone: boolean): RefusalReason {
  if (isAlone) return 'outage'
  return account.hasPlace(hold, usedUs) ? 'reserved' : 'concurrency'
}

/** Whether a request may start now, by what this process knows or was granted. */
function fits(account: Account, hold: Hold, usedUs: number, now: number, isAlone: boolean): boolean {
  const { server, grant, own } = account
  const { priceUs, limitUs, concurrency } = hold
  if (server.isMemory) {
    if (!account.hasPlace(hold, usedUs)) return false
    return priceUs <= limitUs - usedUs - account.reservedUs(now) || (own.live === 0 && usedUs <= limitUs)
  }
  if (isAlone) return fitsShare(account, hold, usedUs, now)
  const isGranted = priceUs <= grant.us && grant.places > 0 && now < grant.until
  const isServed = limitUs >= grant.limitUs && concurrency >= grant.concurrency
  return isGranted && isServed && (own.live === 0 || account.hasPlace(hold, usedUs))
}

/**
 * Without the store a process uses no more than its share. A request whose price is beyond what is left of it runs alone, in
 * an outage that is no short one.
 */
function fitsShare(account: Account, hold: Hold, usedUs: number, now: number): boolean {
  const { own, server } = account
  const leftUs = shareLeftUs(account, hold.limitUs, now)
  if (hold.priceUs <= leftUs) return account.hasPlace(hold, usedUs, own.live * server.living)
  return leftUs > 0 && own.live === 0 && server.isDown && now - server.downSince > LONG_OUTAGE_US
}

/** What is left of this process's share of what was left when the others were last heard. */
function shareLeftUs({ heard, own, server, ownWhenHeard }: Account, limitUs: number, now: number): number {
  const leftThen = limitUs - heard.used - heard.held - ownWhenHeard
  const shareUs = leftThen > 0 ? leftThen / server.living : leftThen
  return shareUs - (own.usedUs(now) + own.heldUs(now) - ownWhenHeard)
}

/** Nothing is left, and no running request will give some back. */
function isShareUsedUp(account: Account, limitUs: number, now: number): boolean {
  return account.own.live === 0 && shareLeftUs(account, limitUs, now) <= 0
}
