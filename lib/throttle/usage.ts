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
  /** True while the store does not answer: these are this process's own figures and the others' last known. */
  readonly degraded: boolean
}

/** Asks the other processes where the window is shared. */
export async function usageOf(
  terms: WindowPolicy,
  window: SharedWindow,
  subject: string,
  clock: Clock,
): Promise<Usage> {
  const s = await window.refresh(subject)
  const spentMs = window.usedUs(s, nowUs(clock)) / 1_000
  const limitMs = typeof terms.limitMs === 'number' ? terms.limitMs : s.limit > 0 ? s.limit / 1_000 : null
  return {
    window: terms.name,
    limitMs,
    spentMs,
    leftMs: limitMs === null ? null : Math.max(0, limitMs - spentMs),
    endsInMs: window.endsInUs(s) / 1_000,
    degraded: window.degraded(s),
  }
}
