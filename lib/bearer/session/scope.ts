import { type JsonObject, isJsonObject } from '../../http/json'
import { type ClaimPath, claimAt } from './claim-path'

/** Syntax of scope-token (RFC 6749 §3.3). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Whether a text is one scope (RFC 6749 §3.3): no spaces, quotes or backslashes. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value)
}

/**
 * Whether a text is a scope or a role: `Team Lead`, `ACME\\Admins`, `Geschäftsführung`. It is not empty, and valid Unicode
 * without control characters.
 */
export function isRole(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/[\0-\x1f\x7f]|\p{Surrogate}/u.test(value)
}

/** Claim with the scopes (RFC 9068 §2.2.3), and the name that some issuers use. */
const SCOPE_CLAIMS: readonly ClaimPath[] = ['scope', 'scp']

/** Claims with OAuth scopes (RFC 6749 §3.3). Other claims have roles. */
const OAUTH_CLAIMS = new Set(['scope', 'scp', 'scopes'])

/**
 * Scopes of a token: those of all these claims. `scope`, `scp` and `scopes` are a text with spaces between scopes (RFC
 * 9068 §2.2.3), or a list of scopes. Another claim is a role, a list of roles, or an object whose names are roles, such as
 * Zitadel's: `{ admin: { '42': 'acme.example' } }`. Other values grant nothing.
 */
export function scopeOf(claims: JsonObject, from: readonly ClaimPath[] = SCOPE_CLAIMS): readonly string[] {
  const scopes = new Set<string>()
  for (const path of from) {
    const claim = claimAt(claims, path)
    const isOAuth = OAUTH_CLAIMS.has((typeof path === 'string' ? path : path.at(-1)) as string)
    const texts = Array.isArray(claim) ? (claim as unknown[]) : isOAuth ? oauthScopes(claim) : rolesOf(claim)
    for (const text of texts.filter(isOAuth ? isScope : isRole)) scopes.add(text)
  }
  return [...scopes]
}

function oauthScopes(claim: unknown): readonly string[] {
  return typeof claim === 'string' ? claim.split(' ') : []
}

/** Names of an object, unless their value is false, null, a number or empty. */
function rolesOf(claim: unknown): readonly unknown[] {
  if (!isJsonObject(claim)) return [claim]
  return Object.keys(claim).filter((role) => claim[role] === true || Object.keys(claim[role] ?? {}).length > 0)
}

/**
 * Scopes that a route needs: all of `'read write'` or `['read', 'write']`, or one of `{ any: ['read', 'write'] }`. Roles
 * need a list, because they may have spaces.
 */
export type ScopeNeeded = string | readonly string[] | { readonly any: readonly string[] }

/** A validated {@link ScopeNeeded}. */
export interface ScopeRule {
  readonly scopes: readonly string[]
  readonly any: boolean
  /** A role that breaks the syntax of scopes: only `scopeFrom` or `session` can grant it. */
  readonly role: string | undefined
}

/** @returns undefined if the value is no {@link ScopeNeeded} */
export function scopeRule(needed: unknown): ScopeRule | undefined {
  const any = typeof needed === 'object' && needed !== null && !Array.isArray(needed)
  const list: unknown = any
    ? (needed as { any?: unknown }).any
    : typeof needed === 'string'
      ? needed.split(' ')
      : needed
  if (!Array.isArray(list) || !list.every(isRole) || (any && list.length === 0)) return undefined
  return { scopes: [...list], any, role: list.find((one) => !isScope(one)) }
}

/** Whether granted scopes satisfy a rule. */
export function grantsScope(granted: readonly string[], { scopes, any }: ScopeRule): boolean {
  const has = (scope: string) => granted.includes(scope)
  return any ? scopes.some(has) : scopes.every(has)
}
