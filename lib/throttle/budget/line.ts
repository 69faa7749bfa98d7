import type { Account } from './account'
import { decideWaiting } from './decide'
import type { Hold, WaitEnd, WaitRule } from './hold'

/** Requests that may wait over all subjects; each subject may take a share of the places left. */
const MOST_WAITING = 4_096
const WAITING_SHARE = 16

/** How many requests of one subject may wait now. @param lines accounts in which requests wait */
export function mostWaiting({ perSubject }: WaitRule, lines: Iterable<Account>): number {
  let waiting = 0
  for (const { line } of lines) waiting += line.length
  return Math.min(perSubject, Math.ceil(Math.max(1, MOST_WAITING - waiting) / WAITING_SHARE))
}

/**
 * Decides those who wait, first come, first served, and tells them. To be called when time was freed, granted, or has
 * passed.
 *
 * @param isAlone this process decides without the store
 */
export function serveLine(account: Account, now: number, isAlone = account.server.isDown): void {
  if (account.line.length === 0) return
  const ends: [Hold, WaitEnd][] = []
  const left: Hold[] = []
  for (const hold of account.line) {
    const end = decideWaiting(account, hold, left.length, now, isAlone)
    if (end === 'wait') left.push(hold)
    else {
      if (end === 'start') account.begin(hold)
      else account.refuse(hold)
      ends.push([hold, end])
    }
  }
  account.keepInLine(left, isAlone)
  for (const [hold, end] of ends) hold.owner.decided(hold, end)
}
