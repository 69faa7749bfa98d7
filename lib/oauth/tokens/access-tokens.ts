import { isSignedWith } from '../../bearer/keys/signature'
import type { Clock } from '../../http/clock'
import { isJsonObject } from '../../http/json'
import type { Keyring } from './keyring'
import type { Records } from '../records/records'
import type { Revocations } from '../records/revocations'
import { hashOf, newId, newSecret } from '../../http/secret'
import { signedJwt } from './signed-jwt'

/** The claim that marks an unauthenticated session, and its value: `requireBearer()` reads it. */
export const UNAUTHENTICATED_MARK = { session_kind: 'unauthenticated' } as const

/** What an access token says (RFC 9068 §2.2); the same where the token is opaque. */
export interface AccessTokenClaims {
  readonly iss: string
  readonly sub: string
  readonly aud: string
  readonly client_id: string
  readonly iat: number
  readonly exp: number
  readonly jti: string
  /** Names the authorization behind the token, for revoking all that came of it. */
  readonly grant_id: string
  readonly scope?: string
  readonly auth_time?: number
  readonly sid?: string
  readonly session_kind?: 'unauthenticated'
}

/** What a token is issued for. */
export interface AccessTokenRequest {
  readonly sub: string
  readonly clientId: string
  readonly grantId: string
  readonly scope?: readonly string[]
  readonly authTimeSec?: number
  readonly sid?: string
  readonly unauthenticated?: boolean
}

/** How access tokens are made. */
export interface AccessTokenSettings {
  readonly issuer: string
  readonly audience: string
  readonly format: 'jwt' | 'opaque'
  readonly lifetimeSec: number
  /** Opaque tokens only. */
  readonly idleSec: number
}

/** Issues and checks access tokens: signed JWTs, or opaque ones of 256 bits that are kept as hashes. */
export class AccessTokens {
  readonly #settings: AccessTokenSettings
  readonly #keyring: Keyring
  readonly #records: Records
  readonly #revocations: Revocations
  readonly #clock: Clock

  constructor(
    settings: AccessTokenSettings,
    keyring: Keyring,
    records: Records,
    revocations: Revocations,
    clock: Clock,
  ) {
    this.#settings = settings
    this.#keyring = keyring
    this.#records = records
    this.#revocations = revocations
    this.#clock = clock
  }

  /** A new token and the seconds it lives. */
  async issue(request: AccessTokenRequest): Promise<{ token: string; expiresInSec: number }> {
    const { issuer, audience, format, lifetimeSec, idleSec } = this.#settings
    const iat = Math.floor(this.#clock.date() / 1_000)
    const claims: AccessTokenClaims = {
      iss: issuer,
      sub: request.sub,
      aud: audience,
      client_id: request.clientId,
      iat,
      exp: iat + lifetimeSec,
      jti: newId(),
      grant_id: request.grantId,
      ...(request.scope && request.scope.length > 0 && { scope: request.scope.join(' ') }),
      ...(request.authTimeSec !== undefined && { auth_time: request.authTimeSec }),
      ...(request.sid !== undefined && { sid: request.sid }),
      ...(request.unauthenticated && UNAUTHENTICATED_MARK),
    }
    if (format === 'opaque') {
      const token = newSecret()
      await this.#records.set('token', hashOf(token), claims, Math.min(idleSec, lifetimeSec) * 1_000)
      return { token, expiresInSec: lifetimeSec }
    }
    return { token: await signedJwt('at+jwt', claims, this.#keyring.current()), expiresInSec: lifetimeSec }
  }

  /** What the token says, if it is one of ours, in time and not revoked. */
  async check(token: string): Promise<AccessTokenClaims | undefined> {
    const claims = token.includes('.') ? this.#ofJwt(token) : await this.#ofOpaque(token)
    if (!claims || claims.exp * 1_000 <= this.#clock.date()) return undefined
    return (await this.#revocations.isRevoked(claims)) ? undefined : claims
  }

  #ofJwt(token: string): AccessTokenClaims | undefined {
    const payload = verifiedPayload(token, 'at+jwt', this.#keyring)
    return payload?.iss === this.#settings.issuer ? (payload as unknown as AccessTokenClaims) : undefined
  }

  /** Looking at an opaque token keeps it from being idle. */
  #ofOpaque(token: string): Promise<AccessTokenClaims | undefined> {
    if (!/^[A-Za-z0-9_-]{43}$/.test(token)) return Promise.resolve(undefined)
    return this.#records.get<AccessTokenClaims>('token', hashOf(token), this.#settings.idleSec * 1_000)
  }
}

const LONGEST_JWT = 8_192

/** The claims of RFC 7519 §4.1, and any others. Our own type: whoever uses this package need not have jsonwebtoken's. */
export interface SignedClaims {
  readonly iss?: string | undefined
  readonly sub?: string | undefined
  readonly aud?: string | string[] | undefined
  readonly exp?: number | undefined
  readonly nbf?: number | undefined
  readonly iat?: number | undefined
  readonly jti?: string | undefined
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [claim: string]: any
}

/** The payload of a JWT that one of our keys has signed, of the type asked for. Its times are not looked at. */
export function verifiedPayload(token: string, typ: string, keyring: Keyring): SignedClaims | undefined {
  if (token.length > LONGEST_JWT || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined
  try {
    const header = JSON.parse(Buffer.from(token.split('.', 1)[0] as string, 'base64url').toString()) as unknown
    if (typeof header !== 'object' || header === null) return undefined
    const { kid, typ: given } = header as { kid?: unknown; typ?: unknown }
    const key = typeof kid === 'string' && given === typ ? keyring.find(kid) : undefined
    if (!key) return undefined
    if (!isSignedWith(token, { kid: key.kid, algorithm: key.alg, key: key.publicKey })) return undefined
    const payload = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as unknown
    return isJsonObject(payload) ? payload : undefined
  } catch {
    return undefined // it is no JSON
  }
}
