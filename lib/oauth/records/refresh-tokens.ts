import { hashOf, newSecret } from '../../http/secret'
import type { Authorization } from './authorization'
import type { Records } from './records'
import type { RevocationRecords } from './revocation-records'

interface TokenRecord {
  readonly authorization: Authorization
  /** The number of rotations before it. */
  readonly generation: number
}

/** The result of using a refresh token. */
export interface Rotation {
  readonly authorization: Authorization
  /** The token to use next. */
  readonly token: string
}

/**
 * Refresh tokens: 256 bits, stored as hashes, rotating. The tokens of a grant form generations, and using a token gives one
 * of the next generation.
 *
 * A generation is spent from its first use on, which starts a counter. A client whose response was lost may use its token
 * again within the grace, whichever step of the first use failed, and gets another token of the same next generation. Later,
 * a token of a spent generation means that somebody else has one, and the whole grant is revoked (RFC 9700 §4.14.2).
 */
export class RefreshTokens {
  readonly #records: Records
  readonly #revocations: RevocationRecords
  readonly #lifetimeMs: number
  readonly #graceMs: number
  /** A generation's tokens expire by then: the last was issued within the grace of the generation before. */
  readonly #spentMs: number

  /** @param lifetimeMs from a token's issue; each rotation starts it anew */
  constructor(records: Records, revocations: RevocationRecords, lifetimeMs: number, graceMs: number) {
    this.#records = records
    this.#revocations = revocations
    this.#lifetimeMs = lifetimeMs
    this.#graceMs = graceMs
    this.#spentMs = lifetimeMs + graceMs
  }

  /** Issues the first token of a grant. */
  issue(authorization: Authorization): Promise<string> {
    return this.#token(authorization, 0)
  }

  /** The authorization behind a token, spent or not. Does not use the token. */
  async find(token: string): Promise<Authorization | undefined> {
    return (await this.#record(token))?.authorization
  }

  /** The authorization behind a token that is neither spent nor revoked. Does not use the token. */
  async findUnused(token: string): Promise<Authorization | undefined> {
    const record = await this.#record(token)
    if (!record || (await this.#revocations.isGrantRevoked(record.authorization.grantId))) return undefined
    const { total } = await this.#countUse(record, 0)
    return total === 0 ? record.authorization : undefined
  }

  /** Uses a token. Undefined if it is unknown, expired, spent or revoked. */
  async rotate(token: string): Promise<Rotation | undefined> {
    const record = await this.#record(token)
    if (!record || (await this.#revocations.isGrantRevoked(record.authorization.grantId))) return undefined
    const { authorization, generation } = record
    const { endsInMs } = await this.#countUse(record, 1)
    const sinceFirstUseMs = this.#spentMs - endsInMs
    if (sinceFirstUseMs > this.#graceMs) {
      await this.#revocations.revokeGrant(authorization.grantId)
      return undefined
    }
    return { authorization, token: await this.#token(authorization, generation + 1) }
  }

  #record(token: string): Promise<TokenRecord | undefined> {
    return this.#records.get<TokenRecord>('refresh', hashOf(token))
  }

  #countUse({ authorization, generation }: TokenRecord, by: 0 | 1) {
    return this.#records.count('generation', `${authorization.grantId}.${generation}`, by, this.#spentMs)
  }

  async #token(authorization: Authorization, generation: number): Promise<string> {
    const token = newSecret()
    const record: TokenRecord = { authorization, generation }
    await this.#records.set('refresh', hashOf(token), record, this.#lifetimeMs)
    return token
  }
}
