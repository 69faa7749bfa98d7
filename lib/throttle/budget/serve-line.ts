import type { Account } from './account'
import { decideWaiting } from './decide'
import type { Hold, WaitEnd } from './hold'

/** The most requests that wait over all subjects; and the longest line that is never cut, whatever strangers ask. */
const MOST_WAITING = 4_096
const NEVER_CUT = 8

/** Where all lines together are full, the longest one loses its last request. @param lines accounts in which requests wait */
export function makeRoom(lines: Iterable<Account>): void {
  let all = 0
  let longest: Account | undefined
  for (const account of lines) {
    const { length } = account.line
    all += length
    if (length > (longest?.line.length ?? NEVER_CUT)) longest = account
  }
  if (all <= MOST_WAITING || longest === undefined) return
  let [last, before]: [Hold, Hold | undefined] = [longest.line.first as Hold, undefined]
  while (last.behind !== undefined) [last, before] = [last.behind, last]
  longest.leave(last, before, false)
  last.heard?.('queue')
}

/** How long a request that needs the store waits for an answer that comes late; and for the first of a process. */
const LATE_US = 1_000_000
const START_US = 250_000

/** Why this process decides without the store: it is down, it has not answered in time, or it has not written the report. */
export type Alone = 'down' | 'unanswered' | 'unwritten'

/**
 * Decides those who wait, first come, first served, and tells them. To be called when time was freed, granted, or has
 * passed.
 *
 * @param alone undefined where the store's last answer counts
 */
export function serveLine(
  account: Account,
  now: number,
  alone: Alone | undefined = account.server.isDown ? 'down' : undefined,
): void {
  if (account.line.length > 0)
    endSome(account, (hold, before) => {
      const { isConsidered, joinedAt, time } = hold
      const { wait } = hold.window
      const isUnanswered = alone === 'down' || (alone === 'unanswered' && !isConsidered)
      if (isUnanswered && !time.isOver) {
        if (hasTimeForAnswer(account, hold, alone, now)) return 'wait'
        if (wait.needsStore) return 'outage'
      }
      const isLate = !isConsidered && now - joinedAt >= account.server.deadlineUs
      const isAlone = alone === 'unanswered' ? isLate : alone !== undefined
      const end = decideWaiting(account, hold, before, now, isAlone)
      if (end === 'wait' && isAlone) hold.isConsidered = true
      return end
    })
}

/**
 * A request waits shortly for the first answer of a store: a process that starts knows nothing of the others. One that
 * needs the store waits longer, and for answers that come late, too.
 */
function hasTimeForAnswer(
  { server }: Account,
  { joinedAt, window }: Hold,
  alone: 'down' | 'unanswered',
  now: number,
): boolean {
  const { deadlineUs, isStarting } = server
  const { wait } = window
  if (alone === 'unanswered') return wait.needsStore === true && now - joinedAt < Math.max(LATE_US, deadlineUs)
  return isStarting && now - joinedAt < (wait.needsStore ? Math.max(START_US, deadlineUs) : deadlineUs)
}

/** The throttle is closed: nobody waits any longer. */
export function endLine(account: Account): void {
  endSome(account, () => 'closed')
}

/** @param decide says what becomes of a hold; `before` is the number that stay in line before it */
function endSome(account: Account, decide: (hold: Hold, before: number) => WaitEnd | 'wait'): void {
  const ended: [Hold, WaitEnd][] = []
  let last: Hold | undefined
  for (let [hold, before] = [account.line.first, 0]; hold !== undefined;) {
    const next: Hold | undefined = hold.behind
    const end = decide(hold, before)
    if (end === 'wait') {
      last = hold
      before++
    } else {
      account.leave(hold, last, end === 'start')
      ended.push([hold, end])
    }
    hold = next
  }
  for (const [hold, end] of ended) hold.heard?.(end)
}
