import { OAuthError } from '../oauth-error'
import type { UserClaims } from '../directories/user'

/** The claims that each identity scope gives. `openid` gives `sub` alone. */
const CLAIMS_OF: ReadonlyMap<string, readonly string[]> = new Map([
  ['openid', []],
  ['profile', ['givenName', 'family_name', 'gender', 'language', 'locale']],
  ['givenName', ['givenName']],
  ['family_name', ['family_name']],
  ['locale', ['locale']],
  ['gender', ['gender']],
  ['email', ['email', 'email_verified']],
  ['qualifies_for_affiliate_account', ['qualifies_for_affiliate_account']],
  ['user_id', ['user_id']],
  ['country', ['country']],
])

/** The identity scopes, for the discovery document. */
export const IDENTITY_SCOPES: readonly string[] = [...CLAIMS_OF.keys()]

/** Every claim that a scope may give, as it stands in tokens, for the discovery document. */
export const SCOPE_CLAIMS: readonly string[] = [...new Set([...CLAIMS_OF.values()].flat()), 'given_name']

/** A scope token. RFC 6749 §3.3: scope-token = 1*( %x21 / %x23-5B / %x5D-7E ) */
const TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/**
 * The scopes asked for, in order and each once.
 *
 * @throws {OAuthError} invalid_scope where a character stands in it that RFC 6749 §3.3 does not allow
 */
export function parseScope(scope: string | undefined): readonly string[] {
  if (scope === undefined) return []
  const tokens = scope.split(' ').filter((token) => token !== '')
  if (!tokens.every((token) => TOKEN.test(token))) {
    throw new OAuthError('invalid_scope', 'The scope holds a character that RFC 6749 section 3.3 does not allow.')
  }
  return [...new Set(tokens)]
}

/** What is granted of what was asked for: the identity scopes and the app's own. Others are left out (OIDC Core §3.1.2.1). */
export function grantableScope(asked: readonly string[], ownScopes: readonly string[] = []): readonly string[] {
  return asked.filter((scope) => CLAIMS_OF.has(scope) || ownScopes.includes(scope))
}

/** The user's claims that the scopes give: only with `openid` among them, and `given_name` beside `givenName`. */
export function claimsOf(scopes: readonly string[], id: string, claims: UserClaims): Record<string, unknown> {
  if (!scopes.includes('openid')) return {}
  const given: Record<string, unknown> = {}
  for (const name of scopes.flatMap((scope) => CLAIMS_OF.get(scope) ?? [])) {
    const value = name === 'user_id' ? id : claims[name]
    if (value === undefined) continue
    given[name] = value
    if (name === 'givenName') given.given_name = value
  }
  return given
}
