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
  readonly #longestMs: number

  /** @param longestMs how long an entry must stay: the longest life of what it revokes */
  constructor(records: Records, longestMs: number) {
    this.#records = records
    this.#longestMs = longestMs
  }

  /** Revokes one token, or with a grant's id all that comes of it. */
  revoke(id: string): Promise<void> {
    return this.#records.set('revoked', id, 1, this.#longestMs)
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
