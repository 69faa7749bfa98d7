import { isJsonObject } from '../../http/json'
import { type Refusal, refuse } from '../refusal/refusal'
import { type ClaimPath, claimAt } from './claim-path'
import { isRole, scopeOf } from './scope'

/** Claims of a verified token, deeply frozen. */
export type Claims = Readonly<Record<string, unknown>>

/**
 * Properties of every session. It is a type, as are those below, because an interface is not assignable to the
 * `JwtPayload` that express-jwt declares for `req.auth`, and an app may use both.
 */
type AnySession = {
  /** Issuer of the token: its `iss`; the first name in the options, where the issuer goes by several. */
  readonly issuer: string
  /** Subject of the token: its `sub`. Unique within one issuer only. */
  readonly sub: string | undefined
  /** The scopes granted: `['read', 'write']`. */
  readonly scope: readonly string[]
  /** The same list under the name that MCP's `AuthInfo` uses. Frozen. */
  readonly scopes: string[]
  /**
   * Aborted when the token expires or is revoked, within a second in every process; its `reason` is the error. For what
   * outlives a request: WebSockets, event streams, subscriptions. Not enumerable.
   *
   * @example addAbortListener(sessionOf(req).signal, () => res.destroy()) // of node:events
   */
  readonly signal: AbortSignal
  /** Classes of the login: `acr`, or what the preset or the option `acrFrom` reads. Not enumerable, frozen. */
  readonly acr?: readonly string[]
  /** Time of the login in seconds since 1970: `auth_time`, or what the preset or `authTimeFrom` reads. Not enumerable. */
  readonly authTime?: number | undefined
  /** Expiry of the token in seconds since 1970: its `exp`. Undefined without one. */
  readonly expiresAt?: number
  /** Claims of the token, deeply frozen. */
  readonly claims: Claims
  /** The token, for calls on behalf of the session. Not enumerable, so that logs do not include it. */
  readonly token: string
}

/** Session of a user who signed in through an app. */
export type UserSession = AnySession & {
  /** Whether a user signed in (`user`), a service account (`client`) or neither (`unauthenticated`). */
  readonly kind: 'user'
  readonly sub: string
  /** The user's id: `sub`, or what the preset or the option `session` says. Unique within one issuer only. */
  readonly userId: string
  /** Client ID of the app; an empty text if the token names none. */
  readonly clientId: string
}

/** Session of an app on its own behalf: a service account. */
export type ClientSession = AnySession & {
  readonly kind: 'client'
  readonly clientId: string
  /** There is no user. */
  readonly userId?: undefined
}

/** Session of an app without a user. */
export type UnauthenticatedSession = AnySession & {
  readonly kind: 'unauthenticated'
  readonly clientId: string
  /** There is no user. */
  readonly userId?: undefined
}

/** Session of a token: `req.auth`. Its `userId` is undefined unless `kind` is `user`. */
export type Session = UserSession | ClientSession | UnauthenticatedSession

/**
 * Function that returns kind and IDs of the session of a token's claims; undefined, for nobody, becomes 401. `header` is
 * that of a signed token, and empty for an opaque one. `scope` are the scopes granted; default: those of `scopeFrom`.
 */
export type ReadSession = (
  claims: Claims,
  token: { readonly header: Claims },
) =>
  | {
      readonly kind: 'user'
      readonly userId: string
      readonly clientId?: string | undefined
      readonly scope?: readonly string[] | undefined
    }
  | {
      readonly kind: 'client' | 'unauthenticated'
      readonly clientId: string
      readonly scope?: readonly string[] | undefined
    }
  | undefined

/** Kind and IDs of a session. */
export type SessionIdentity = Exclude<ReturnType<ReadSession>, undefined>

/** The option `checkClaims`. */
export type CheckClaims = (claims: Claims, token: { readonly header: Claims }) => boolean

/**
 * Claim with the time of the login, in seconds since 1970, or in minutes before the token was issued. Of several times the
 * latest counts.
 */
export type LoginTime = ClaimPath | { readonly minutesBefore: ClaimPath }

/** Rules for reading the sessions of an issuer's tokens. */
export interface SessionRules {
  readonly session: ReadSession | undefined
  readonly checkClaims: CheckClaims | undefined
  /** Claims that hold the scopes. */
  readonly scopeFrom: readonly ClaimPath[] | undefined
  /** Claims that hold the classes of the login. */
  readonly acrFrom: readonly ClaimPath[] | undefined
  /** Claim that holds the time of the login. */
  readonly authTimeFrom: LoginTime | undefined
  /** Claims that name the login. */
  readonly sidFrom: readonly ClaimPath[] | undefined
  /** All names of the issuer; empty if each tenant has its own. */
  readonly issuers: readonly string[]
  /** Whether a token without any scope is refused. */
  readonly scopeRequired: boolean
}

/** Claim that marks a session without a user. */
export interface UnauthenticatedMark {
  /** The claim's name. Default `session_kind`. */
  readonly claim: string
  /** Its value in such a token. Default `'unauthenticated'`. */
  readonly value: string | number | boolean
}

/** Claim with the kind of a session, in tokens of this package's authorization server. */
export const KIND_CLAIM = 'session_kind'

/** Default of {@link UnauthenticatedMark}. */
export const UNAUTHENTICATED_MARK: UnauthenticatedMark = { claim: KIND_CLAIM, value: 'unauthenticated' }

