import type { JsonObject } from './json'

/** RFC 6749 §3.3: scope-token. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Whether a text is one scope as RFC 6749 §3.3 writes it: no spaces, quotes or backslashes. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value)
}

/**
 * The scopes that a token's claims grant: `scope`, one text with spaces between (RFC 9068 §2.2.3), or a list; where
 * there is none `scp`, as some issuers name it. Anything else grants nothing.
 */
export function scopeOf(claims: JsonObject): readonly string[] {
  const claim = claims.scope ?? claims.scp
  const scopes = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : []
  return Object.freeze([...new Set(scopes.filter(isScope))])
}

/** The scopes of `needed` that are not in `granted`. */
export function missingScope(granted: readonly string[], needed: readonly string[]): readonly string[] {
  return needed.filter((scope) => !granted.includes(scope))
}
