import type { Clock } from '../../http/clock'
import type { Keyring } from '../keys/keyring'
import type { JsonObject } from '../../http/json'
import type { KnownUsers } from '../directories/rows'
import type { User } from '../directories/user'
import type { Authorization } from '../records/authorizations'
import type { Owner } from '../records/owners'
import type { RecordKind, Records } from '../records/records'
import { type Revocable, type RevocationRecords, isOfUser } from '../records/revocation-records'
import { KIND_CLAIM } from '../../bearer/session/session'
import { hashOf, newId, newSecret } from '../../http/secret'
import { warnOnce } from '../../http/warn-once'
import { AUTHORIZATION_CLAIMS } from '../identity-scopes'
import { type JwtKind, signedJwt, verifiedPayload } from '../keys/signed-jwt'

/** Marks an unauthenticated session for `requireBearer()`. */
const UNAUTHENTICATED_CLAIMS = { [KIND_CLAIM]: 'unauthenticated' } as const

/** RFC 9068. Node takes 16 KiB of header fields, and a request has others. */
const ACCESS_TOKEN: JwtKind = { typ: 'at+jwt', longest: 12_288 }
/** The most bytes of claims that fit into a token with its header and an RSA signature of 8,192 bits. */
const LONGEST_CLAIMS = 7_800

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
  /** How strong the login was and how it was done (RFC 9470 §6.1): where the app asked, or the sign-in page said it. */
  readonly acr?: string
  readonly amr?: readonly string[]
  /** Only after `revokeUser()`, or after the user withdrew the app: tells this login from those before. */
  readonly user_mark?: string
  readonly app_mark?: string
  readonly session_kind?: 'unauthenticated'
  /**
   * Names of claims that the app requested one by one: userinfo has them in addition to those of the scopes (OIDC Core
   * §5.5).
   */
  readonly userinfo_claims?: readonly string[]
  /** The key that the token is bound to (RFC 9449 §6.1). */
  readonly cnf?: { readonly jkt: string }
  /** The user's `roles`, `groups` and `entitlements` where a scope grants them, and those of `accessTokenClaims`. */
  readonly [claim: string]: unknown
}

/** What to issue a token for. */
export interface AccessTokenRequest {
  readonly owner: Owner
  readonly clientId: string
  readonly scope: readonly string[]
  readonly audience: readonly string[]
  /** The thumbprint of the key to bind the token to. */
  readonly jkt: string | undefined
  /** Undefined: the app itself. */
  readonly authorization?: Authorization
  readonly unauthenticated?: boolean
  readonly userinfoClaims?: readonly string[]
  /** Claims of the app's own, none of them in {@link OWN_CLAIMS}. */
  readonly more?: JsonObject
}

/** An access token that counts now. */
export interface ActiveToken {
  readonly claims: AccessTokenClaims
  /** Undefined: the app itself. */
  readonly user?: User
}

/** How access tokens are issued. */
export interface AccessTokenSettings {
  readonly issuer: string
  readonly format: 'jwt' | 'opaque'
  readonly lifetimeSec: number
  /** Opaque tokens only. */
  readonly idleSec: number
}

/** Issues and checks access tokens: signed JWTs, or opaque tokens of 256 bits, stored as hashes. */
export class AccessTokens {
  constructor(
    private readonly settings: AccessTokenSettings,
    private readonly keyring: Keyring,
    private readonly records: Records,
    private readonly revocations: RevocationRecords,
    private readonly users: KnownUsers,
    private readonly isApp: (clientId: string) => Promise<boolean>,
    private readonly clock: Clock,
  ) {}

  /** Whether each token takes a record. */
  get areStored(): boolean {
    return this.settings.format === 'opaque'
  }

