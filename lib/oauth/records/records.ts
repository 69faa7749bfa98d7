import { storeError } from '../../http/help'
import { narrowJson } from '../../http/json'
import { shown, shownNames } from '../../http/options'
import { hashOf } from '../../http/secret'
import { warnOnce } from '../../http/warn-once'
import type { OAuthStoreClaim, OAuthStoreCount, OAuthStore } from '../stores/store'
import { NOBODY, type Owner } from './owners'

/** The kinds of records. Each begins its keys. docs/security.md has the table. */
export type RecordKind =
  | ('approval' | 'approved' | 'assertion' | 'attempts' | 'client' | 'code' | 'grants' | 'interaction' | 'login')
  | ('proof' | 'pushed' | 'refresh' | 'revoked' | 'session' | 'stamp' | 'terms' | 'token' | 'unauthenticated' | 'used')

/** The result of claiming a record. */
export interface RecordClaim<T> extends Omit<OAuthStoreClaim, 'value'> {
  readonly value: T
}

/**
 * The store for JSON values, by kind and id. An id is a hash or public, never a secret. Keys include the issuer, so
 * issuers that share a store never see each other's records. Of an app's own store it takes `null` for absent and digits
 * for a number, as some databases give them, and warns once.
 */
export class Records {
  private readonly tag: string

  constructor(
    private readonly store: OAuthStore,
    issuer = '',
    private readonly mostNew = 20_000,
  ) {
    this.tag = issuerTag(issuer)
  }

  set(kind: RecordKind, id: string, value: unknown, ttlMs: number, owner: Owner): Promise<void> {
    return this.store.set(this.key(kind, id), narrowJson(value), ttlMs, owner === NOBODY ? undefined : owner)
  }

  async get<T>(kind: RecordKind, id: string, idleMs?: number): Promise<T | undefined> {
    const value = absent('get()', await this.store.get(this.key(kind, id), idleMs))
    return value === undefined ? undefined : parsed<T>('get()', value)
  }

  async claim<T>(kind: RecordKind, id: string, keepMs: number): Promise<RecordClaim<T> | undefined> {
    const claim = absent('claim()', await this.store.claim(this.key(kind, id), keepMs))
    if (!claim) return undefined
    const { value, first, agoMs } = claim
    return { value: parsed<T>('claim().value', value), first, agoMs: numeric('claim().agoMs', agoMs) }
  }

  /** Deletes a record, claimed or not. */
  drop(kind: RecordKind, id: string): Promise<void> {
    return this.store.set(this.key(kind, id), '0', 1)
  }

  /** Whether a text is new that must be used once only, and its owner has used at most `mostNew` within a minute. */
  async isNew(kind: 'assertion' | 'proof', id: string, ttlMs: number, owner: Owner): Promise<boolean> {
    const { total } = await this.count(kind, hashOf(owner), 1, 60_000, owner)
    return total <= this.mostNew && (await this.count(kind, id, 1, ttlMs, owner)).total === 1
  }

  async count(kind: RecordKind, id: string, by: number, windowMs: number, owner: Owner): Promise<OAuthStoreCount> {
    const { total, endsInMs } = await this.store.count(this.key(kind, id), by, windowMs, owner)
    return { total: numeric('count().total', total), endsInMs: numeric('count().endsInMs', endsInMs) }
  }

  private key(kind: RecordKind, id: string): string {
    return `${kind}:${this.tag}:${id}`
  }
}

/** A short name of an issuer, for keys and cookies: 48 bits of its hash. */
export function issuerTag(issuer: string): string {
  return hashOf(issuer).slice(0, 8)
}

function absent<T>(method: string, answer: T | null | undefined): T | undefined {
  if (answer !== null) return answer
  warnOfStore(`${method} of the store answered null; for an entry that is not there it must answer undefined`)
  return undefined
}

function parsed<T>(what: string, text: unknown): T {
  try {
    return JSON.parse(String(text)) as T
  } catch {
    throw storeError(`${what} of the store must be the text that set() was given; received ${shownNames(text)}`)
  }
}

function numeric(what: string, answer: unknown): number {
  if (typeof answer === 'number') return answer
  const isDigits = typeof answer === 'bigint' || (typeof answer === 'string' && /^-?\d+(\.\d+)?$/.test(answer))
  if (!isDigits) throw storeError(`${what} of the store must be a number; received ${shown(answer)}`)
  warnOfStore(`${what} of the store must be a number; received ${shown(answer)}`)
  return Number(answer)
}

function warnOfStore(message: string): void {
  warnOnce('TOLLGATE_STORE', `authorizationServer(): ${message}. It is read as meant`)
}
