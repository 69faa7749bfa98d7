import { publish } from '../diagnostics'
import type { Records } from './records'

/** The ids by which a token can be revoked: its own, and its grant's. */
export interface Revocable {
  readonly jti: string
  readonly grant_id?: string
}

/**
 * Revoked tokens and grants. A token is refused while its id or its grant's id is on record, so one entry revokes every
 * token of a grant, also those issued at the same moment.
 */
export class RevocationRecords {
  readonly #records: Records
  readonly #tokenMs: number
  readonly #grantMs: number

  /**
   * @param tokenMs how long a revoked token is on record: at least its lifetime
   * @param grantMs how long a revoked grant is on record: at least a refresh token's lifetime
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

  /** Whether the token or its grant is revoked. */
  async isRevoked({ jti, grant_id: grantId }: Revocable): Promise<boolean> {
    const ids = grantId === undefined ? [jti] : [jti, grantId]
    const found = await Promise.all(ids.map((id) => this.#records.get('revoked', id)))
    return found.some((entry) => entry !== undefined)
  }

  /** Whether the whole grant is revoked. */
  async isGrantRevoked(grantId: string): Promise<boolean> {
    return (await this.#records.get('revoked', grantId)) !== undefined
  }
}
