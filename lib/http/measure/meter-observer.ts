import type { HeaderFields } from './given-fields'

/**
 * Callbacks for changes of one request's time, after `begin()`. Each is called before the meter changes, and may read the
 * meter. All times are `nowUs()` of the meter's clock.
 *
 * | Order of calls | The request |
 * |---|---|
 * | `paused` `resumed` … `ended` | was answered |
 * | `aborted` `ended` | was destroyed by its app; or lost its client while a file was piped to it; or was ended all the same |
 * | `aborted` `ended` (`late`) | lost its client, and its handler did not end the response for some time: it was written off |
 * | `ended` `aborted` | was over for the meter (an event stream, `settle()`) when its client went |
 */
export interface MeterObserver {
  /** The state of the request's time changes at a time that may have passed: before each of the other calls takes effect. */
  changes(at: number): void
  /** The app waits for its client: for more of the body, or for `drain`. Time stands still, see `countWait()` of the meter. */
  paused(now: number): void
  /** The wait is over. Not called where `countWait()` of the meter has ended the pause before. */
  resumed(now: number): void
  /**
   * Once: the response was ended or destroyed, the client of a piped file has gone, or it takes no more time.
   *
   * @param isWrittenOff the handler did not end the response for as long as `aborted()` said
   */
  ended(now: number, isWrittenOff: boolean): void
  /**
   * Once, before the response was ended: the connection was closed, and the handler may work on. Returns how long the
   * meter waits for the end of the response before it writes the request off, in microseconds from now; `Infinity` where
   * nothing of it runs. Where its app closed the connection, or a file is piped to the response, `ended` follows at once.
   */
  aborted(now: number): number
  /** Once, after a write-off: the handler has ended the response. @param us the time since then, a minute at most, in µs */
  late(us: number, now: number): void
  /** The last moment at which response header fields can be set. */
  headers(res: HeaderFields, now: number): void
}
