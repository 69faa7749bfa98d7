import { hash } from 'node:crypto'
import { issuerName } from '../claims/claims'
import { claimAt } from '../session/claim-path'
import type { Session } from '../session/session'

/** What a `revoke…()` has revoked: `{ kind: 'subject', issuer: 'https://ident.example.org', id: 'ada', … }`. */
export interface Revocation {
  /** One token; the tokens of one login; all tokens of a subject or a client. */
  readonly kind: 'token' | 'login' | 'subject' | 'client'
  readonly issuer: string
  /** The token's `jti`, the login's `sid`, the subject or the client. */
  readonly id: string
  /** User and client of a login, whose tokens that name no login are revoked, too. */
  readonly of?: { readonly sub: string; readonly clientId: string } | undefined
  /** Tokens issued up to then are revoked, in seconds since 1970. One token, and those that name the login, always are. */
  readonly beforeSec: number
  /** When the revocation ends, because the tokens have ended: seconds since 1970. */
  readonly untilSec: number
}

/** Written form of a revocation, and when it ends, in milliseconds since 1970. */
export interface RevocationEntry {
  readonly entry: string
  readonly overMs: number
}

/** A session as a revocation sees it. */
export type Revocable = Pick<Session, 'issuer' | 'claims' | 'sub' | 'userId' | 'clientId'>

/** The rules by which a session's tokens are named. */
export interface NamingRules {
  /** Names of the issuer beside the session's. */
  readonly issuers?: readonly string[]
  /** Claims that name the login. Default `['sid']`. */
  readonly sidFrom?: readonly (string | readonly string[])[] | undefined
}

/**
 * Written form of a revocation: kind, hash of issuer and id, moment, end. The kinds are `t` token, `l` login, `s` subject,
 * `c` client, and `a` the subject's tokens of one client.
 */
const ENTRY = /^([tlsca]:[A-Za-z0-9+/=]{44}):(\d{1,12}):(\d{1,16})$/

/** Kinds that revoke tokens of any age. */
const WHOLE_KINDS = /^[tl]/

/** Writes a revocation as lines. The subject is hashed: `s:<SHA-256>:1800000000:1800086400000`. */
export function entriesOf({ kind, issuer, id, of, beforeSec, untilSec }: Revocation): readonly RevocationEntry[] {
  const overMs = untilSec * 1_000
  const names = [nameOf(kind.charAt(0), issuer, id), ...(of ? [nameOf('a', issuer, of.sub, of.clientId)] : [])]
  return names.map((name) => ({ entry: `${name}:${WHOLE_KINDS.test(name) ? 0 : beforeSec}:${overMs}`, overMs }))
}

/**
 * Revocations known to this process. A revocation counts from when it was first seen until it ends, even if Redis
 * loses it.
 */
export class RevocationList {
  /** Moment up to which tokens are revoked, in seconds, and end of the revocation, by name. */
  readonly #byName = new Map<string, { readonly beforeSec: number; readonly overMs: number }>()
  readonly #entries = new Map<string, number>()
  /** Names of sessions. */
  readonly #names = new WeakMap<Revocable, readonly string[]>()

  /** All known revocations. */
  entries(): readonly RevocationEntry[] {
    return [...this.#entries].map(([entry, overMs]) => ({ entry, overMs }))
  }

  /** @returns false if the line is not in the form that {@link entriesOf} writes */
  add(entry: string): boolean {
    const parts = ENTRY.exec(entry)
    if (!parts) return false
    const [, name, before, over] = parts as unknown as [string, string, string, string]
    const beforeSec = WHOLE_KINDS.test(name) ? Infinity : Number(before)
    const known = this.#byName.get(name)
    this.#entries.set(entry, Number(over))
    this.#byName.set(name, {
      beforeSec: Math.max(known?.beforeSec ?? 0, beforeSec),
      overMs: Math.max(known?.overMs ?? 0, Number(over)),
    })
    return true
  }

  /** Whether a session's token is revoked. A token without `iat` is revoked with any token of its subject or client. */
  revokes(session: Revocable, rules: NamingRules = {}): boolean {
    if (this.#entries.size === 0) return false
    let names = this.#names.get(session)
    if (!names) this.#names.set(session, (names = namesOf(session, rules)))
    const { iat } = session.claims
    const issuedSec = typeof iat === 'number' ? Math.floor(iat) : -Infinity // moments are whole seconds, too
    return names.some((name) => (this.#byName.get(name)?.beforeSec ?? NaN) >= issuedSec)
  }

  /** Removes revocations that have ended. */
  forget(nowMs: number): void {
    for (const [entry, overMs] of this.#entries) if (overMs <= nowMs) this.#entries.delete(entry)
    for (const [name, { overMs }] of this.#byName) if (overMs <= nowMs) this.#byName.delete(name)
  }
}

/**
 * The names under which a session's token may be revoked: by each name of its issuer, as a token, by its login, its user,
 * its client, and, if it names no login, by user and client. A user goes by two names, `sub` and `userId`, of which a
 * preset may read the second from another claim.
 */
function namesOf({ issuer, claims, sub, userId, clientId }: Revocable, { issuers = [], sidFrom }: NamingRules) {
  const users = [...new Set([sub, userId])].filter((id) => id !== undefined)
  const logins = (sidFrom ?? ['sid']).flatMap((path) => idIn(claimAt(claims, path)))
  const client = clientId === undefined || clientId === '' ? [] : [clientId] // an empty client id names no app
  return [...new Set([issuer, ...issuers].map(issuerName))].flatMap((name) => [
    ...idIn(claims.jti).map((id) => nameOf('t', name, id)),
    ...logins.map((id) => nameOf('l', name, id)),
    ...users.map((id) => nameOf('s', name, id)),
    ...client.map((id) => nameOf('c', name, id)),
    ...(logins.length > 0 ? [] : users.flatMap((id) => client.map((app) => nameOf('a', name, id, app)))),
  ])
}

/** An id as text: some issuers write a number. */
function idIn(claim: unknown): readonly string[] {
  return typeof claim === 'string' || typeof claim === 'number' ? [String(claim)] : []
}

/** The one place that makes a name: kind, and a hash. A slash at the end of the issuer makes no difference. */
function nameOf(kind: string, issuer: string, ...ids: readonly string[]): string {
  return `${kind}:${hash('sha256', JSON.stringify([issuerName(issuer), ...ids]), 'base64')}`
}
