/** `req.throttle`: what the subject of this request has used and has left, in the window with the least time left. */
export interface RequestBudget {
  /** Who pays, such as `user:25:https://ident.example.org:ada`; what `usage()` and `reset()` take. */
  readonly subject: string
  /** The window's name. */
  readonly window: string
  /** The limit of this request in this window. */
  readonly limitMs: number
  /** Processing time used in this window over all processes, as far as is known here, this request's included. */
  readonly spentMs: number
  /** What is left, never below 0. */
  readonly leftMs: number
  /** Until the window ends, at the latest. */
  readonly endsInMs: number
  /**
   * Charges time that the meter does not see, such as another service's, to every window of this request, at once.
   *
   * @param ms 0 to 86,400,000, fractions allowed
   * @throws {RangeError} for anything else, and charges nothing
   */
  charge(ms: number): void
  /**
   * Ends the measuring now, as `res.end()` would: for an endless response. What follows is charged with `charge()`.
   */
  settle(): void
  /** The figures, for `JSON.stringify()` and loggers: `{ subject, window, limitMs, spentMs, leftMs, endsInMs }`. */
  toJSON(): Pick<RequestBudget, 'subject' | 'window' | 'limitMs' | 'spentMs' | 'leftMs' | 'endsInMs'>
  /**
   * Aborted when the client goes away before the response was ended, and, with a `ThrottledError` as its reason, when the
   * subject has used two limits. Pass it to `fetch`, database drivers and streams.
   */
  readonly signal: AbortSignal
}
