import { blockableClock } from './blockable-clock'

/** A clock that gives the event loop a turn after each timer, since a request that has waited begins by a promise. */
export function steppedClock() {
  const { clock, advance, block } = blockableClock()
  const due = new Set<{ readonly atMs: number }>()
  const after = (ms: number, fn: () => void) => {
    const timer = { atMs: clock.now() + Math.max(0, ms) }
    const cancel = clock.after(ms, () => (due.delete(timer), fn()))
    due.add(timer)
    return () => (due.delete(timer), cancel())
  }
  const passUntil = async (endMs: number) => {
    while (clock.now() < endMs) {
      const nextMs = Math.min(endMs, ...[...due].map(({ atMs }) => atMs))
      advance(Math.max(0, nextMs - clock.now()))
      await turn()
    }
  }
  return { ...clock, advance, block, after, passUntil }
}

export function turn(): Promise<void> {
  return new Promise(setImmediate)
}
