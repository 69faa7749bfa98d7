import { until } from '../support/until'
import type { Work } from './log'
import type { Total } from './shared-total'

/** What is missing after this is lost: a machine that does other work may take 10 s to tell all. */
const WAIT_MS = 60_000
/** A request's charge begins a little before its throttle says that it is let in. */
const PER_REQUEST_MS = 1

export interface Balance {
  readonly requests: number
  readonly workedMs: number
  readonly chargedMs: number
  /** Over all users: what was worked and is not charged, and what is charged beyond the most, and a millisecond a request. */
  readonly lostMs: number
  readonly doubledMs: number
}

/** Holds what the servers charged to what the handlers' log says, once it has come to rest. */
export async function balance(work: ReadonlyMap<string, Work>, total: Total): Promise<Balance> {
  const sum = { requests: 0, workedMs: 0, chargedMs: 0, lostMs: 0, doubledMs: 0 }
  for (const [user, worked] of work) {
    await until(async () => isRight(worked, await total(user)), true, { ms: WAIT_MS }).catch(() => undefined)
    const charged = await total(user)
    sum.requests += worked.requests
    sum.workedMs += worked.ms
    sum.chargedMs += charged
    sum.lostMs += Math.max(0, worked.ms - charged)
    sum.doubledMs += Math.max(0, charged - worked.mostMs - worked.requests * PER_REQUEST_MS)
  }
  return sum
}

export function isRight({ ms, mostMs, requests }: Work, charged: number): boolean {
  return charged >= ms && charged <= mostMs + requests * PER_REQUEST_MS
}
