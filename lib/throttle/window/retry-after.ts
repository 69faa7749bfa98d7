import type { RefusalReason } from './decision'
import type { SubjectWindow } from './subject-window'

/** Want of room is not worth asking again about before this. */
const ROOM_LEAST_US = 1_000_000

/**
 * After how many microseconds a refused request is worth repeating, at the latest: a spent limit comes back with the next
 * window, and room beside running requests when the first of their holds ends.
 */
export function retryAfterUs(s: SubjectWindow, reason: RefusalReason, now: number): number {
  const endsInUs = s.endsInUs(now)
  if (reason === 'spent') return endsInUs
  return Math.min(endsInUs, Math.max(ROOM_LEAST_US, s.own.soonestHoldEndsInUs(now) ?? 0))
}

/** Whole seconds to wait, at least one, rounded up: a client that waits exactly this long is let in. */
export function wholeSeconds(us: number): number {
  return Math.max(1, Math.ceil(us / 1_000_000))
}
