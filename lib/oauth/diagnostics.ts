import { channel } from 'node:diagnostics_channel'
import { randomInt } from 'node:crypto'
import type { GrantName } from './directories/client'

/** A token was issued: `express-tollgate:oauth-token-issued`. */
export interface OAuthTokenIssuedMessage {
  readonly clientId: string
  /** The grant; `id_token` for an id_token alone, from the authorization endpoint. */
  readonly grant: GrantName | 'id_token'
  readonly scope: readonly string[]
  /** Whether the token is bound to a key (RFC 9449). */
  readonly bound: boolean
}

/** A user tried to sign in: `express-tollgate:oauth-login`. */
export interface OAuthLoginMessage {
  readonly clientId: string
  /** `refused`: `authenticate()` said why. `locked`: too many attempts before; the password was not looked at. */
  readonly outcome: 'succeeded' | 'failed' | 'refused' | 'locked'
  /** Only if the login succeeded. */
  readonly userId: string | undefined
  /**
   * The name as typed, and the client's network (`203.0.113.9`, `2001:db8:1:200::/56`): hashed with a key of this server,
   * the same for the same text, unless the option `loginEvents` is `plain`.
   */
  readonly account: string
  readonly address: string
}

/** The server refused a request: `express-tollgate:oauth-refused`. */
export interface OAuthRefusedMessage {
  /** Stands on the error page, so that a person can report it: `7KQ2-M9XD`. */
  readonly id: string
  /** The path below the issuer: `/token`. */
  readonly endpoint: string
  /** As on the wire: `invalid_grant`. */
  readonly code: string
  /** Of the response; 303 if the error was sent to the app by a redirect, 200 by a form. */
  readonly status: number
  /** For the server's developer: `redirect_uri 'x' is not one of [ 'y' ]`. What the client sent, but no secret. */
  readonly reason: string
}

/** Tokens were revoked: `express-tollgate:oauth-revoked`. */
export interface OAuthRevokedMessage {
  /** An access token alone, or all tokens of a user's authorization, of a website session, of a user, or of a user's app. */
  readonly what: 'token' | 'grant' | 'session' | 'user' | 'approval'
  /** The token's `jti`, the `grant_id`, the `sid`, the app key (also of an approval that a user withdrew) or the user's id. */
  readonly id: string
}

interface Messages {
  readonly 'oauth-login': OAuthLoginMessage
  readonly 'oauth-token-issued': OAuthTokenIssuedMessage
  readonly 'oauth-revoked': OAuthRevokedMessage
  readonly 'oauth-refused': OAuthRefusedMessage
}

/** Publishes a message if the channel has subscribers. Node keeps a subscriber's error from the request. No message has a secret. */
export function publish<Name extends keyof Messages>(name: Name, message: Messages[Name]): void {
  const to = channel(`express-tollgate:${name}`)
  if (to.hasSubscribers) to.publish(message)
}

/** No letter or digit that can be mistaken for another. */
const LETTERS = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

/**
 * Publishes a refusal under an id that is short enough to be read out.
 *
 * @param log gets one line about it
 */
export function reportRefusal(
  refusal: Omit<OAuthRefusedMessage, 'id'>,
  log: ((line: string) => void) | undefined,
): OAuthRefusedMessage {
  const text = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  const message = { id: `${text.slice(0, 4)}-${text.slice(4)}`, ...refusal }
  publish('oauth-refused', message)
  const { id, endpoint, code, status, reason } = message
  log?.(`express-tollgate ${id}: ${endpoint} answered ${status} ${code}: ${reason}`)
  return message
}
