import type { Clock } from '../../lib'
import { manualClock } from '../../lib/testing'

/** A clock on which time passes without any timer being told: as while the event loop is blocked. */
export function blockableClock() {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  let blockedMs = 0
  const blockable: Clock = {
    now: () => clock.now() + blockedMs,
    date: () => clock.date() + blockedMs,
    after: (ms, fn) => clock.after(ms, fn),
  }
  return { clock: blockable, advance: (ms: number) => clock.advance(ms), block: (ms: number) => void (blockedMs += ms) }
}
