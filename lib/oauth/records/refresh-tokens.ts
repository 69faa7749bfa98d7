import { createHmac, timingSafeEqual } from 'node:crypto'
import { hashOf } from '../../http/secret'
import type { Authorization } from './authorization'
import type { Records } from './records'
import type { RevocationRecords } from './revocation-records'

/** Bytes of a token's parts: the grant's handle, the generation, and a MAC of both. Together 48 base64url characters. */
const [HANDLE_BYTES, GENERATION_BYTES, MAC_BYTES] = [16, 4, 16]
const TOKEN_BYTES = HANDLE_BYTES + GENERATION_BYTES + MAC_BYTES
/** Bytes that the first token of a grant is made of: its handle and the key of its MACs. */
export const SEED_BYTES = HANDLE_BYTES + 32

/** A generation, as kept. A grant has two: the latest, and the one before. */
interface Generation {
  readonly authorization: Authorization
  /** The key of the grant's MACs: worth nothing without the handle, of which the store has only a hash. */
  readonly key: string
  /** How many rotations were before. */
  readonly number: number
}

/** A refresh token that this server issued. */
export interface FoundRefreshToken {
  readonly authorization: Authorization
  readonly handle: Buffer
  readonly number: number
  /** What is kept in the token's place: of its own generation, or of a later one. */
  readonly kept: Generation
}

/**
 * Refresh tokens, rotating. Using one gives the one token of the next generation. Its MAC shows that this server made it, so a
 * grant has two records however often it is refreshed: generations with even and with odd numbers take turns.
 *
 * A generation is spent from its first use on, which claims its record. A client whose response was lost may use its token
 * again within the grace, whichever step of the first use failed, and gets the same next token. Later, a token of a spent
 * generation means that somebody else has one, and the whole grant is revoked (RFC 9700 §4.14.2).
 */
export class RefreshTokens {
  readonly #records: Records
  readonly #revocations: RevocationRecords
  readonly #lifetimeMs: number
  readonly #graceMs: number

  /** @param lifetimeMs from a token's issue; each rotation starts it anew */
  constructor(records: Records, revocations: RevocationRecords, lifetimeMs: number, graceMs: number) {
    this.#records = records
    this.#revocations = revocations
    this.#lifetimeMs = lifetimeMs
    this.#graceMs = graceMs
  }

  /**
   * Issues the first token of a grant.
   *
   * @param seed 48 secret bytes. The same ones give the same token: a code that is redeemed again leaves no further record
   */
  async issue(authorization: Authorization, seed: Buffer): Promise<string> {
    const handle = seed.subarray(0, HANDLE_BYTES)
    const first: Generation = { authorization, key: seed.toString('base64url', HANDLE_BYTES, SEED_BYTES), number: 0 }
    await this.#keep(handle, first)
    return tokenOf(handle, first)
  }

  /** A token that this server issued, spent or not, or undefined. Does not use it. */
  async find(token: string): Promise<FoundRefreshToken | undefined> {
    const bytes = Buffer.from(token, 'base64url')
    if (bytes.length !== TOKEN_BYTES || bytes.toString('base64url') !== token) return undefined
    const handle = bytes.subarray(0, HANDLE_BYTES)
    const number = bytes.readUInt32BE(HANDLE_BYTES)
    const kept = await this.#records.get<Generation>('refresh', placeOf(handle, number))
    if (!kept || kept.number < number || !isMac(bytes, kept.key)) return undefined
    return { authorization: kept.authorization, handle, number, kept }
  }

  /** The authorization behind a token that is neither spent nor revoked. Does not use the token. */
  async findUnused(token: string): Promise<Authorization | undefined> {
    const found = await this.find(token)
    if (!found || found.kept.number > found.number) return undefined
    const [next, isRevoked] = await Promise.all([
      this.#next(found),
      this.#revocations.isGrantRevoked(found.authorization),
    ])
    return next || isRevoked ? undefined : found.authorization
  }

  /** Uses a token and returns the next one. Undefined if it is spent: then its grant is revoked. */
  async rotate(found: FoundRefreshToken): Promise<string | undefined> {
    const { authorization, handle, number, kept } = found
    const claim =
      kept.number > number
        ? undefined
        : await this.#records.claim<Generation>('refresh', placeOf(handle, number), this.#lifetimeMs + this.#graceMs)
    const isAgain = claim?.first === false && this.#graceMs > 0 && claim.agoMs <= this.#graceMs
    if (claim?.value.number !== number || !(claim.first || isAgain)) {
      await this.#revocations.revokeGrant(authorization.grantId)
      return undefined
    }
    const next = { ...kept, number: number + 1 }
    // Written only if it is missing: a rewrite would erase the claim of an earlier use.
    if (claim.first || !(await this.#next(found))) await this.#keep(handle, next)
    return tokenOf(handle, next)
  }

  /** The generation after that of the token, if the token has been used. */
  async #next({ handle, number }: FoundRefreshToken): Promise<Generation | undefined> {
    const after = await this.#records.get<Generation>('refresh', placeOf(handle, number + 1))
    return after && after.number > number ? after : undefined
  }

  #keep(handle: Buffer, generation: Generation): Promise<void> {
    return this.#records.set('refresh', placeOf(handle, generation.number), generation, this.#lifetimeMs)
  }
}

function placeOf(handle: Buffer, number: number): string {
  return `${hashOf(handle.toString('base64url'))}.${number % 2}`
}

function tokenOf(handle: Buffer, { key, number }: Generation): string {
  const counter = Buffer.alloc(GENERATION_BYTES)
  counter.writeUInt32BE(number)
  const text = Buffer.concat([handle, counter])
  return Buffer.concat([text, macOf(text, key)]).toString('base64url')
}

function isMac(token: Buffer, key: string): boolean {
  const end = HANDLE_BYTES + GENERATION_BYTES
  return timingSafeEqual(macOf(token.subarray(0, end), key), token.subarray(end))
}

function macOf(text: Buffer, key: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'base64url')).update(text).digest().subarray(0, MAC_BYTES)
}
