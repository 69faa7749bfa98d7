import { OAuthError } from '../oauth-error'
import type { Client } from '../directories/client'
import type { IdentityScopes } from '../identity-scopes'

/** A scope token. RFC 6749 §3.3: scope-token = 1*( %x21 / %x23-5B / %x5D-7E ) */
const TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * The requested scopes, in order, without duplicates.
 *
 * @throws {OAuthError} invalid_scope if the scope has a character that RFC 6749 §3.3 forbids
 */
export function parseScope(scope: string | undefined): readonly string[] {
  if (scope === undefined) return []
  const tokens = scope.split(' ').filter((token) => token !== '')
  if (!tokens.every((token) => TOKEN.test(token))) {
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
 * The granted part of the requested scopes: identity scopes and the app's own. Others are ignored (OIDC Core §3.1.2.1).
 */
export function grantableScope(
  asked: readonly string[],
  { identity, isRealmNeeded }: ScopePolicy,
  client: Client,
): readonly string[] {
  if (isRealmNeeded && client.realm === undefined) return []
  return asked.filter((scope) => client.scopes?.includes(scope) || isIdentityScope(scope, identity, client))
}

function isIdentityScope(scope: string, identity: IdentityScopes, { identityScopes }: Client): boolean {
  return identity.has(scope) && (identityScopes?.includes(scope) ?? true)
}
