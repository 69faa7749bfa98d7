import type { Clock } from '../http/clock'
import { usageError } from '../http/help'

/** A clock that stands still until it is told otherwise. */
export interface ManualClock extends Clock {
  /** Lets time pass, in milliseconds, and fires the timers that fall due on the way, in their order. */
  advance(ms: number): void
  /** Sets the machine's date, in milliseconds since 1970, as an administrator might; `now()` does not move. */
  setDate(ms: number): void
}

/**
 * A clock for tests of what depends on time.
 *
 * @param date where its date begins, in milliseconds since 1970. Default: the machine's
 * @example
 * const clock = manualClock()
 * app.use(requireBearer({ ...dev.options, clock }))
 * clock.advance(3_600_000)
 */
export function manualClock(date = Date.now()): ManualClock {
  let now = 0
  let dateAtZero = date
  const timers = new Set<{ readonly at: number; readonly fn: () => void }>()

  return {
    now: () => now,
    date: () => dateAtZero + now,
    after(ms, fn) {
      const timer = { at: now + Math.max(ms, 0), fn }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    advance(ms) {
      if (!(ms >= 0 && ms < Infinity))
        throw usageError(`advance() takes milliseconds from 0 on; received ${ms}`, RangeError)
      const end = now + ms
      for (let timer = nextBy(end); timer; timer = nextBy(end)) {
        timers.delete(timer)
        now = Math.max(now, timer.at)
        timer.fn()
      }
      now = end
    },
    setDate(ms) {
      dateAtZero = ms - now
    },
  }

  /** The first timer due by then; of two at one time the one set first, as a Set keeps the order. */
  function nextBy(end: number) {
    let next
    for (const timer of timers) if (timer.at <= end && (!next || timer.at < next.at)) next = timer
    return next
  }
}
