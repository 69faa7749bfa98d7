import { type JsonObject, isJsonObject } from '../../http/json'
import { type Refusal, refuse } from '../refusal/refusal'
import { scopeOf } from './scope'

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
  readonly claims: Claims
  /** The token itself, for calls made in the session's name. Not enumerable, so that no log takes it along. */
  readonly token: string
}

/** A user signed in, through an app. */
export type UserSession = AnySession & {
  readonly kind: 'user'
  readonly sub: string
  readonly userId: string
  /** The app, where the token names one. */
  readonly clientId: string | undefined
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
export type SessionIdentity =
  | { readonly kind: 'user'; readonly userId: string; readonly clientId?: string | undefined }
  | { readonly kind: 'client' | 'unauthenticated'; readonly clientId: string }

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

/** Whether a claim can name somebody: 1 to 255 characters, none of them a control character. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_ID && !/[\0-\x1f\x7f]/.test(value)
}

/**
 * Whose session a token's claims describe. A client's: where `sub` equals `client_id` (RFC 9068 §2.2) or `session_kind`
 * says so. An unauthenticated one: by its mark only. Else a user's, who needs a `sub`. Marks that contradict one another
 * are refused, since to guess between them would be to choose somebody's rights.
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

/** Whether what an app's own `session` function returned is an identity. */
export function isIdentity(value: unknown): value is SessionIdentity {
  if (!isJsonObject(value)) return false
  if (value.kind === 'user') return isId(value.userId) && (value.clientId === undefined || isId(value.clientId))
  return (value.kind === 'client' || value.kind === 'unauthenticated') && isId(value.clientId)
}

/** The session as the app sees it, read-only. */
export function makeSession(issuer: string, claims: Claims, identity: SessionIdentity, token: string): Session {
  const { kind, clientId } = identity
  const sub = typeof claims.sub === 'string' ? claims.sub : undefined
  const scope = scopeOf(claims)
  const session =
    kind === 'user'
      ? { kind, issuer, sub: sub ?? identity.userId, userId: identity.userId, clientId, scope, claims }
      : { kind, issuer, sub, clientId, scope, claims }
  Object.defineProperty(session, 'token', { value: token })
  return Object.freeze(session) as Session
}
