import type { DenyOptions } from '../../http/answer/deny'
import type { Clock } from '../../http/clock'
import type { Account } from '../budget/account'
import type { Hold, HoldRules } from '../budget/hold'
import type { RouteTable } from '../budget/price'
import type { HeaderRule } from '../options'
import type { Accounts } from '../store/accounts'
import type { StallSharing } from './stalls'

/** What is the same for all requests of a throttle. */
export interface ThrottleRules extends HoldRules {
  /** A request that does not fit beside running ones is refused, and does not wait. */
  readonly isWaitRefused: boolean
  readonly onOutage: 'local' | 'closed'
  readonly dryRun: boolean
  readonly stalls: StallSharing
  readonly headers: HeaderRule
  readonly deny: DenyOptions
  readonly clock: Clock
}

/** A window of a throttle. */
export interface ThrottleWindow extends ThrottleRules {
  readonly accounts: Accounts
  readonly routes: RouteTable
}

/** What a request asks of a throttle's window, and what its subject's account keeps of it. */
export type RequestHold = Hold<Account, ThrottleWindow>

/** Whether a throttle may refuse a request that another one of the same window has let in. */
export function isStricter(rules: ThrottleRules, than: ThrottleRules): boolean {
  return !rules.dryRun && (than.dryRun || (rules.onOutage === 'closed' && than.onOutage === 'local'))
}

export function isEnforced({ window }: RequestHold): boolean {
  return !window.dryRun
}

export function leftUs(hold: RequestHold, now: number): number {
  return hold.limitUs - hold.account.current(now).usedUs(now)
}

/** The hold in the account with the least time left. @param first leads to all holds of a request */
export function tightest(
  first: RequestHold | undefined,
  now: number,
  counts = (_hold: RequestHold) => true,
): RequestHold | undefined {
  let tightest: RequestHold | undefined
  for (let hold = first; hold !== undefined; hold = hold.next)
    if (counts(hold) && (tightest === undefined || leftUs(hold, now) <= leftUs(tightest, now))) tightest = hold
  return tightest
}

/** Windows in a row that are asked in one command. */
const MOST_NEXT = 4

/** Asks for the windows that requests of this route ask next, in the same command. */
export function askForNext({ account, route }: RequestHold, now: number): void {
  let { next } = route
  for (let n = 1; n < MOST_NEXT && next !== undefined; n++, next = next.route.next)
    next.accounts.expect(account, next, now)
}

/** A request that was let in to one window has been let in to another one of the same server. */
export function learnNext({ account, route }: RequestHold, hold: RequestHold): void {
  const { window, limitUs, concurrency } = hold
  if (account.server.isMemory || account.server !== hold.account.server) return
  if (account.subject !== hold.account.subject) return
  const { next } = route
  if (next?.accounts === window.accounts && next.route === hold.route && next.limitUs === limitUs) return
  route.next = { accounts: window.accounts, route: hold.route, limitUs, concurrency }
}
