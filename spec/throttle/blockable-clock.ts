import type { Clock } from '../../lib'
import { manualClock } from '../../lib/testing'

/** A clock on which time also passes without any timer being told: as while the event loop is blocked. */
export function blockableClock() {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  let blockedUntilMs = 0
  const now = () => Math.max(clock.now(), blockedUntilMs)
  const lateMs = () => now() - clock.now()
  const blockable: Clock = {
    now,
    date: () => clock.date() + lateMs(),
    after: (ms, fn) => clock.after(lateMs() + Math.max(0, ms), fn),
  }
  /** Timers that fell due meanwhile are told first, late as they are. */
  const advance = (ms: number) => clock.advance(lateMs() + ms)
  return { clock: blockable, advance, block: (ms: number) => void (blockedUntilMs = now() + ms) }
}
