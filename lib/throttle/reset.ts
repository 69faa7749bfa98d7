import type { Clock } from '../http/clock'
import type { Ledger } from './ledger'

/** How long a reset waits for a store that does not answer, and how often it asks: no request waits for it. */
const WAITS_MS = 2_000
const ASKS_MS = 100

/** The store does not answer, and what was asked for needs it. */
export class StoreDownError extends Error {
  constructor() {
    super('reset(): the store does not answer, so nothing was reset; try again when it does')
    this.name = 'StoreDownError'
  }
}

/**
 * Resets the subject's usage of one window. A store that missed a deadline has two seconds to answer again.
 *
 * @throws {StoreDownError} where what the other processes used cannot be known
 */
export async function resetUsage(ledger: Ledger, subject: string, clock: Clock): Promise<void> {
  const until = clock.now() + WAITS_MS
  let account = await ledger.refresh(subject)
  while (account.server.isDown) {
    if (clock.now() >= until) throw new StoreDownError()
    await new Promise<void>((resolve) => clock.after(ASKS_MS, resolve))
    account = await ledger.refresh(subject)
  }
  await ledger.reset(account)
}
