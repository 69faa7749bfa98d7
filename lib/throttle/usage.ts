import { nowUs } from '../http/clock'
import type { TimeLimit } from '../http/deadline'
import type { Account } from './budget/account'
import type { Policy } from './options'
import { reset } from './budget/decide'
import type { Accounts } from './store/accounts'

/** What a subject has used of one window. */
export interface Usage {
  /** The window's name. */
  readonly window: string
  /** Null where the limit depends on the request and this process has seen none of the subject's. */
  readonly limitMs: number | null
  /** Used in the window by all processes, as far as is known here. */
  readonly spentMs: number
  /** Never below 0; null where the limit is. */
  readonly leftMs: number | null
  /** Until the window ends, at the latest. */
  readonly endsInMs: number
  /** True while the store does not answer: then the other processes' charges are those last heard. */
  readonly degraded: boolean
}

/** What the subject has used, with what the other processes have charged where the window is shared. */
export async function usageOf(
  { name, limitMs: stated }: Policy,
  accounts: Accounts,
  subject: string,
  time: TimeLimit,
): Promise<Usage> {
  const account = await accounts.refresh(subject, time)
  const now = nowUs(time.clock)
  const spentMs = account.usedUs(now) / 1_000
  const limitMs = typeof stated === 'number' ? stated : account.limitUs > 0 ? account.limitUs / 1_000 : null
  return {
    window: name,
    limitMs,
    spentMs,
    leftMs: limitMs === null ? null : Math.max(0, limitMs - spentMs),
    endsInMs: Math.ceil(account.endsInUs(now)) / 1_000,
    degraded: account.server.isDown,
  }
}

/** How often a reset asks a store that does not answer. */
const ASKS_MS = 100

/** The store does not answer, and what was asked for needs it. */
export class StoreDownError extends Error {
  constructor() {
    super('reset(): the store does not answer, so nothing was reset; try again when it does')
    this.name = 'StoreDownError'
  }
}

/**
 * Resets the subject's usage of one window. A store that missed a deadline has the time to answer again.
 *
 * @throws {StoreDownError} where what the other processes used cannot be known
 */
export async function resetUsage(accounts: Accounts, subject: string, time: TimeLimit): Promise<void> {
  const since = nowUs(time.clock)
  const isUnheard = ({ server, heardAt }: Account) => !server.isMemory && (server.isDown || heardAt < since)
  let account = await accounts.refresh(subject, time)
  while (isUnheard(account)) {
    if (time.leftMs === 0) throw new StoreDownError()
    await time.pause(ASKS_MS)
    account = await accounts.refresh(subject, time)
  }
  await reset(account, nowUs(time.clock), time)
}
