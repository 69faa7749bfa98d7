import createError from 'http-errors'

/** Reasons of a 400: the request is wrong. */
type RequestReason = 'malformed_credentials' | 'several_tokens'

/** Reasons of a 401: there is no token, or it is not accepted. */
type TokenReason =
  | 'no_token'
  | 'malformed_token'
  | 'critical_header'
  | 'token_type'
  | 'id_token'
  | 'algorithm'
  | 'unknown_key'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'expiry'
  | 'not_yet_valid'
  | 'issued_at'
  | 'too_old'
  | 'subject'
  | 'client'
  | 'token_id'
  | 'sender_constrained'
  | 'required_claim'
  | 'claim_check'
  | 'session_kind'
  | 'authentication'
  | 'inactive'
  | 'revoked'
  | 'dpop_required'
  | 'dpop_proof'
  | 'dpop_nonce'
  | 'dpop_binding'
  | 'dpop_replay'

/** Reasons of a 403: the token is valid, and is not enough. */
type ScopeReason = 'scope' | 'unauthenticated_session'

/** Reasons of a 429. */
export type ThrottleReason = 'spent' | 'reserved' | 'concurrency' | 'queue' | 'outage'

/** Reasons of a 503 of `requireBearer()`: what it needs is unavailable. */
type DependencyReason =
  | 'keys_unavailable'
  | 'introspection_unavailable'
  | 'verify_unavailable'
  | 'tenants_unavailable'
  | 'revocation_unavailable'
  | 'dpop_unavailable'

/**
 * Reason of a refusal, for logs and metrics; never sent to the client. Stable, so programs may compare it.
 *
 * - no token (401, bare challenge): `no_token`
 * - the request is wrong (400): `malformed_credentials`, `several_tokens`
 * - the token is not accepted (401 `invalid_token`): all others
 * - the token is valid, and its login is too weak or too old (401 `insufficient_user_authentication`): `authentication`
 * - the token is valid and lacks a scope or a user (403): `scope`, `unauthenticated_session`
 * - a dependency is unavailable (503): `keys_unavailable`, `introspection_unavailable`,
 *   `verify_unavailable`, `tenants_unavailable`, `revocation_unavailable`, `dpop_unavailable`
 */
export type Reason = RequestReason | TokenReason | ScopeReason | DependencyReason

/** Error codes of a 401: RFC 6750 §3.1, RFC 9470 §3, RFC 9449 §7.1 and §9. */
type TokenCode =
  'unauthorized' | 'invalid_token' | 'insufficient_user_authentication' | 'invalid_dpop_proof' | 'use_dpop_nonce'

/** One kind of refusal. */
interface DenialOf<Status extends number, Code extends string, Reason extends string> {
  readonly status: Status
  /** Stable, machine-readable. */
  readonly code: Code
  /** For people; goes on the wire, so it never holds anything of a token or of the system's inside. */
  readonly message: string
  readonly headers: Readonly<Record<string, string>>
  /** Machine-readable detail for logs and metrics, never sent: `expired`, `unknown_key` … */
  readonly reason?: Reason | undefined
  /** What a 429 was decided by; never sent. */
  readonly figures?: RefusalFigures | undefined
  /** What lies behind it, for logs; never sent. */
  readonly cause?: unknown
}

/**
 * Why a request is not let through: a value while it travels inside the package, an error only at the edge
 * (`denialError()`), because most refusals are answered without anybody looking at a stack trace.
 */
export type Denial =
  | DenialOf<400, 'invalid_request', RequestReason>
  | DenialOf<401, TokenCode, TokenReason>
  | DenialOf<403, 'insufficient_scope', ScopeReason>
  | DenialOf<429, 'throttled', ThrottleReason>
  | DenialOf<503, 'unavailable', DependencyReason | 'outage' | 'overload'>

/** The figures that a request was refused by. Milliseconds. */
export interface RefusalFigures {
  /** The window's name. */
  readonly window: string
  /** The limit of the request. */
  readonly limitMs: number
  /** Spent in the window over all processes, as far as was known. */
  readonly spentMs: number
  /** Held by this process for requests that were running. */
  readonly heldMs: number
  /** How old the other processes' figures were; null where there are none, or none were heard yet. */
  readonly othersAgeMs: number | null
}

/** What every error of this package has. It is an error of http-errors, whose type allows any name: this one does not. */
interface DenialFields<Status, Code, Reason> extends Error {
  /** HTTP status of the response. */
  readonly status: Status
  /** The same, under the name that some error handlers read. */
  readonly statusCode: Status
  /** Always true: `message` may be sent to the client. */
  readonly expose: boolean
  /** Stable code for programs; may be sent to the client. */
  readonly code: Code
  /** Stable detail for logs and metrics. It is never sent. */
  readonly reason: Reason
  /** Response fields, ready for `res.set()`: `WWW-Authenticate` or `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>
}

type Constructor = new (message?: string) => createError.HttpError

/** The error class of one kind of refusal, for `instanceof`; `undefined` as a reason says that there is not always one. */
function denialClass<Status extends Denial['status'], Optional = never>(Base: Constructor, name: string) {
  type Kind = Extract<Denial, { status: Status }>
  class DenialError extends Base {
    code: string
    reason: string | undefined
    declare headers: Record<string, string>
    declare figures?: RefusalFigures

    constructor(denial: Kind) {
      super(denial.message)
      Object.setPrototypeOf(this, new.target.prototype) // http-errors returns an object of its own
      this.name = name
      this.code = denial.code
      this.reason = denial.reason
      this.headers = { ...denial.headers }
      this.expose = true
      if (denial.figures !== undefined) this.figures = denial.figures
      if (denial.cause !== undefined) Object.defineProperty(this, 'cause', { value: denial.cause, configurable: true })
    }
  }
  type Fields = DenialFields<Status, Kind['code'], Exclude<Kind['reason'], undefined> | Optional>
  return DenialError as unknown as abstract new () => Fields // this package alone makes them: `denialError()`
}

/**
 * 400: the request itself is wrong, such as two tokens in one request (RFC 6750 §3.1). `reason` is undefined where a
 * parameter of `throttleTest()` is.
 */
export abstract class InvalidRequestError extends denialClass<400, undefined>(
  createError.BadRequest,
  'InvalidRequestError',
) {}
/** 401: no token, or one that is not accepted. `headers` holds the challenge (RFC 6750 §3). */
export abstract class UnauthorizedError extends denialClass<401>(createError.Unauthorized, 'UnauthorizedError') {}
/** 403: the token is good and its scope or kind of session is not enough (RFC 6750 §3.1). */
export abstract class InsufficientScopeError extends denialClass<403>(
  createError.Forbidden,
  'InsufficientScopeError',
) {}
/**
 * 429: no processing time is left, or none beside running requests. `headers` holds Retry-After in whole seconds (RFC 6585
 * §4).
 */
export abstract class ThrottledError extends denialClass<429>(createError.TooManyRequests, 'ThrottledError') {
  /** What it was decided by. */
  declare readonly figures: RefusalFigures
}
/** 503: a dependency (signing keys, Redis) is unavailable, or the process is overloaded. `headers` holds Retry-After in whole seconds. */
export abstract class UnavailableError extends denialClass<503>(createError.ServiceUnavailable, 'UnavailableError') {}

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
  const Class = classes[denial.status] as unknown as new (denial: Denial) => DenialError
  return new Class(denial)
}
