import { isScope } from '../../bearer/session/scope'
import { OAuthError } from '../oauth-error'
import { type KnownClient, mayUse } from '../directories/client'
import { type IdentityScopes, OFFLINE_ACCESS } from '../identity-scopes'

/**
 * The requested scopes, in order, without duplicates.
 *
 * @throws {OAuthError} invalid_scope if the scope has a character that RFC 6749 §3.3 forbids
 */
export function parseScope(scope: string | undefined): readonly string[] {
  if (scope === undefined) return []
  const tokens = scope.split(' ').filter((token) => token !== '')
  if (!tokens.every(isScope)) {
    throw new OAuthError('invalid_scope', 'The scope holds a character that RFC 6749 section 3.3 does not allow.')
  }
  return [...new Set(tokens)]
}

/** The server's settings about scopes. */
export interface ScopePolicy {
  readonly identity: IdentityScopes
  /** Whether an app without a realm gets none. */
  readonly isRealmNeeded: boolean
}

/**
 * The granted part of the requested scopes: identity scopes, the app's own, and `offline_access` (OIDC Core §11) for an app
 * that may have refresh tokens. Others are ignored (OIDC Core §3.1.2.1).
 */
export function grantableScope(
  asked: readonly string[],
  { identity, isRealmNeeded }: ScopePolicy,
  client: Omit<KnownClient, 'publicKeys'>,
): readonly string[] {
  if (isRealmNeeded && client.realm === undefined) return []
  const { scopes = [], identityScopes } = client
  return asked.filter((scope) => {
    if (scopes.includes(scope)) return true
    if (scope === OFFLINE_ACCESS && !mayUse(client, 'refresh_token')) return false
    return identity.has(scope) && (identityScopes?.includes(scope) ?? true)
  })
}

/** `invalid_scope`: nothing is left of the scope (RFC 6749 §3.3). */
export function noScope(asked: readonly string[]): OAuthError {
  return new OAuthError(
    'invalid_scope',
    asked.length === 0
      ? 'The parameter scope is missing, and this app has no defaultScope.'
      : 'This app may ask for none of these scopes.',
  ).because(
    asked.length === 0
      ? 'the request has no scope'
      : `none of ${asked.join(' ')} is in the scopes of the app in clientDirectory`,
  )
}
