import { hash } from 'node:crypto'
import type { Session } from '../session'

/** What is revoked: one token, or all tokens of a subject or of a client that were issued up to a moment. */
export type Revocation =
  | { readonly kind: 'token'; readonly issuer: string; readonly id: string; readonly overMs: number }
  | {
      readonly kind: 'subject' | 'client'
      readonly issuer: string
      readonly id: string
      /** Tokens issued up to then, seconds since 1970. */
      readonly beforeSec: number
      readonly overMs: number
    }

interface UpTo {
  readonly beforeSec: number
  readonly overMs: number
}

/** A revocation as it is written down: kind, a hash of issuer and id, the moment, and when it is over. */
const ENTRY = /^([tsc]):([A-Za-z0-9+/=]{44}):(\d{1,12}):(\d{1,16})$/

/** Writes a revocation as one line, with nothing of the subject in it: `s:<SHA-256>:1800000000:1800086400000`. */
export function entryOf(revocation: Revocation): string {
  const { kind, issuer, id, overMs } = revocation
  const before = kind === 'token' ? 0 : revocation.beforeSec
  return `${kind.charAt(0)}:${nameOf(issuer, id)}:${before}:${Math.ceil(overMs)}`
}

/**
 * The revocations that a process knows of. They only ever grow, until they are over: one that was seen once counts,
 * whatever is lost elsewhere.
 */
export class RevocationList {
  readonly #tokens = new Map<string, number>()
  readonly #before = { s: new Map<string, UpTo>(), c: new Map<string, UpTo>() }
  readonly #entries = new Map<string, number>()

  /** All that is known and not over. */
  entries(nowMs: number): readonly { readonly entry: string; readonly overMs: number }[] {
    this.#forget(nowMs)
    return [...this.#entries].map(([entry, overMs]) => ({ entry, overMs }))
  }

  /** @returns false where it is no revocation as {@link entryOf} writes them */
  add(entry: string): boolean {
    const [, kind, name = '', before, over] = ENTRY.exec(entry) ?? []
    if (kind === undefined) return false
    if (this.#entries.has(entry)) return true
    this.#entries.set(entry, Number(over))
    if (kind === 't') this.#tokens.set(name, Number(over))
    else {
      const known = this.#before[kind as 's' | 'c']
      const { beforeSec, overMs } = known.get(name) ?? { beforeSec: 0, overMs: 0 }
      known.set(name, { beforeSec: Math.max(beforeSec, Number(before)), overMs: Math.max(overMs, Number(over)) })
    }
    return true
  }

  has(entry: string): boolean {
    return this.#entries.has(entry)
  }

  /** Whether a session's token is revoked. One without `iat` is where anything of its subject or client is. */
  revokes({ issuer, claims, sub, clientId }: Pick<Session, 'issuer' | 'claims' | 'sub' | 'clientId'>): boolean {
    if (this.#entries.size === 0) return false
    const { jti, iat } = claims
    if (typeof jti === 'string' && this.#tokens.has(nameOf(issuer, jti))) return true
    const issuedSec = typeof iat === 'number' ? iat : -Infinity
    return this.#upTo('s', issuer, sub) >= issuedSec || this.#upTo('c', issuer, clientId) >= issuedSec
  }

  /** Up to when tokens are revoked; NaN, which is never reached, where none are. */
  #upTo(kind: 's' | 'c', issuer: string, id: string | undefined): number {
    if (id === undefined || this.#before[kind].size === 0) return NaN
    return this.#before[kind].get(nameOf(issuer, id))?.beforeSec ?? NaN
  }

  #forget(nowMs: number): void {
    for (const [entry, overMs] of this.#entries) {
      if (overMs > nowMs) continue
      this.#entries.delete(entry)
      const [kind, name = ''] = entry.split(':')
      if (kind === 't') this.#tokens.delete(name)
      else {
        const known = this.#before[kind as 's' | 'c']
        if ((known.get(name)?.overMs ?? 0) <= nowMs) known.delete(name)
      }
    }
  }
}

/** No text of one issuer's and id's can be another's: the issuer's length is in it. */
function nameOf(issuer: string, id: string): string {
  return hash('sha256', `${issuer.length}:${issuer}:${id}`, 'base64')
}
