import createError from 'http-errors'

/** Header fields of a denial, ready for `res.set()`: `{ 'Retry-After': '7' }`. */
export type DenialHeaders = Readonly<Record<string, string>>

/**
 * Why a request is not let through: a value while it travels inside the package, an error only at the edge
 * (`denialError()`), because most refusals are answered without anybody looking at a stack trace.
 */
export interface Denial {
  readonly status: 400 | 401 | 403 | 429 | 503
  /** Stable, machine-readable: `invalid_request`, `invalid_token`, `insufficient_scope`, `throttled`, `unavailable` … */
  readonly code: string
  /** For people; goes on the wire, so it never holds anything of a token or of the system's inside. */
  readonly message: string
  readonly headers: DenialHeaders
  /** Machine-readable detail for logs and metrics, never sent: `expired`, `unknown_key` … */
  readonly reason?: string
  /** What a 429 was decided by; never sent. */
  readonly figures?: RefusalFigures
  /** What lies behind it, for logs; never sent. */
  readonly cause?: unknown
}

/** The figures that a request was refused by. Milliseconds. */
export interface RefusalFigures {
  /** The window's name. */
  readonly window: string
  readonly limitMs: number
  /** Spent in the window over all processes, as far as was known. */
  readonly spentMs: number
  /** Held by this process for requests that were running. */
  readonly heldMs: number
  /** How old the other processes' figures were; null where there are none, or none were heard yet. */
  readonly othersAgeMs: number | null
}

/** What every error of this package carries beside http-errors' own `status`, `statusCode` and `expose`. */
interface DenialFields {
  readonly code: string
  readonly reason: string | undefined
  readonly headers: DenialHeaders
}

type Constructor = new (message?: string) => createError.HttpError

function denialClass(Base: Constructor, name: string): new (denial: Denial) => createError.HttpError & DenialFields {
  class DenialError extends Base {
    code: string
    reason: string | undefined
    declare headers: Record<string, string>

    constructor(denial: Denial) {
      super(denial.message)
      Object.setPrototypeOf(this, new.target.prototype) // http-errors returns an object of its own
      this.name = name
      this.code = denial.code
      this.reason = denial.reason
      this.headers = { ...denial.headers }
      this.expose = true
      if (denial.cause !== undefined) Object.defineProperty(this, 'cause', { value: denial.cause, configurable: true })
    }
  }
  return DenialError
}

/** 400: the request itself is wrong, such as two tokens in one request (RFC 6750 §3.1). */
export class InvalidRequestError extends denialClass(createError.BadRequest, 'InvalidRequestError') {}
/** 401: no token, or one that is not accepted. `headers` holds the challenge (RFC 6750 §3). */
export class UnauthorizedError extends denialClass(createError.Unauthorized, 'UnauthorizedError') {}
/** 403: the token is good and its scope or kind of session is not enough (RFC 6750 §3.1). */
export class InsufficientScopeError extends denialClass(createError.Forbidden, 'InsufficientScopeError') {}
/**
 * 429: no processing time is left, or none beside running requests. `reason` is `spent`, `reserved`, `concurrency`, `queue` or `outage`;
 * `headers` holds Retry-After in whole seconds (RFC 6585 §4).
 */
export class ThrottledError extends denialClass(createError.TooManyRequests, 'ThrottledError') {
  /** What it was decided by. */
  readonly figures: RefusalFigures | undefined

  constructor(denial: Denial) {
    super(denial)
    this.figures = denial.figures
  }
}
/** 503: a dependency (signing keys, Redis) is unavailable, or the process is overloaded. `headers` holds Retry-After in whole seconds. */
export class UnavailableError extends denialClass(createError.ServiceUnavailable, 'UnavailableError') {}

const classes = {
  400: InvalidRequestError,
  401: UnauthorizedError,
  403: InsufficientScopeError,
  429: ThrottledError,
  503: UnavailableError,
} as const

/** The errors that reach `onDenied`. */
export type DenialError =
  InvalidRequestError | UnauthorizedError | InsufficientScopeError | ThrottledError | UnavailableError

/** The http-errors error of a denial, for those who want to handle it themselves. */
export function denialError(denial: Denial): DenialError {
  return new classes[denial.status](denial)
}
