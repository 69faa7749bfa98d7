import type { JsonObject } from '../../http/json'
import { type ClaimPath, claimAt } from './claim-path'

/** RFC 6749 §3.3: scope-token. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Whether a text is one scope as RFC 6749 §3.3 writes it: no spaces, quotes or backslashes. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value)
}

/** RFC 9068 §2.2.3, and as some issuers name it. */
const SCOPE_CLAIMS: readonly ClaimPath[] = ['scope', 'scp']

/**
 * The scopes that a token's claims grant: those of the first claim that is there, one text with spaces between
 * (RFC 9068 §2.2.3) or a list. Anything else grants nothing.
 */
export function scopeOf(claims: JsonObject, from: readonly ClaimPath[] = SCOPE_CLAIMS): readonly string[] {
  for (const path of from) {
    const claim = claimAt(claims, path)
    if (claim === undefined || claim === null) continue
    const scopes = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : []
    return [...new Set(scopes.filter(isScope))]
  }
  return []
}

/** The scopes something needs: all of them, as a text with spaces between or a list, or any one of a list. */
export type ScopeNeeded = string | readonly string[] | { readonly any: readonly string[] }

/** A {@link ScopeNeeded} looked through. */
export interface ScopeRule {
  readonly scopes: readonly string[]
  readonly any: boolean
}

/** @returns undefined where it is none */
export function scopeRule(needed: unknown): ScopeRule | undefined {
  const any = typeof needed === 'object' && needed !== null && !Array.isArray(needed)
  const list: unknown = any
    ? (needed as { any?: unknown }).any
    : typeof needed === 'string'
      ? needed.split(' ')
      : needed
  if (!Array.isArray(list) || !list.every(isScope) || (any && list.length === 0)) return undefined
  return { scopes: [...list], any }
}

/** Whether the scopes granted are enough. */
export function grantsScope(granted: readonly string[], { scopes, any }: ScopeRule): boolean {
  const has = (scope: string) => granted.includes(scope)
  return any ? scopes.some(has) : scopes.every(has)
}
