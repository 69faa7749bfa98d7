import type { JsonObject } from '../../http/json'
import { type ClaimPath, claimAt } from './claim-path'

/** RFC 6749 §3.3: scope-token. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Whether a text is one scope as RFC 6749 §3.3 writes it: no spaces, quotes or backslashes. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value)
}

/**
 * Whether a text is a scope, or a role as issuers write them: `Team Lead`, `ACME\\Admins`, `Geschäftsführung`. Not empty,
 * valid Unicode, no control characters.
 */
export function isRole(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/[\0-\x1f\x7f]|\p{Surrogate}/u.test(value)
}

/** RFC 9068 §2.2.3, and as some issuers name it. */
const SCOPE_CLAIMS: readonly ClaimPath[] = ['scope', 'scp']

/** Claims with scopes as RFC 6749 §3.3 writes them. Others have roles. */
const OAUTH_CLAIMS = new Set(['scope', 'scp', 'scopes'])

/**
 * The scopes that a token's claims grant: those of the first claim that is there. `scope`, `scp` and `scopes` are one text
 * with spaces between (RFC 9068 §2.2.3) or a list of such scopes. Another claim is a role or a list of roles. Anything
 * else grants nothing.
 */
export function scopeOf(claims: JsonObject, from: readonly ClaimPath[] = SCOPE_CLAIMS): readonly string[] {
  for (const path of from) {
    const claim = claimAt(claims, path)
    if (claim === undefined || claim === null) continue
    const isOAuth = OAUTH_CLAIMS.has((typeof path === 'string' ? path : path.at(-1)) as string)
    const texts: unknown[] = Array.isArray(claim)
      ? claim
      : isOAuth && typeof claim === 'string'
        ? claim.split(' ')
        : [claim]
    return [...new Set(texts.filter(isOAuth ? isScope : isRole))]
  }
  return []
}

/**
 * The scopes something needs: all of them, as a text with spaces between or a list, or any one of a list. Roles that
 * `scopeFrom` takes for scopes are given in a list.
 */
export type ScopeNeeded = string | readonly string[] | { readonly any: readonly string[] }

/** A {@link ScopeNeeded} looked through. */
export interface ScopeRule {
  readonly scopes: readonly string[]
  readonly any: boolean
  /** One that no OAuth scope can be: only `scopeFrom` or `session` may grant it. */
  readonly role: string | undefined
}

/** @returns undefined where it is none */
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

/** Whether the scopes granted are enough. */
export function grantsScope(granted: readonly string[], { scopes, any }: ScopeRule): boolean {
  const has = (scope: string) => granted.includes(scope)
  return any ? scopes.some(has) : scopes.every(has)
}
