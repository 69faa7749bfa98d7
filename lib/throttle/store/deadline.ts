import type { Clock } from '../../http/clock'

/** A timer that fires later than this was held up by the event loop. */
const LATE_MS = 5
/** What was due meanwhile is looked at again so much later: it may not have been sent before the process went on. */
const GRACE_MS = 35
/** A loop that is blocked again and again proves nothing either, but not for ever. */
const LOOKS = 20

/**
 * Calls `missed` unless cancelled in time. An answer that arrived while the event loop was blocked is read first, so a
 * blocked loop is no outage.
 *
 * @returns cancels it
 */
export function deadline(clock: Clock, inMs: number, missed: () => void): () => void {
  let cancel: () => void
  const arm = (ms: number, looks: number): void => {
    const dueAt = clock.now() + ms
    cancel = clock.after(ms, () => {
      if (clock.now() - dueAt > LATE_MS && looks > 0) return arm(GRACE_MS, looks - 1)
      cancel = clock.after(0, missed) // timers come before what the network brought
    })
  }
  arm(inMs, LOOKS)
  return () => cancel()
}

/** Calls a method of a server: what it throws is a rejection. */
export function callStore<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call()
  } catch (err) {
    return Promise.reject(err instanceof Error ? err : new Error(String(err)))
  }
}
