import type { JsonObject } from '../../http/json'

/** RFC 6749 §3.3: scope-token. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Whether a text is one scope as RFC 6749 §3.3 writes it: no spaces, quotes or backslashes. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value)
}

/** Claims are read-only, and those of a token that comes again are the same object. */
const known = new WeakMap<JsonObject, readonly string[]>()

/**
 * The scopes that a token's claims grant: `scope`, one text with spaces between (RFC 9068 §2.2.3), or a list; where
 * there is none `scp`, as some issuers name it. Anything else grants nothing.
 *
 * @param claims not to be changed afterwards
 */
export function scopeOf(claims: JsonObject): readonly string[] {
  let granted = known.get(claims)
  if (granted === undefined) {
    const claim = claims.scope ?? claims.scp
    const scopes = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : []
    granted = Object.freeze([...new Set(scopes.filter(isScope))])
    known.set(claims, granted)
  }
  return granted
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
