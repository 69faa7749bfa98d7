import type { Clock } from '../../lib/http/clock'

export function manualClock(date = Date.UTC(2026, 0, 1)): Clock & { advance(ms: number): void } {
  let now = 0
  const timers = new Set<{ at: number; fn: () => void }>()
  return {
    now: () => now,
    date: () => date + now,
    after(ms, fn) {
      const timer = { at: now + ms, fn }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    advance(ms) {
      const until = now + ms
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
        if (!due) break
        timers.delete(due)
        now = Math.max(now, due.at)
        due.fn()
      }
      now = until
    },
  }
}
