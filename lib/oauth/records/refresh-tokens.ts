import { hashOf, newSecret } from '../../http/secret'
import type { Authorization } from './authorization'
import type { Records } from './records'
import type { RevocationRecords } from './revocation-records'

interface TokenRecord {
  readonly grantId: string
  readonly clientId: string
  readonly generation: number
}

/** What a refresh token was good for. */
export interface Rotation {
  readonly authorization: Authorization
  /** The token to use next. */
  readonly token: string
}

/**
 * Refresh tokens: 256 bits, kept as hashes, rotating. The tokens of a grant form generations; the first use of any token
 * of a generation begins the next.
 *
 * A client whose response got lost may ask again within the grace and is given another token of the same next
 * generation. Afterwards a token of a spent generation means that somebody else has one, and the whole grant is revoked
 * (RFC 9700 §4.14.2).
 */
export class RefreshTokens {
  readonly #records: Records
  readonly #revocations: RevocationRecords
  readonly #lifetimeMs: number
  readonly #graceMs: number

  /** @param lifetimeMs from a token's issue; each rotation begins it anew */
  constructor(records: Records, revocations: RevocationRecords, lifetimeMs: number, graceMs: number) {
    this.#records = records
    this.#revocations = revocations
    this.#lifetimeMs = lifetimeMs
    this.#graceMs = graceMs
  }

  /** The first token of a grant. */
  async issue(authorization: Authorization): Promise<string> {
    await this.#begin(authorization, 0)
    return this.#token(authorization, 0)
  }

  /** Whose token it is: asked before it is used, so that nobody can spend another client's. */
  async owner(token: string): Promise<{ grantId: string; clientId: string } | undefined> {
    return this.#records.get<TokenRecord>('refresh', hashOf(token))
  }

  /** What is behind a token, without using it: undefined where it is spent or revoked. */
  async findUnused(token: string): Promise<Authorization | undefined> {
    const record = await this.#records.get<TokenRecord>('refresh', hashOf(token))
    if (!record || (await this.#revocations.isGrantRevoked(record.grantId))) return undefined
    const next = await this.#records.get(...generationKey(record.grantId, record.generation + 1))
    if (next !== undefined) return undefined
    return this.#records.get<Authorization>(...generationKey(record.grantId, record.generation))
  }

  /** Uses a token. Undefined where it is not valid, any more or at all. */
  async rotate(token: string): Promise<Rotation | undefined> {
    const record = await this.#records.get<TokenRecord>('refresh', hashOf(token))
    if (!record || (await this.#revocations.isGrantRevoked(record.grantId))) return undefined
    const { grantId, generation } = record
    const claim = await this.#records.claim<Authorization>(...generationKey(grantId, generation), this.#lifetimeMs)
    if (!claim) return undefined
    const authorization = claim.value
    if (claim.first) await this.#begin(authorization, generation + 1)
    else if (claim.agoMs > this.#graceMs) {
      await this.#revocations.revokeGrant(grantId)
      return undefined
    }
    return { authorization, token: await this.#token(authorization, generation + 1) }
  }

  #begin(authorization: Authorization, generation: number): Promise<void> {
    return this.#records.set(...generationKey(authorization.grantId, generation), authorization, this.#lifetimeMs)
  }

  async #token({ grantId, clientId }: Authorization, generation: number): Promise<string> {
    const token = newSecret()
    const record: TokenRecord = { grantId, clientId, generation }
    await this.#records.set('refresh', hashOf(token), record, this.#lifetimeMs)
    return token
  }
}

function generationKey(grantId: string, generation: number): ['generation', string] {
  return ['generation', `${grantId}.${generation}`]
}
