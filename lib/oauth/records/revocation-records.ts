import type { Clock } from '../../http/clock'
import { hashOf, newId } from '../../http/secret'
import { publish } from '../diagnostics'
import type { Authorization } from './authorizations'
import type { Records } from './records'
import { RegisteredClients } from './registered-clients'

/** The claims by which a token can be revoked: its own id, its grant, its website session, its user, its app. */
export interface Revocable {
  readonly jti: string
  readonly grant_id?: string
  readonly sid?: string
  readonly sub?: string
  readonly client_id?: string
  /** Stands in the tokens of users only. */
  readonly auth_time?: number
  /** The mark of the user's last `revokeUser()` when the token's login took place. */
  readonly user_mark?: string
  /** The mark of the user's last withdrawal of the app when the app got its grant. */
  readonly app_mark?: string
}

/** An access token to revoke alone. */
export interface RevocableToken {
  readonly jti: string
  readonly exp: number
  readonly session_kind?: 'unauthenticated'
}

/** Lifetime of a user's approval of an app, from its last use. */
export const APPROVED_MS = 365 * 24 * 60 * 60_000

/** Lifetimes of few lengths: the memory store expires entries of a few lifetimes without a search. */
const STEP_MS = 60_000

/**
 * Revoked tokens, grants, sessions and apps: what is revoked is on record by its id, so one entry revokes every token of a
 * grant, also those issued at the same moment. A user gets a new mark instead, which logins from then on carry; an app that
 * a user withdraws gets one for that user.
 */
export class RevocationRecords {
  /**
   * @param tokenMs how long a revoked token is on record: at least its lifetime
   * @param grantMs how long a revoked grant is on record: at least a refresh token's and a website session's lifetime
   */
  constructor(
    private readonly records: Records,
    private readonly clock: Clock,
    private readonly tokenMs: number,
    private readonly grantMs: number,
  ) {}

  /** Revokes one access token, until it expires. One that anybody can have takes strangers' room. */
  async revokeToken({ jti, exp, session_kind }: RevocableToken): Promise<void> {
    const leftMs = Math.ceil((exp * 1_000 - this.clock.date()) / STEP_MS + 1) * STEP_MS
    const share = session_kind === 'unauthenticated' ? 'strangers' : undefined
    await this.records.set('revoked', jti, 1, Math.min(leftMs, this.tokenMs), share)
    publish('oauth-revoked', { what: 'token', id: jti })
  }

  /**
   * Revokes every token of a grant, every grant that was made in a website session, or the access tokens of an app that
   * registered itself and is deleted.
   */
  async revoke(what: 'grant' | 'session' | 'client', id: string): Promise<void> {
    await this.records.set('revoked', id, 1, what === 'client' ? this.tokenMs : this.grantMs)
    publish('oauth-revoked', { what, id })
  }

  /** Ends every session, grant and approval that a user began before this call. */
  async revokeUser(userId: string): Promise<void> {
    await this.records.set('stamp', hashOf(userId), newId(), Math.max(this.grantMs, APPROVED_MS))
    publish('oauth-revoked', { what: 'user', id: userId })
  }

  /** Ends every grant of a user to one app. */
  async revokeApp(userId: string, clientId: string): Promise<void> {
    await this.records.set('stamp', appOf(userId, clientId), newId(), this.grantMs)
    publish('oauth-revoked', { what: 'approval', id: clientId })
  }

  /** The mark that the user's sessions and grants must carry, or undefined if there was no recent revocation. */
  markOf(userId: string, clientId?: string): Promise<string | undefined> {
    return this.records.get<string>('stamp', clientId === undefined ? hashOf(userId) : appOf(userId, clientId))
  }

  /** Whether a session or grant with this mark began before the user's last revocation, of all or of one app. */
  async isUserRevoked(userId: string, mark: string | undefined, clientId?: string): Promise<boolean> {
    const current = await this.markOf(userId, clientId)
    return current !== undefined && current !== mark
  }

  /** Whether the token, its grant, session, user or app is revoked. */
  async isRevoked({ jti, grant_id, sid, sub, client_id, auth_time, ...marks }: Revocable): Promise<boolean> {
    const isOfUser = auth_time !== undefined && sub !== undefined
    const ids = [jti, grant_id, sid, RegisteredClients.isRegistered(client_id ?? '') ? client_id : undefined]
    return this.isAny([
      ...ids.map((id) => id !== undefined && this.isOnRecord(id)),
      isOfUser && this.isUserRevoked(sub, marks.user_mark),
      isOfUser && client_id !== undefined && this.isUserRevoked(sub, marks.app_mark, client_id),
    ])
  }

  /** Whether the whole grant is revoked. */
  isGrantRevoked({ grantId, sid, userId, userMark, clientId, appMark }: Authorization): Promise<boolean> {
    return this.isAny([
      ...[grantId, sid].map((id) => this.isOnRecord(id)),
      this.isUserRevoked(userId, userMark),
      this.isUserRevoked(userId, appMark, clientId),
    ])
  }

  private async isAny(found: readonly (false | Promise<boolean>)[]): Promise<boolean> {
    return (await Promise.all(found.filter((one) => one !== false))).includes(true)
  }

  private async isOnRecord(id: string): Promise<boolean> {
    return (await this.records.get('revoked', id)) !== undefined
  }
}

/** Names a user's use of an app in the store. */
export function appOf(userId: string, clientId: string): string {
  return hashOf(`${clientId}\n${userId}`)
}
