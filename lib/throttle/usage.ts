import { type Clock, nowUs } from '../http/clock'
import type { SharedWindow } from './sync/shared-window'
import type { WindowPolicy } from './window-policy'

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
  { name, limitMs: stated }: WindowPolicy,
  window: SharedWindow,
  subject: string,
  clock: Clock,
): Promise<Usage> {
  const s = await window.refresh(subject)
  const spentMs = window.usedUs(s, nowUs(clock)) / 1_000
  const limitMs = typeof stated === 'number' ? stated : s.limit > 0 ? s.limit / 1_000 : null
  return {
    window: name,
    limitMs,
    spentMs,
    leftMs: limitMs === null ? null : Math.max(0, limitMs - spentMs),
    endsInMs: window.endsInUs(s) / 1_000,
    degraded: window.isDegraded(s),
  }
}
