import type { Claim, Count, OAuthStore } from '../stores/store'

/** The kinds of records. Each begins its keys. */
export type RecordKind =
  | 'code'
  | 'refresh'
  | 'generation'
  | 'token'
  | 'unauthenticated'
  | 'session'
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

/** The store for JSON values, by kind and id. An id is a hash or public, never a secret. */
export class Records {
  readonly #store: OAuthStore

  constructor(store: OAuthStore) {
    this.#store = store
  }

  set(kind: RecordKind, id: string, value: unknown, ttlMs: number): Promise<void> {
    return this.#store.set(`${kind}:${id}`, JSON.stringify(value), ttlMs)
  }

  async get<T>(kind: RecordKind, id: string, idleMs?: number): Promise<T | undefined> {
    const value = await this.#store.get(`${kind}:${id}`, idleMs)
    return value === undefined ? undefined : (JSON.parse(value) as T)
  }

  async claim<T>(kind: RecordKind, id: string, keepMs: number): Promise<RecordClaim<T> | undefined> {
    const claim = await this.#store.claim(`${kind}:${id}`, keepMs)
    return claim && { ...claim, value: JSON.parse(claim.value) as T }
  }

  count(kind: RecordKind, id: string, by: number, windowMs: number): Promise<Count> {
    return this.#store.count(`${kind}:${id}`, by, windowMs)
  }
}
