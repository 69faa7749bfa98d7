import type { Account } from './account'
import { decideWaiting } from './decide'
import type { Hold, WaitEnd, WaitRule } from './hold'

/** Requests that may wait over all subjects; each subject may take a share of the places left. */
const MOST_WAITING = 4_096
const WAITING_SHARE = 16

/** How many requests of one subject may wait now. @param lines accounts in which requests wait */
export function mostWaiting({ perSubject }: WaitRule, lines: Iterable<Account>): number {
  let all = 0
  for (const { waiting } of lines) all += waiting
  return Math.min(perSubject, Math.ceil(Math.max(1, MOST_WAITING - all) / WAITING_SHARE))
}

/**
 * Decides those who wait, first come, first served, and tells them. To be called when time was freed, granted, or has
 * passed.
 *
 * @param isAlone this process decides without the store
 */
export function serveLine(account: Account, now: number, isAlone = account.server.isDown): void {
  if (account.waiting > 0)
    endSome(account, isAlone, (hold, before) => decideWaiting(account, hold, before, now, isAlone))
}

/** The throttle is closed: nobody waits any longer. */
export function endLine(account: Account): void {
  endSome(account, false, () => 'closed')
}

/** @param decide says what becomes of a hold, before which so many stay in line */
function endSome(account: Account, isAlone: boolean, decide: (hold: Hold, before: number) => WaitEnd | 'wait'): void {
  const ended: Hold[] = []
  let last: Hold | undefined
  for (let [hold, before] = [account.firstInLine, 0]; hold !== undefined;) {
    const next: Hold | undefined = hold.behind
    const end = decide(hold, before)
    if (end === 'wait') {
      if (isAlone) account.consider(hold)
      last = hold
      before++
    } else {
      account.leave(hold, last, end)
      ended.push(hold)
    }
    hold = next
  }
  for (const hold of ended) hold.owner.decided(hold, hold.waitEnd as WaitEnd)
}
