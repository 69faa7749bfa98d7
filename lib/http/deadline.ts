import type { Clock } from './clock'

/** A timer that fires later than this was held up by the event loop. */
const LATE_MS = 5
/** The deadline is then moved by this: the question may not have been sent before the loop went on. */
const GRACE_MS = 35
/** A deadline moves this often at most, where the loop is blocked again and again. */
const MOST_GRACES = 20

/**
 * Calls `missed` after the time unless cancelled before. Reads answers first that arrived while the event loop was
 * blocked: a blocked loop is no missing answer.
 *
 * @returns cancels it
 */
export function deadline(clock: Clock, timeoutMs: number, missed: () => void): () => void {
  let cancel: () => void
  const arm = (ms: number, graces: number): void => {
    const dueAt = clock.now() + ms
    cancel = clock.after(ms, () => {
      if (clock.now() - dueAt > LATE_MS && graces > 0) return arm(GRACE_MS, graces - 1)
      cancel = clock.after(0, missed) // timers fire before sockets are read
    })
  }
  arm(timeoutMs, MOST_GRACES)
  return () => cancel()
}

/** There was no answer in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'
}

/**
 * The result of a call, if it comes in time.
 *
 * @param call gets a signal that is aborted after the time, and may ignore it
 * @throws {TimeoutError} `no answer within 5000 ms`; or what the call throws
 */
export function within<Answer>(
  timeoutMs: number,
  clock: Clock,
  call: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const aborter = new AbortController()
  return new Promise((resolve, reject) => {
    const cancel = deadline(clock, timeoutMs, () => {
      const late = new TimeoutError(`no answer within ${timeoutMs} ms`)
      aborter.abort(late)
      reject(late)
    })
    promised(() => call(aborter.signal))
      .finally(cancel)
      .then(resolve, reject)
  })
}

/** The time that a call has in all, whatever it waits for. Each of its waits takes the limit and ends by then. */
export class TimeLimit {
  readonly #until: number

  constructor(
    readonly clock: Clock,
    ms: number,
  ) {
    this.#until = clock.now() + ms
  }

  get leftMs(): number {
    return Math.max(0, this.#until - this.clock.now())
  }

  /** @throws {TimeoutError} where the answer does not come by then, also where the event loop was blocked meanwhile */
  within<Answer>(answer: Promise<Answer>): Promise<Answer> {
    const over = this.pause(Infinity).then(() => Promise.reject(new TimeoutError('no answer in time')))
    return Promise.race([answer, over])
  }

  /** Waits so long, or until then. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.after(Math.min(ms, this.leftMs), resolve))
  }
}

/** Calls a function that returns a promise: what it throws is a rejection. */
export function promised<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return call()
  } catch (err) {
    return Promise.reject(err instanceof Error ? err : new Error(String(err)))
  }
}
