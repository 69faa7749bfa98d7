import { type Clock, nowUs } from '../http/clock'
import type { Ledger } from './ledger'
import type { Policy } from './policy'

/** What a subject has used of one window. */
export interface Usage {
  /** The window's name. */
  readonly window: string
  /** Null where the limit depends on the request and this process has seen none of the subject's. */
  readonly limitMs: number | null
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
  ledger: Ledger,
  subject: string,
  clock: Clock,
): Promise<Usage> {
  const account = await ledger.refresh(subject)
  const now = nowUs(clock)
  const spentMs = account.used(now) / 1_000
  const limitMs = typeof stated === 'number' ? stated : account.limitUs > 0 ? account.limitUs / 1_000 : null
  return {
    window: name,
    limitMs,
    spentMs,
    leftMs: limitMs === null ? null : Math.max(0, limitMs - spentMs),
    endsInMs: account.endsInUs(now) / 1_000,
    degraded: account.server.isDown,
  }
}
