import { type JsonObject, isJsonObject } from '../../http/json'
import { type Refusal, refuse } from '../refusal/refusal'
import { type ClaimPath } from './claim-path'
import { isRole, scopeOf } from './scope'

/** The claims of a token whose signature holds, read-only all the way down. */
export type Claims = JsonObject

/**
 * What a session has whatever its kind. A type, as are those below, and not an interface: as such it is assignable to
 * the `JwtPayload` that express-jwt declares for `req.auth`, and an app may have both.
 */
type AnySession = {
  /** Who issued the token: its `iss`. */
  readonly issuer: string
  /** Whom the issuer says the token is about: its `sub`. Unique within one issuer only. */
  readonly sub: string | undefined
  /** The scopes granted: `['read', 'write']`. */
  readonly scope: readonly string[]
  /** The same, under the name that MCP's `AuthInfo` has for it. Frozen. */
  readonly scopes: string[]
  /** When the token expires, in seconds since 1970, where it says so: its `exp`. */
  readonly expiresAt?: number
  readonly claims: Claims
  /** The token itself, for calls made in the session's name. Not enumerable, so that no log takes it along. */
  readonly token: string
}

/** A user signed in, through an app. */
export type UserSession = AnySession & {
  readonly kind: 'user'
  readonly sub: string
  readonly userId: string
  /** The app; an empty text where the token names none. */
  readonly clientId: string
}

/** An app in its own name: a service account. */
export type ClientSession = AnySession & {
  readonly kind: 'client'
  readonly clientId: string
}

/** An app, and nobody signed in. */
export type UnauthenticatedSession = AnySession & {
  readonly kind: 'unauthenticated'
  readonly clientId: string
}

/** What a token stands for: `req.auth`. `userId` is there where `kind` is `user`. */
export type Session = UserSession | ClientSession | UnauthenticatedSession

/** {@link Session} under the name of the property it stands in. */
export type Auth = Session

/** Who a session is, apart from what every token has. */
export type SessionIdentity = (
  | { readonly kind: 'user'; readonly userId: string; readonly clientId?: string | undefined }
  | { readonly kind: 'client' | 'unauthenticated'; readonly clientId: string }
) & {
  /** The scopes granted, where the token's claims do not say them as usual. */
  readonly scope?: readonly string[] | undefined
}

/** The second argument of `session` and `checkClaims`. */
export interface TokenFacts {
  /** The header of a signed token; of an opaque one, empty. */
  readonly header: JsonObject
}

/** Says whose session a token describes; undefined where it names nobody: 401. */
export type ReadSession = (claims: Claims, token: TokenFacts) => SessionIdentity | undefined

/** Says whether a token's claims are acceptable: false is 401. */
export type CheckClaims = (claims: Claims, token: TokenFacts) => boolean

/** How an issuer's tokens are read. */
export interface SessionRules {
  readonly session: ReadSession | undefined
  readonly checkClaims: CheckClaims | undefined
  /** The claims that may hold the scopes, the first of them that is there. */
  readonly scopeFrom: readonly ClaimPath[] | undefined
  /** Whether a token that grants no scope is refused. */
  readonly scopeRequired: boolean
}

/** The claim by which an issuer marks a session with nobody signed in. */
export interface UnauthenticatedMark {
  /** The claim's name. Default `session_kind`. */
  readonly claim: string
  /** Its value in such a token. Default `'unauthenticated'`. */
  readonly value: string | number | boolean
}

/** The claim that this package's own authorization server says a session's kind with. */
export const KIND_CLAIM = 'session_kind'

/** Default of {@link UnauthenticatedMark}. */
export const UNAUTHENTICATED_MARK: UnauthenticatedMark = { claim: KIND_CLAIM, value: 'unauthenticated' }

/** OpenID Connect Core §2 bounds `sub` at 255 characters. */
const LONGEST_ID = 255

/** What JavaScript writes for a value that is not there: `String(undefined)`. All such users would be one. */
const NOBODY = new Set(['undefined', 'null', 'NaN', '[object Object]'])

/**
 * Whether a claim can name somebody: 1 to 255 characters of valid Unicode, none of them a control character, and not
 * the text of a value that is not there.
 */
export function isId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_ID) return false
  return !/[\0-\x1f\x7f]|\p{Surrogate}/u.test(value) && !NOBODY.has(value)
}

/**
 * Whose session a token's claims describe. A client's: where `sub` equals `client_id` (RFC 9068 §2.2) or `session_kind`
 * says so. An unauthenticated one: by its mark only. Else a user's, who needs a `sub`. Marks that contradict one another
 * are refused, since to guess between them would be to choose somebody's rights.
 *
 * @param opaque whether the claims are what an issuer says of an opaque token
 */
export function identityFromClaims(
  claims: Claims,
  mark: UnauthenticatedMark,
  opaque: boolean,
): SessionIdentity | Refusal {
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
  if (isId(sub)) return { kind: 'user', userId: sub, clientId }
  // RFC 7662 §2.2: `sub` need not be there, and a service account often has none. A user has a `username`.
  const byApp = opaque && sub === undefined && claims.username === undefined
  return byApp && clientId !== undefined ? { kind: 'client', clientId } : refuse('subject')
}

/** An app's own `session` function returned what is no session. */
export class SessionProblem extends TypeError {}

/** What an app's own `session` function returned, if it is an identity; else why it names nobody. */
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

/** The session as the app sees it, read-only. */
export function makeSession(
  issuer: string,
  claims: Claims,
  identity: SessionIdentity,
  token: string,
  scopeFrom?: readonly ClaimPath[],
): Session {
  const { kind, clientId } = identity
  const sub = isId(claims.sub) ? claims.sub : undefined // one that is not is the option session's matter
  const scope = Object.freeze(identity.scope === undefined ? scopeOf(claims, scopeFrom) : [...identity.scope])
  const session =
    kind === 'user'
      ? { kind, issuer, sub: sub ?? identity.userId, userId: identity.userId, clientId: clientId ?? '', scope, claims }
      : { kind, issuer, sub, clientId, scope, claims }
  // What MCP's AuthInfo has beside; not enumerable, as it says nothing new.
  Object.defineProperties(session, {
    token: { value: token },
    scopes: { value: scope },
    expiresAt: { value: typeof claims.exp === 'number' ? claims.exp : undefined },
  })
  return Object.freeze(session) as Session
}
