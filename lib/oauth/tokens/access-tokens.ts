import type { Clock } from '../../http/clock'
import type { Keyring } from '../keys/keyring'
import type { RecordKind, Records } from '../records/records'
import type { RevocationRecords } from '../records/revocation-records'
import { KIND_CLAIM } from '../../bearer/session/session'
import { hashOf, newId, newSecret } from '../../http/secret'
import { type JwtKind, signedJwt } from '../keys/signed-jwt'
import { verifiedPayload } from '../keys/verified-jwt'

/** Marks an unauthenticated session for `requireBearer()`. */
const UNAUTHENTICATED_CLAIMS = { [KIND_CLAIM]: 'unauthenticated' } as const

/** RFC 9068. Node takes 16 KiB of header fields, and a request has others. */
const ACCESS_TOKEN: JwtKind = { typ: 'at+jwt', longest: 12_288 }

/** Begins opaque tokens of unauthenticated sessions, which are one character longer than others. */
const UNAUTHENTICATED_PREFIX = 'u'
const OPAQUE_LENGTH = 43

/** The claims of an access token (RFC 9068 §2.2), of either format. */
export interface AccessTokenClaims {
  readonly iss: string
  readonly sub: string
  readonly aud: string | readonly string[]
  readonly client_id: string
  readonly iat: number
  readonly exp: number
  readonly jti: string
  /** The token's grant: revoking it revokes every token of the same grant. */
  readonly grant_id: string
  readonly scope?: string
  readonly auth_time?: number
  readonly sid?: string
  /** Only after `revokeUser()`: tells this login from those before. */
  readonly user_mark?: string
  readonly session_kind?: 'unauthenticated'
  /**
   * Names of claims that the app requested one by one: userinfo has them in addition to those of the scopes (OIDC Core
   * §5.5).
   */
  readonly userinfo_claims?: readonly string[]
  /** The key that the token is bound to (RFC 9449 §6.1). */
  readonly cnf?: { readonly jkt: string }
}

/** What to issue a token for. */
export interface AccessTokenRequest {
  readonly sub: string
  readonly clientId: string
  readonly grantId: string
  readonly scope?: readonly string[]
  readonly authTimeSec?: number
  readonly sid?: string
  readonly userMark?: string
  readonly unauthenticated?: boolean
  readonly userinfoClaims?: readonly string[]
  /** Default: the server's. */
  readonly audience?: readonly string[]
  /** The thumbprint of the key to bind the token to. */
  readonly jkt?: string
}

/** How access tokens are issued. */
export interface AccessTokenSettings {
  readonly issuer: string
  readonly audience: readonly string[]
  readonly format: 'jwt' | 'opaque'
  readonly lifetimeSec: number
  /** Opaque tokens only. */
  readonly idleSec: number
}

/** Issues and checks access tokens: signed JWTs, or opaque tokens of 256 bits, stored as hashes. */
export class AccessTokens {
  readonly #settings: AccessTokenSettings
  readonly #keyring: Keyring
  readonly #records: Records
  readonly #revocations: RevocationRecords
  readonly #clock: Clock

  constructor(
    settings: AccessTokenSettings,
    keyring: Keyring,
    records: Records,
    revocations: RevocationRecords,
    clock: Clock,
  ) {
    this.#settings = settings
    this.#keyring = keyring
    this.#records = records
    this.#revocations = revocations
    this.#clock = clock
  }

  /** Issues a token. Returns it with its lifetime in seconds. */
  async issue(request: AccessTokenRequest): Promise<{ token: string; expiresInSec: number }> {
    const { issuer, audience, format, lifetimeSec, idleSec } = this.#settings
    const aud = request.audience ?? audience
    const iat = Math.floor(this.#clock.date() / 1_000)
    const claims: AccessTokenClaims = {
      iss: issuer,
      sub: request.sub,
      aud: aud.length === 1 ? (aud[0] as string) : aud,
      client_id: request.clientId,
      iat,
      exp: iat + lifetimeSec,
      jti: newId(),
      grant_id: request.grantId,
      ...(request.scope && request.scope.length > 0 && { scope: request.scope.join(' ') }),
      ...(request.authTimeSec !== undefined && { auth_time: request.authTimeSec }),
      ...(request.sid !== undefined && { sid: request.sid }),
      ...(request.userMark !== undefined && { user_mark: request.userMark }),
      ...(request.unauthenticated && UNAUTHENTICATED_CLAIMS),
      ...(request.jkt !== undefined && { cnf: { jkt: request.jkt } }),
      ...(request.userinfoClaims && { userinfo_claims: request.userinfoClaims }),
    }
    if (format === 'opaque') {
      const token = request.unauthenticated ? UNAUTHENTICATED_PREFIX + newSecret() : newSecret()
      const idleMs = Math.min(idleSec, lifetimeSec) * 1_000
      await this.#records.set(recordKindOf(token), hashOf(token), claims, idleMs)
      return { token, expiresInSec: lifetimeSec }
    }
    return { token: await signedJwt(ACCESS_TOKEN, claims, this.#keyring.current()), expiresInSec: lifetimeSec }
  }

  /** The claims of a token, or undefined if this server did not issue it, it has expired, or it is revoked. */
  async check(token: string): Promise<AccessTokenClaims | undefined> {
    const claims = token.includes('.') ? this.#ofJwt(token) : await this.#ofOpaque(token)
    if (!claims || claims.exp * 1_000 <= this.#clock.date()) return undefined
    return (await this.#revocations.isRevoked(claims)) ? undefined : claims
  }

  #ofJwt(token: string): AccessTokenClaims | undefined {
    const payload = verifiedPayload(token, ACCESS_TOKEN, (kid) => this.#keyring.find(kid))
    return payload?.iss === this.#settings.issuer ? (payload as unknown as AccessTokenClaims) : undefined
  }

  /** Each look-up restarts the idle time. */
  #ofOpaque(token: string): Promise<AccessTokenClaims | undefined> {
    if (!/^u?[A-Za-z0-9_-]{43}$/.test(token)) return Promise.resolve(undefined)
    return this.#records.get<AccessTokenClaims>(recordKindOf(token), hashOf(token), this.#settings.idleSec * 1_000)
  }
}

/** Of an opaque token. Those of unauthenticated sessions are of a kind that a store can limit. */
function recordKindOf(token: string): RecordKind {
  return token.length > OPAQUE_LENGTH ? 'unauthenticated' : 'token'
}
