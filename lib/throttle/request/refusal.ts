import { type Denial, type RefusalFigures, denialError } from '../../errors'
import type { Account } from '../budget/account'
import type { Hold, RefusalReason } from '../budget/hold'

/** Retry-After while the store does not answer and `onOutage` is `closed`; and while the process closes. */
export const OUTAGE_RETRY_SEC = 5
export const CLOSED_RETRY_SEC = 1
/** Retry-After of an overloaded process: 1, 2 or 3 s, so that not all come back at once. */
const OVERLOAD_RETRY_SEC = 3
/** Minimum Retry-After when the time is held by running requests. */
const ROOM_LEAST_US = 1_000_000

/** The message of a 429, for people, by the reason of the refusal and the window's name. */
const TEXTS: Readonly<Record<RefusalReason, (window: string) => string>> = {
  // The service's own body carries this one, so it stays as it is.
  spent: (window) => `No processing time is left in the window "${window}" for this request`,
  reserved: (window) =>
    `Running requests have reserved what is left in the window "${window}". Try again when they have ended`,
  concurrency: (window) => `Too many requests run at once in the window "${window}". Send fewer at the same time`,
  queue: (window) =>
    `Too many requests wait already for processing time in the window "${window}". Send fewer at the same time`,
  outage: (window) =>
    `Less processing time than usual can be granted in the window "${window}", and it is used up. Try again later`,
  overload: () => 'Service Unavailable',
}

/** Why and by what figures a request is refused by one policy. */
export interface Refusal {
  readonly reason: RefusalReason
  readonly figures: RefusalFigures
  /** After this a repeated request may be let in, in µs. */
  readonly retryAfterUs: number
}

/** @param window the policy's name */
export function refusalOf(hold: Hold<Account>, reason: RefusalReason, window: string, now: number): Refusal {
  const { account, limitUs } = hold
  const { own, heard, heardAt } = account
  const endsInUs = account.endsInUs(now)
  const { usedUs, heldUs, soonestEnd } = own.at(now)
  const heldEndsUs = soonestEnd - now
  const roomUs = Math.max(ROOM_LEAST_US, Number.isFinite(heldEndsUs) ? heldEndsUs : 0)
  const figures = {
    window,
    limitMs: limitUs / 1_000,
    spentMs: (heard.used + usedUs) / 1_000,
    heldMs: (heldUs + heard.held) / 1_000,
    othersAgeMs: heardAt === -Infinity ? null : (now - heardAt) / 1_000,
  }
  if (reason === 'overload') return { reason, figures, retryAfterUs: OVERLOAD_RETRY_SEC * Math.random() * 1_000_000 }
  return { reason, figures, retryAfterUs: reason === 'spent' ? endsInUs : Math.min(endsInUs, roomUs) }
}

/** The answer to a refused request. It names nothing but the window. */
export function tooMany({ reason, figures }: Refusal, retryAfterSec: number): Denial {
  const headers = { 'Retry-After': String(retryAfterSec) }
  if (reason === 'overload') return { ...unavailable(retryAfterSec), reason, figures }
  return { status: 429, code: 'throttled', message: TEXTS[reason](figures.window), headers, reason, figures }
}

/** The answer while the store does not answer, or while the process closes. */
export function unavailable(retryAfterSec: number): Extract<Denial, { status: 503 }> {
  const headers = { 'Retry-After': String(retryAfterSec) }
  return { status: 503, code: 'unavailable', message: 'Service Unavailable', headers, reason: 'outage' }
}

/** Why a running request is asked to stop. */
export function spentError(hold: Hold<Account>, window: string, now: number): Error {
  const refusal = refusalOf(hold, 'spent', window, now)
  return denialError(tooMany(refusal, wholeSeconds(refusal.retryAfterUs)))
}

/** Whole seconds to wait, at least one, rounded up: a client that waits exactly this long is let in. */
export function wholeSeconds(us: number): number {
  return Math.max(1, Math.ceil(us / 1_000_000))
}
