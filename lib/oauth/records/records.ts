import { storeError } from '../../http/help'
import { narrowJson } from '../../http/json'
import { shown, shownNames } from '../../http/options'
import { hashOf } from '../../http/secret'
import { UNKNOWN_NETWORK, blockOf } from '../../http/request/network'
import { warnOnce } from '../../http/warn-once'
import { requestNetwork } from '../request-network'
import type { OAuthStoreClaim, OAuthStoreCount, OAuthStore } from '../stores/store'

/** The kinds of records, with those that strangers can cause. Each begins its keys. docs/security.md has the table. */
const SHARES = {
  approval: 'strangers',
  approved: 'strangers',
  assertion: undefined,
  attempts: undefined,
  client: 'strangers',
  code: undefined,
  interaction: 'strangers',
  login: undefined,
  logins: undefined,
  proof: 'strangers',
  pushed: 'strangers',
  refresh: undefined,
  revoked: undefined,
  session: undefined,
  stamp: undefined,
  terms: undefined,
  token: undefined,
  unauthenticated: 'strangers',
  used: undefined,
} as const satisfies Record<string, 'strangers' | undefined>

export type RecordKind = keyof typeof SHARES

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
  ) {
    this.tag = issuerTag(issuer)
  }

  /** @param isStrangers whether anybody can cause the record. Default: that of the kind */
  set(kind: RecordKind, id: string, value: unknown, ttlMs: number, isStrangers = SHARES[kind] === 'strangers') {
    return this.store.set(this.key(kind, id), narrowJson(value), ttlMs, strangerOf(isStrangers))
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

  /** @param isStrangers whether anybody can cause the record. Default: that of the kind */
  async count(
    kind: RecordKind,
    id: string,
    by: number,
    windowMs: number,
    isStrangers = SHARES[kind] === 'strangers',
  ): Promise<OAuthStoreCount> {
    const { total, endsInMs } = await this.store.count(this.key(kind, id), by, windowMs, strangerOf(isStrangers))
    return { total: numeric('count().total', total), endsInMs: numeric('count().endsInMs', endsInMs) }
  }

  private key(kind: RecordKind, id: string): string {
    return `${kind}:${this.tag}:${id}`
  }
}

/** The block of the request that causes the record, where anybody can cause it. */
function strangerOf(isStrangers: boolean): string | undefined {
  return isStrangers ? blockOf(requestNetwork.getStore() ?? UNKNOWN_NETWORK) : undefined
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
