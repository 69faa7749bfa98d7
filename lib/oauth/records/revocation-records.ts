import type { Clock } from '../../http/clock'
import { hashOf, newId } from '../../http/secret'
import { publish } from '../diagnostics'
import type { Authorization } from './authorizations'
import { NOBODY, ofStranger, ofUser } from './owners'
import type { Records } from './records'

/** The claims by which a token can be revoked: its own id, its grant, its website session, its user, its app. */
export interface Revocable {
  readonly jti: string
  readonly grant_id?: string | undefined
  readonly sid?: string | undefined
  readonly sub?: string | undefined
  readonly client_id?: string | undefined
  /** Stands in the tokens of users only. */
  readonly auth_time?: number | undefined
  /** The mark of the user's last `revokeUser()` when the token's login took place. */
  readonly user_mark?: string | undefined
  /** The mark of the user's last withdrawal of the app when the app got its grant. */
  readonly app_mark?: string | undefined
}

/** An access token to revoke alone. */
export interface RevocableToken extends Revocable {
  readonly exp: number
}

/** What one record revokes. `evicted`: a grant for which there was no room, of which only access tokens are left. */
type Revoked = 'token' | 'grant' | 'session' | 'evicted'

/** What becomes of a user's grant. After `signed out` a refresh token of the scope `offline_access` is good. */
export type GrantState = 'live' | 'signed out' | 'revoked'

/** Names a grant. */
export type GrantOfUser = Pick<Authorization, 'grantId' | 'userId' | 'clientId'>

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
   * @param most records of each sort, of one user or one user and app, in the lifetime of such a record. Beyond it one mark
   *   stands for all, of the user or of the app for that user: nothing is forgotten, and more ends than was asked for
   */
  constructor(
    private readonly records: Records,
    private readonly clock: Clock,
    private readonly tokenMs: number,
    private readonly grantMs: number,
    private readonly most = 4_096,
  ) {}

  /** Revokes one access token, until it expires. The record of one without a user may make way. */
  async revokeToken(token: RevocableToken): Promise<void> {
    const { jti, exp, client_id = '' } = token
    const leftMs = Math.ceil((exp * 1_000 - this.clock.date()) / STEP_MS + 1) * STEP_MS
    const ttlMs = Math.min(leftMs, this.tokenMs)
    if (!isOfUser(token)) await this.records.set('revoked', jti, 1, ttlMs, ofStranger())
    else if (!(await this.put('token', jti, appOf(token.sub, client_id), this.tokenMs, ttlMs)))
      return this.revokeApp(token.sub, client_id)
    publish('oauth-revoked', { what: 'token', id: jti })
  }

  /** Revokes every token of a grant. */
  async revokeGrant({ grantId, userId, clientId }: GrantOfUser): Promise<void> {
    if (!(await this.put('grant', grantId, appOf(userId, clientId), this.grantMs)))
      return this.revokeApp(userId, clientId)
    publish('oauth-revoked', { what: 'grant', id: grantId })
  }

  /** Revokes every grant that was made in a website session. */
  async revokeSession(sid: string, userId: string): Promise<void> {
    if (!(await this.put('session', sid, hashOf(userId), this.grantMs))) return this.revokeUser(userId)
    publish('oauth-revoked', { what: 'session', id: sid })
  }

  /** Ends the access tokens of a grant for which there was no room. Nobody asked for that, so its record may make way. */
  async evict({ grantId, userId, clientId }: GrantOfUser): Promise<void> {
    await this.put('evicted', grantId, appOf(userId, clientId), this.tokenMs, this.tokenMs, ofUser(userId))
    publish('oauth-revoked', { what: 'grant', id: grantId })
  }

  /** Ends every session, grant and approval that a user began before this call. */
  async revokeUser(userId: string): Promise<void> {
    await this.records.set('stamp', hashOf(userId), newId(), Math.max(this.grantMs, APPROVED_MS), NOBODY)
    publish('oauth-revoked', { what: 'user', id: userId })
  }

  /** Ends every grant of a user to one app. */
  async revokeApp(userId: string, clientId: string): Promise<void> {
    await this.records.set('stamp', appOf(userId, clientId), newId(), this.grantMs, NOBODY)
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

  /** Whether the token, its grant, its session or its user is revoked. */
  async isRevoked(token: Revocable): Promise<boolean> {
    const { jti, grant_id, sid, client_id } = token
    return this.isAny([
      ...[jti, grant_id, sid].map((id) => id !== undefined && this.isOnRecord(id)),
      isOfUser(token) && this.isUserRevoked(token.sub, token.user_mark),
      isOfUser(token) && client_id !== undefined && this.isUserRevoked(token.sub, token.app_mark, client_id),
    ])
  }

  /** Whether a grant is revoked, or only the session over in which the user gave it. */
  async stateOf({ grantId, sid, userId, userMark, clientId, appMark }: Authorization): Promise<GrantState> {
    const [isSignedOut, isRevoked] = await Promise.all([
      sid !== undefined && this.isOnRecord(sid),
      this.isAny([
        this.isOnRecord(grantId),
        this.isUserRevoked(userId, userMark),
        this.isUserRevoked(userId, appMark, clientId),
      ]),
    ])
    return isRevoked ? 'revoked' : isSignedOut ? 'signed out' : 'live'
  }

  /** Whether the user signed out of the session, or all of the user's sessions were ended. */
  isSessionOver({ sid, userId, userMark }: { sid: string; userId: string; userMark?: string }): Promise<boolean> {
    return this.isAny([this.isOnRecord(sid), this.isUserRevoked(userId, userMark)])
  }

  /** Puts an id on record. False, with nothing written, where there are too many records of that owner. */
  private async put(what: Revoked, id: string, of: string, windowMs: number, ttlMs = windowMs, owner = NOBODY) {
    if (await this.isOnRecord(id)) return true // or an app could end all of a user's sessions by one id_token, sent often
    const { total } = await this.records.count('revoked', `${what}.${of}`, 1, windowMs, owner)
    if (total <= this.most) await this.records.set('revoked', id, 1, ttlMs, owner)
    return total <= this.most
  }

  private async isAny(found: readonly (false | Promise<boolean>)[]): Promise<boolean> {
    return (await Promise.all(found.filter((one) => one !== false))).includes(true)
  }

  private async isOnRecord(id: string): Promise<boolean> {
    return (await this.records.get('revoked', id)) !== undefined
  }
}

/** Whether the token was issued for a user, not for an app itself. */
export function isOfUser<Token extends Revocable>(token: Token): token is Token & { readonly sub: string } {
  return token.auth_time !== undefined && token.sub !== undefined
}

/** Names a user's use of an app in the store. */
export function appOf(userId: string, clientId: string): string {
  return hashOf(`${clientId}\n${userId}`)
}
