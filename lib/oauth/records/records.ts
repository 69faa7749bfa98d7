import { hashOf } from '../../http/secret'
import type { Claim, Count, OAuthStore } from '../stores/store'

/** The kinds of records. Each begins its keys. */
export type RecordKind =
  | 'approval'
  | 'code'
  | 'refresh'
  | 'token'
  | 'unauthenticated'
  | 'session'
  | 'stamp'
  | 'terms'
  | 'revoked'
  | 'login'
  | 'assertion'
  | 'attempts'
  | 'client'
  | 'pushed'
  | 'used'
  | 'proof'

/** The result of claiming a record. */
export interface RecordClaim<T> extends Omit<Claim, 'value'> {
  readonly value: T
}

/**
 * The store for JSON values, by kind and id. An id is a hash or public, never a secret. Keys include the issuer, so
 * issuers that share a store never see each other's records.
 */
export class Records {
  readonly #store: OAuthStore
  readonly #issuer: string

  constructor(store: OAuthStore, issuer = '') {
    this.#store = store
    this.#issuer = issuerTag(issuer)
  }

  set(kind: RecordKind, id: string, value: unknown, ttlMs: number): Promise<void> {
    return this.#store.set(this.#key(kind, id), JSON.stringify(value), ttlMs)
  }

  async get<T>(kind: RecordKind, id: string, idleMs?: number): Promise<T | undefined> {
    const value = await this.#store.get(this.#key(kind, id), idleMs)
    return value === undefined ? undefined : (JSON.parse(value) as T)
  }

  async claim<T>(kind: RecordKind, id: string, keepMs: number): Promise<RecordClaim<T> | undefined> {
    const claim = await this.#store.claim(this.#key(kind, id), keepMs)
    return claim && { ...claim, value: JSON.parse(claim.value) as T }
  }

  count(kind: RecordKind, id: string, by: number, windowMs: number): Promise<Count> {
    return this.#store.count(this.#key(kind, id), by, windowMs)
  }

  #key(kind: RecordKind, id: string): string {
    return `${kind}:${this.#issuer}:${id}`
  }
}

/** A short name of an issuer, for keys and cookies: 48 bits of its hash. */
export function issuerTag(issuer: string): string {
  return hashOf(issuer).slice(0, 8)
}