  /** Issues a token. Returns it with its lifetime in seconds. */
  async issue(request: AccessTokenRequest): Promise<{ token: string; expiresInSec: number }> {
    const { issuer, lifetimeSec, idleSec } = this.settings
    const { clientId, scope, audience, jkt, authorization, userinfoClaims = [] } = request
    const iat = Math.floor(this.clock.date() / 1_000)
    const claims: AccessTokenClaims = {
      ...request.more,
      iss: issuer,
      sub: authorization?.userId ?? clientId, // RFC 9068 §2.2: without a user, the app
      aud: audience.length === 1 ? (audience[0] as string) : audience,
      client_id: clientId,
      iat,
      exp: iat + lifetimeSec,
      jti: newId(),
      grant_id: authorization?.grantId ?? newId(),
      ...(scope.length > 0 && { scope: scope.join(' ') }),
      ...(authorization && claimsOfUser(authorization)),
      ...(request.unauthenticated && UNAUTHENTICATED_CLAIMS),
      ...(jkt !== undefined && { cnf: { jkt } }),
      ...(userinfoClaims.length > 0 && { userinfo_claims: userinfoClaims }),
    }
    if (this.areStored) {
      const token = request.unauthenticated ? UNAUTHENTICATED_PREFIX + newSecret() : newSecret()
      const idleMs = Math.min(idleSec, lifetimeSec) * 1_000
      await this.records.set(recordKindOf(token), hashOf(token), claims, idleMs, request.owner)
      return { token, expiresInSec: lifetimeSec }
    }
    return { token: await this.jwtOf(claims), expiresInSec: lifetimeSec }
  }

  /** An active token: this server issued it, it has not expired, is not revoked, and its app and user still exist. */
  async check(token: string): Promise<ActiveToken | undefined> {
    const claims = token.includes('.') ? this.ofJwt(token) : await this.ofOpaque(token)
    if (!claims || claims.exp * 1_000 <= this.clock.date()) return undefined
    if ((await this.revocations.isRevoked(claims)) || !(await this.isApp(claims.client_id))) return undefined
    if (!isOfUser(claims)) return { claims }
    const user = await this.users.find(claims.sub)
    return user && { claims, user }
  }

  /** Whether a token with these claims is revoked, or its app or user is gone. */
  async isOver(claims: Revocable): Promise<boolean> {
    const { client_id: clientId } = claims
    if (await this.revocations.isRevoked(claims)) return true
    if (clientId !== undefined && !(await this.isApp(clientId))) return true
    return isOfUser(claims) && !(await this.users.find(claims.sub))
  }

  /** Of a user's groups and roles, what makes the token too long is left out, the longest list first. Userinfo has them. */
  private jwtOf(claims: AccessTokenClaims): Promise<string> {
    const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
    const lists = AUTHORIZATION_CLAIMS.filter((name) => name in claims)
    lists.sort((one, other) => sizeOf(claims[other]) - sizeOf(claims[one]))
    let fitting = claims
    for (const name of lists) {
      if (sizeOf(fitting) <= LONGEST_CLAIMS) break
      fitting = { ...fitting, [name]: undefined }
      const message = `${name} would make an access token longer than ${ACCESS_TOKEN.longest} characters`
      const remedy = `Let accessTokenClaims add what the API needs of it, or ask for no scope that brings it`
      warnOnce('TOLLGATE_LONG_TOKEN', `${message} and is left out: userinfo has it. ${remedy}`, `long token: ${name}`)
    }
    return signedJwt(ACCESS_TOKEN, fitting, this.keyring.current())
  }

  private ofJwt(token: string): AccessTokenClaims | undefined {
    const payload = verifiedPayload(token, ACCESS_TOKEN, (kid) => this.keyring.find(kid))
    return payload?.iss === this.settings.issuer ? (payload as unknown as AccessTokenClaims) : undefined
  }

  /** Each look-up restarts the idle time. */
  private ofOpaque(token: string): Promise<AccessTokenClaims | undefined> {
    if (!/^u?[A-Za-z0-9_-]{43}$/.test(token)) return Promise.resolve(undefined)
    return this.records.get<AccessTokenClaims>(recordKindOf(token), hashOf(token), this.settings.idleSec * 1_000)
  }
}

function claimsOfUser({ authTimeSec, sid, userMark, appMark, acr, amr }: Authorization) {
  return {
    auth_time: authTimeSec,
    ...(sid !== undefined && { sid }),
    ...(userMark !== undefined && { user_mark: userMark }),
    ...(appMark !== undefined && { app_mark: appMark }),
    ...(acr !== undefined && { acr }),
    ...(amr && { amr }),
  }
}

/** Claims that this server sets by itself, or not at all. */
export const OWN_CLAIMS: readonly string[] = [
  ...['iss', 'sub', 'aud', 'client_id', 'iat', 'nbf', 'exp', 'jti', 'grant_id', 'scope'],
  ...['auth_time', 'sid', 'acr', 'amr', 'user_mark', 'app_mark', KIND_CLAIM, 'cnf', 'userinfo_claims'],
]

/** Of an opaque token. Those of unauthenticated sessions are of a kind that a store can limit. */
function recordKindOf(token: string): RecordKind {
  return token.length > OPAQUE_LENGTH ? 'unauthenticated' : 'token'
}
