import { hash } from 'node:crypto'
import type { Session } from '../session/session'

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

/** A revocation as it is written down, and when it is over: milliseconds since 1970. */
export interface RevocationEntry {
  readonly entry: string
  readonly overMs: number
}

interface RevokedUpTo {
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
  readonly #before = { s: new Map<string, RevokedUpTo>(), c: new Map<string, RevokedUpTo>() }
  readonly #entries = new Map<string, number>()

  /** All that is known. */
  entries(): readonly RevocationEntry[] {
    return [...this.#entries].map(([entry, overMs]) => ({ entry, overMs }))
  }

  /** When a revocation that is known is over, milliseconds since 1970; undefined where it is not known. */
  overMs(entry: string): number | undefined {
    return this.#entries.get(entry)
  }

  /** @returns false where it is no revocation as {@link entryOf} writes them */
  add(entry: string): boolean {
    const parts = ENTRY.exec(entry)
    if (!parts) return false
    const [, kind, name, before, over] = parts as unknown as [string, 't' | 's' | 'c', string, string, string]
    const overMs = Number(over)
    this.#entries.set(entry, overMs)
    if (kind === 't') this.#tokens.set(name, Math.max(this.#tokens.get(name) ?? 0, overMs))
    else {
      const known = this.#before[kind].get(name) ?? { beforeSec: 0, overMs: 0 }
      this.#before[kind].set(name, {
        beforeSec: Math.max(known.beforeSec, Number(before)),
        overMs: Math.max(known.overMs, overMs),
      })
    }
    return true
  }

  /** Whether a session's token is revoked. One without `iat` is where anything of its subject or client is. */
  revokes({ issuer, claims, sub, clientId }: Pick<Session, 'issuer' | 'claims' | 'sub' | 'clientId'>): boolean {
    if (this.#entries.size === 0) return false
    const { jti, iat } = claims
    if (typeof jti === 'string' && this.#tokens.has(nameOf(issuer, jti))) return true
    const issuedSec = typeof iat === 'number' ? Math.floor(iat) : -Infinity // moments are whole seconds, too
    return this.#upTo('s', issuer, sub) >= issuedSec || this.#upTo('c', issuer, clientId) >= issuedSec
  }

  /** Up to when tokens are revoked; NaN, which is never reached, where none are. */
  #upTo(kind: 's' | 'c', issuer: string, id: string | undefined): number {
    if (!id || this.#before[kind].size === 0) return NaN // '' is no app: sessions without one share none
    return this.#before[kind].get(nameOf(issuer, id))?.beforeSec ?? NaN
  }

  /** Lets go of what is over. */
  forget(nowMs: number): void {
    for (const over of [this.#entries, this.#tokens]) {
      for (const [name, overMs] of over) if (overMs <= nowMs) over.delete(name)
    }
    for (const before of [this.#before.s, this.#before.c]) {
      for (const [name, { overMs }] of before) if (overMs <= nowMs) before.delete(name)
    }
  }
}

/** No text of one issuer's and id's can be another's: the issuer's length is in it. */
function nameOf(issuer: string, id: string): string {
  return hash('sha256', `${issuer.length}:${issuer}:${id}`, 'base64')
}
