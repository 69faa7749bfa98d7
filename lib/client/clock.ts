/** Where time comes from. Replaced in tests only; `manualClock()` of `express-tollgate/testing` is one. */
export interface ClientClock {
  /** Milliseconds with fractions, from any starting point, never going back. */
  now(): number
  /** Milliseconds since 1970. */
  date(): number
  /** Calls `fn` once, after `ms` milliseconds. Returns what cancels it. */
  after(ms: number, fn: () => void): () => void
}

export const systemClock: ClientClock = {
  now: () => performance.now(),
  date: () => Date.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.min(ms, 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
}