/** Longest `sub`, in characters. OpenID Connect Core §2 has 255; GitHub's and URLs of clients are longer. */
const LONGEST_ID = 1_024

/** Texts that JavaScript writes for absent values: `String(undefined)`. Users with such an ID would all be one. */
const NOBODY = new Set(['undefined', 'null', 'NaN', '[object Object]'])

/**
 * Whether a claim can be an ID: 1 to 1,024 characters of valid Unicode without control characters, and not the text of an
 * absent value, such as `undefined`.
 */
export function isId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_ID) return false
  return !/[\0-\x1f\x7f]|\p{Surrogate}/u.test(value) && !NOBODY.has(value)
}

/**
 * Reads the session of a token's claims:
 *
 * - of a client: if `sub` equals `client_id` (RFC 9068 §2.2), or `session_kind` is `client`
 * - unauthenticated: by its mark only
 * - of a user: otherwise, with a `sub`
 *
 * Contradicting marks are refused, because a guess could grant the rights of another kind.
 */
export function identityFromClaims(claims: Claims, mark: UnauthenticatedMark): SessionIdentity | Refusal {
  const { sub } = claims
  const clientId = claims.client_id ?? claims.azp // RFC 9068 §2.2; OpenID Connect Core §2
  if (clientId !== undefined && !isId(clientId)) return refuse('client')
  const said = claims[KIND_CLAIM]
  const marked = claims[mark.claim] === mark.value
  if (said !== undefined && said !== 'user' && said !== 'client' && said !== 'unauthenticated' && !marked) {
    return refuse('session_kind')
  }
  const byClient = clientId !== undefined && sub === clientId

  if (marked || said === 'unauthenticated') {
    const contradicted = said === 'user' || said === 'client' || (sub !== undefined && !byClient)
    if (contradicted || clientId === undefined) return refuse('session_kind')
    return { kind: 'unauthenticated', clientId }
  }
  if (said === 'client' || (byClient && said === undefined)) {
    return clientId === undefined ? refuse('session_kind') : { kind: 'client', clientId }
  }
  if (byClient) return refuse('session_kind')
  return isId(sub) ? { kind: 'user', userId: sub, clientId } : refuse('subject')
}

/** Error of an app's `session` function that returned no session. */
export class SessionProblem extends TypeError {}

/** Validates what an app's `session` function returned: an identity, or a refusal. */
export function identityReturned(value: unknown): SessionIdentity | Refusal {
  if (value === undefined || value === null) return refuse('subject')
  const { kind, userId, clientId, scope } = (isJsonObject(value) ? value : {}) as Record<string, unknown>
  const scoped = scope === undefined || (Array.isArray(scope) && scope.every(isRole))
  if (!scoped || (kind !== 'user' && kind !== 'client' && kind !== 'unauthenticated')) {
    return { refused: 'session_kind', cause: new SessionProblem('the option session returned no session') }
  }
  if (kind === 'user' && !isId(userId)) return refuse('subject')
  if ((kind !== 'user' || clientId !== undefined) && !isId(clientId)) return refuse('client')
  return value as SessionIdentity
}

/**
 * Makes the session for `req.auth`, frozen.
 *
 * @param signalOf makes the session's signal, when it is first asked for
 */
export function makeSession(
  { issuer, claims, token, rules }: { issuer: string; claims: Claims; token: string; rules: SessionRules },
  identity: SessionIdentity,
  signalOf: (session: Session) => AbortSignal,
): Session {
  const { kind, clientId } = identity
  const { scopeFrom, acrFrom, authTimeFrom } = rules
  const sub = isId(claims.sub) ? claims.sub : undefined // one that is not is the option session's matter
  const scope = Object.freeze(identity.scope === undefined ? scopeOf(claims, scopeFrom) : [...identity.scope])
  const session =
    kind === 'user'
      ? { kind, issuer, sub: sub ?? identity.userId, userId: identity.userId, clientId: clientId ?? '', scope, claims }
      : { kind, issuer, sub, clientId, scope, claims }
  // Properties of MCP's AuthInfo; not enumerable, because they repeat others.
  Object.defineProperties(session, {
    token: { value: token },
    acr: { value: Object.freeze(acrOf(claims, acrFrom)) },
    authTime: { value: authTimeOf(claims, authTimeFrom) },
    scopes: { value: scope },
    expiresAt: { value: typeof claims.exp === 'number' ? claims.exp : undefined },
    signal: { get: () => signalOf(session as unknown as Session) },
  })
  return Object.freeze(session) as Session
}

function authTimeOf(claims: Claims, from: LoginTime = 'auth_time'): number | undefined {
  const isAgo = isJsonObject(from) && 'minutesBefore' in from
  const found = [claimAt(claims, isAgo ? from.minutesBefore : from)].flat()
  const { iat } = claims
  const times = found.filter((one): one is number => typeof one === 'number' && one >= 0) // Clerk writes -1 for never
  const at = isAgo ? times.map((minutes) => (iat as number) - 60 * minutes) : times
  return at.length > 0 ? Math.max(...at) : undefined
}

/** `acr` is a text (OpenID Connect Core §2); a claim that `acrFrom` names may be a list. */
function acrOf(claims: Claims, acrFrom: readonly ClaimPath[] | undefined): string[] {
  const found = acrFrom ? acrFrom.flatMap((path) => claimAt(claims, path)) : [claims.acr]
  return found.filter((one) => typeof one === 'string')
}
