import type { Records } from './records'

/** What a token must not be on the list by: its own id, and that of the authorization behind it. */
export interface Revocable {
  readonly jti: string
  readonly grant_id?: string
}

/**
 * The list of what was revoked before its time. A token is not accepted while its own id or its grant's is on it, so that
 * one entry revokes all that came of a code, whichever of it is being issued at that very moment.
 */
export class Revocations {
  readonly #records: Records
  readonly #tokenMs: number
  readonly #grantMs: number

  /** How long an entry stays: @param tokenMs as long as an access token may live @param grantMs and a refresh token */
  constructor(records: Records, tokenMs: number, grantMs: number) {
    this.#records = records
    this.#tokenMs = tokenMs
    this.#grantMs = grantMs
  }

  /** Revokes one access token. */
  revokeToken(jti: string): Promise<void> {
    return this.#records.set('revoked', jti, 1, this.#tokenMs)
  }

  /** Revokes all that comes of an authorization. */
  revokeGrant(grantId: string): Promise<void> {
    return this.#records.set('revoked', grantId, 1, this.#grantMs)
  }

  async isRevoked({ jti, grant_id: grantId }: Revocable): Promise<boolean> {
    const ids = grantId === undefined ? [jti] : [jti, grantId]
    const found = await Promise.all(ids.map((id) => this.#records.get('revoked', id)))
    return found.some((entry) => entry !== undefined)
  }

  /** Whether a grant as a whole is revoked. */
  async isGrantRevoked(grantId: string): Promise<boolean> {
    return (await this.#records.get('revoked', grantId)) !== undefined
  }
}
