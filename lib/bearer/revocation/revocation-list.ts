import { hash } from 'node:crypto'
import type { Session } from '../session/session'

/** Revoked tokens: one token, those of one login (`sid`), or all tokens of a subject or client issued up to a moment. */
export type Revocation =
  | { readonly kind: 'token' | 'login'; readonly issuer: string; readonly id: string; readonly overMs: number }
  | {
      readonly kind: 'subject' | 'client'
      readonly issuer: string
      readonly id: string
      /** Last moment of issue that is revoked, in seconds since 1970. */
      readonly beforeSec: number
      readonly overMs: number
    }

/** Written form of a revocation, and when it ends, in milliseconds since 1970. */
export interface RevocationEntry {
  readonly entry: string
  readonly overMs: number
}

interface RevokedUpTo {
  readonly beforeSec: number
  readonly overMs: number
}

/** Written form of a revocation: kind, hash of issuer and id, moment, end. */
const ENTRY = /^([tlsc]):([A-Za-z0-9+/=]{44}):(\d{1,12}):(\d{1,16})$/

/** Writes a revocation as one line. The subject is hashed: `s:<SHA-256>:1800000000:1800086400000`. */
export function entryOf(revocation: Revocation): string {
  const { kind, issuer, id, overMs } = revocation
  const before = 'beforeSec' in revocation ? revocation.beforeSec : 0
  return `${kind.charAt(0)}:${nameOf(issuer, id)}:${before}:${Math.ceil(overMs)}`
}

/**
 * Revocations known to this process. A revocation counts from when it was first seen until it ends, even if Redis
 * loses it.
 */
export class RevocationList {
  readonly #whole = { t: new Map<string, number>(), l: new Map<string, number>() }
  readonly #before = { s: new Map<string, RevokedUpTo>(), c: new Map<string, RevokedUpTo>() }
  readonly #entries = new Map<string, number>()

  /** All known revocations. */
  entries(): readonly RevocationEntry[] {
    return [...this.#entries].map(([entry, overMs]) => ({ entry, overMs }))
  }

  /** @returns false if the line is not in the form that {@link entryOf} writes */
  add(entry: string): boolean {
    const parts = ENTRY.exec(entry)
    if (!parts) return false
    const [, kind, name, before, over] = parts as unknown as [string, 't' | 'l' | 's' | 'c', string, string, string]
    const overMs = Number(over)
    this.#entries.set(entry, overMs)
    if (kind === 't' || kind === 'l') {
      this.#whole[kind].set(name, Math.max(this.#whole[kind].get(name) ?? 0, overMs))
    } else {
      const known = this.#before[kind].get(name) ?? { beforeSec: 0, overMs: 0 }
      this.#before[kind].set(name, {
        beforeSec: Math.max(known.beforeSec, Number(before)),
        overMs: Math.max(known.overMs, overMs),
      })
    }
    return true
  }

  /**
   * Whether a session's token is revoked. A user goes by two names, `sub` and `userId`, of which a preset may read the
   * second from another claim. A token without `iat` is revoked with any token of its subject or client.
   */
  revokes({
    issuer,
    claims,
    sub,
    userId,
    clientId,
  }: Pick<Session, 'issuer' | 'claims' | 'sub' | 'userId' | 'clientId'>): boolean {
    if (this.#entries.size === 0) return false
    const { jti, sid, iat } = claims
    if (this.#isWhole('t', issuer, jti) || this.#isWhole('l', issuer, sid)) return true
    const issuedSec = typeof iat === 'number' ? Math.floor(iat) : -Infinity // moments are whole seconds, too
    return (
      this.#upTo('s', issuer, sub) >= issuedSec ||
      (userId !== sub && this.#upTo('s', issuer, userId) >= issuedSec) ||
      this.#upTo('c', issuer, clientId) >= issuedSec
    )
  }

  #isWhole(kind: 't' | 'l', issuer: string, id: unknown): boolean {
    return typeof id === 'string' && this.#whole[kind].size > 0 && this.#whole[kind].has(nameOf(issuer, id))
  }

  /** Last moment of issue that is revoked; NaN, for which every comparison is false, if none is. */
  #upTo(kind: 's' | 'c', issuer: string, id: string | undefined): number {
    if (!id || this.#before[kind].size === 0) return NaN // '' is no app: sessions without one share none
    return this.#before[kind].get(nameOf(issuer, id))?.beforeSec ?? NaN
  }

  /** Removes revocations that have ended. */
  forget(nowMs: number): void {
    for (const over of [this.#entries, this.#whole.t, this.#whole.l]) {
      for (const [name, overMs] of over) if (overMs <= nowMs) over.delete(name)
    }
    for (const before of [this.#before.s, this.#before.c]) {
      for (const [name, { overMs }] of before) if (overMs <= nowMs) before.delete(name)
    }
  }
}

/** The issuer's length makes the text of each pair of issuer and id unique. */
function nameOf(issuer: string, id: string): string {
  return hash('sha256', `${issuer.length}:${issuer}:${id}`, 'base64')
}
