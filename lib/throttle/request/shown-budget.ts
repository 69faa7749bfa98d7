import type { IncomingMessage } from 'node:http'
import { inspect } from 'node:util'
import type { Request } from 'express'
import { type Clock, nowUs } from '../../http/clock'
import { usageError } from '../../http/help'
import { type RequestHold, leftUs, tightest } from './window'

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

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the only way in for Express's own types
  namespace Express {
    interface Request {
      /**
       * What the request's subject has used and has left, also where the request is refused. Set by `throttle()`;
       * undefined where the request is not throttled, or not decided yet. `budgetOf(req)` is the same, and throws where
       * there is none.
       */
      throttle?: RequestBudget
    }
  }
}

/**
 * The budget of a request's subject, for handlers behind `throttle()`: `{ leftMs, spentMs, endsInMs, charge(ms) … }`.
 *
 * @example app.get('/tree', (req, res) => res.json({ leftMs: budgetOf(req).leftMs }))
 * @throws {TypeError} where no `throttle()` ran before, or where it does not throttle this request (`subject` returned
 *   null, or `routes` has false); read `req.throttle` there
 */
export function budgetOf(req: IncomingMessage): RequestBudget {
  const budget = (req as Partial<Request> | undefined)?.throttle
  if (budget !== undefined) return budget
  throw usageError(
    'budgetOf(req) found no budget in the request: mount throttle() before this handler. Where it exempts the request, ' +
      'read req.throttle, which may be undefined',
  )
}

/** The request that it shows. */
interface ShownRequest {
  readonly time: { readonly clock: Clock; settle(): void }
  readonly firstHold: RequestHold | undefined
  readonly signal: AbortSignal
  charge(ms: number): unknown
}

/** A {@link RequestBudget} that reads the request, for as long as the app likes. */
export class ShownBudget implements RequestBudget {
  readonly #request: ShownRequest

  constructor(request: ShownRequest) {
    this.#request = request
  }

  get #now(): number {
    return nowUs(this.#request.time.clock)
  }

  /** The hold in the account with the least time left: it is shown once the request has one. */
  #least(now = this.#now): RequestHold {
    return tightest(this.#request.firstHold, now) as RequestHold
  }

  get subject(): string {
    return this.#least().subject
  }

  get window(): string {
    return this.#least().window.accounts.name
  }

  get limitMs(): number {
    return this.#least().limitUs / 1_000
  }

  get spentMs(): number {
    const now = this.#now
    return this.#least(now).account.current(now).usedUs(now) / 1_000
  }

  get leftMs(): number {
    const now = this.#now
    return Math.max(0, leftUs(this.#least(now), now)) / 1_000
  }

  get endsInMs(): number {
    const now = this.#now
    return Math.ceil(this.#least(now).account.current(now).endsInUs(now)) / 1_000
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }

  charge(ms: number): void {
    void this.#request.charge(ms)
  }

  settle(): void {
    this.#request.time.settle()
  }

  toJSON(): ReturnType<RequestBudget['toJSON']> {
    const { subject, window, limitMs, spentMs, leftMs, endsInMs } = this
    return { subject, window, limitMs, spentMs, leftMs, endsInMs }
  }

  [inspect.custom](): ReturnType<RequestBudget['toJSON']> {
    return this.toJSON()
  }
}
