import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../http/clock'
import { hashOf } from '../../http/secret'
import { OFFLINE_ACCESS } from '../identity-scopes'
import type { Authorization } from './authorizations'
import { ofUser } from './owners'
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
  /** When its token ends, in milliseconds since 1970. */
  readonly endsAtMs: number
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
 * A client whose response was lost may use its token again until the token's own end, as long as nobody has used the next
 * one: it gets the same next token, whichever step of the first use failed. Once the next one was used, a token of the
 * generation before means that somebody else has one, and the whole grant ends (RFC 9700 §4.14.2).
 */
export class RefreshTokens {
  /**
   * @param lifetimeMs from a token's issue; each rotation starts it anew
   * @param mostMs from the sign-in, however often a token is rotated
   * @param isStrict each token is good once, also where the response was lost
   */
  constructor(
    private readonly records: Records,
    private readonly revocations: RevocationRecords,
    private readonly clock: Clock,
    private readonly lifetimeMs: number,
    private readonly mostMs: number,
    private readonly isStrict: boolean,
  ) {}

  /**
   * Issues the first token of a grant.
   *
   * @param seed 48 secret bytes. The same ones give the same token: a code that is redeemed again leaves no further record
   */
  async issue(authorization: Authorization, seed: Buffer): Promise<string> {
    const handle = seed.subarray(0, HANDLE_BYTES)
    const key = seed.toString('base64url', HANDLE_BYTES, SEED_BYTES)
    return this.keep(handle, { authorization, key, number: 0 })
  }

  /** A token that this server issued, spent or not, or undefined. Does not use it. */
  async find(token: string): Promise<FoundRefreshToken | undefined> {
    const bytes = Buffer.from(token, 'base64url')
    if (bytes.length !== TOKEN_BYTES || bytes.toString('base64url') !== token) return undefined
    const handle = bytes.subarray(0, HANDLE_BYTES)
    const number = bytes.readUInt32BE(HANDLE_BYTES)
    const kept = await this.records.get<Generation>('refresh', placeOf(handle, number))
    if (!kept || kept.number < number || !isMac(bytes, kept.key)) return undefined
    if (kept.number === number && this.clock.date() >= kept.endsAtMs) return undefined
    return { authorization: kept.authorization, handle, number, kept }
  }

  /** A token that is not spent. Does not use it. */
  async findUnused(token: string): Promise<FoundRefreshToken | undefined> {
    const found = await this.find(token)
    return !found || found.kept.number > found.number || (await this.next(found)) ? undefined : found
  }

  /**
   * What a refresh token's grant is good for now: nothing once it is revoked. After sign-out one with `offline_access` goes
   * on, apart from the session (Back-Channel Logout 1.0 §2.7): new tokens do not name it.
   *
   * @param scope what the app may still have of the scope that was granted
   */
  async stillGood(granted: Authorization, scope: readonly string[]): Promise<Authorization | undefined> {
    const state = await this.revocations.stateOf(granted)
    if (state === 'live') return { ...granted, scope }
    const goesOn = state === 'signed out' && scope.includes(OFFLINE_ACCESS)
    return goesOn ? { ...granted, scope, sid: undefined } : undefined
  }

  /** Uses a token and returns the next one. Undefined if it is spent: somebody else has one, too. */
  async rotate(found: FoundRefreshToken): Promise<string | undefined> {
    const { handle, number, kept } = found
    // The generation after the next takes the place of this one: from then on the next one was used.
    const claim =
      kept.number > number
        ? undefined
        : await this.records.claim<Generation>('refresh', placeOf(handle, number), this.lifetimeMs)
    if (claim?.value.number !== number || (this.isStrict && !claim.first)) return undefined
    // Written only if it is missing: a rewrite would erase the claim of an earlier use, and start its lifetime anew.
    const next = claim.first ? undefined : await this.next(found)
    return next ? tokenOf(handle, next) : this.keep(handle, { ...kept, number: number + 1 })
  }

  /** The generation after that of the token, if the token has been used. */
  private async next({ handle, number }: FoundRefreshToken): Promise<Generation | undefined> {
    const after = await this.records.get<Generation>('refresh', placeOf(handle, number + 1))
    return after && after.number > number ? after : undefined
  }

  private async keep(handle: Buffer, generation: Omit<Generation, 'endsAtMs'>): Promise<string> {
    const now = this.clock.date()
    const endsAtMs = Math.min(now + this.lifetimeMs, generation.authorization.authTimeSec * 1_000 + this.mostMs)
    const kept: Generation = { ...generation, endsAtMs }
    const owner = ofUser(kept.authorization.userId)
    await this.records.set('refresh', placeOf(handle, kept.number), kept, Math.max(1, endsAtMs - now), owner)
    return tokenOf(handle, kept)
  }
}

/** Where the two records of a grant are, by the seed of its first token. */
export function placesOf(seed: Buffer): readonly (readonly ['refresh', string])[] {
  return [0, 1].map((number) => ['refresh', placeOf(seed.subarray(0, HANDLE_BYTES), number)] as const)
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
