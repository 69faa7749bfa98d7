import { hashOf, newId } from '../../http/secret'
import { publish } from '../diagnostics'
import type { Authorization } from './authorization'
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
}

/**
 * Revoked tokens, grants, sessions and apps: what is revoked is on record by its id, so one entry revokes every token of a
 * grant, also those issued at the same moment. A user gets a new mark instead, which logins from then on carry.
 */
export class RevocationRecords {
  readonly #records: Records
  readonly #tokenMs: number
  readonly #grantMs: number

  /**
   * @param tokenMs how long a revoked token is on record: at least its lifetime
   * @param grantMs how long a revoked grant is on record: at least a refresh token's and a website session's lifetime
   */
  constructor(records: Records, tokenMs: number, grantMs: number) {
    this.#records = records
    this.#tokenMs = tokenMs
    this.#grantMs = grantMs
  }

  /** Revokes one access token. */
  async revokeToken(jti: string): Promise<void> {
    await this.#records.set('revoked', jti, 1, this.#tokenMs)
    publish('revoked', { what: 'token', id: jti })
  }

  /** Revokes every token of a grant. */
  async revokeGrant(grantId: string): Promise<void> {
    await this.#records.set('revoked', grantId, 1, this.#grantMs)
    publish('revoked', { what: 'grant', id: grantId })
  }

  /** Revokes every grant that was made in a website session. */
  async revokeSession(sid: string): Promise<void> {
    await this.#records.set('revoked', sid, 1, this.#grantMs)
    publish('revoked', { what: 'session', id: sid })
  }

  /** Revokes the access tokens of an app that registered itself and is deleted. */
  async revokeClient(clientId: string): Promise<void> {
    await this.#records.set('revoked', clientId, 1, this.#tokenMs)
    publish('revoked', { what: 'client', id: clientId })
  }

  /** Ends every session and grant that a user began before this call. */
  async revokeUser(userId: string): Promise<void> {
    await this.#records.set('stamp', hashOf(userId), newId(), this.#grantMs)
    publish('revoked', { what: 'user', id: userId })
  }

  /** The mark that the user's sessions and grants must carry, or undefined if there was no recent revocation. */
  markOf(userId: string): Promise<string | undefined> {
    return this.#records.get<string>('stamp', hashOf(userId))
  }

  /** Whether a session or grant with this mark began before the user's last revocation. */
  async isUserRevoked(userId: string, mark: string | undefined): Promise<boolean> {
    const current = await this.markOf(userId)
    return current !== undefined && current !== mark
  }

  /** Whether the token, its grant, session, user or app is revoked. */
  async isRevoked({ jti, grant_id, sid, sub, client_id, auth_time, user_mark }: Revocable): Promise<boolean> {
    const isOfUser = auth_time !== undefined && sub !== undefined
    const ids = [jti, grant_id, sid, RegisteredClients.isRegistered(client_id ?? '') ? client_id : undefined]
    const found = await Promise.all([
      ...ids.map((id) => id !== undefined && this.#isOnRecord(id)),
      isOfUser && this.isUserRevoked(sub, user_mark),
    ])
    return found.includes(true)
  }

  /** Whether the whole grant is revoked. */
  async isGrantRevoked({ grantId, sid, userId, userMark }: Authorization): Promise<boolean> {
    const found = await Promise.all([
      ...[grantId, sid].map((id) => this.#isOnRecord(id)),
      this.isUserRevoked(userId, userMark),
    ])
    return found.includes(true)
  }

  async #isOnRecord(id: string): Promise<boolean> {
    return (await this.#records.get('revoked', id)) !== undefined
  }
}
