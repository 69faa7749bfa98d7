import { createHash } from 'node:crypto'
import type { Clock } from '../../http/clock'
import type { Keyring } from '../keys/keyring'
import type { Authorization } from '../records/authorizations'
import type { IdentityScopes } from '../identity-scopes'
import { type JwtKind, signedJwt, verifiedPayload } from '../keys/signed-jwt'
import type { SigningAlgorithm } from '../keys/signing-algorithm'
import type { User } from '../directories/user'

/** The claims read from an `id_token_hint` (OIDC Core §3.1.2.1). */
export interface IdTokenHint {
  readonly sub: string
  readonly aud: string
  readonly sid: string | undefined
}

/** It travels in bodies; as a hint, in a form of at most 64 KiB. */
const ID_TOKEN: JwtKind = { typ: 'JWT', longest: 61_440 }

/** Issues id_tokens (OIDC Core §2). */
export class IdTokens {
  constructor(
    private readonly issuer: string,
    private readonly lifetimeSec: number,
    private readonly keyring: Keyring,
    private readonly identity: IdentityScopes,
    private readonly clock: Clock,
  ) {}

  /** @param accessToken the access token of the same response, for `at_hash` (OIDC Core §3.1.3.6) */
  issue(
    authorization: Authorization,
    user: User,
    accessToken: string | undefined,
    nonce: string | undefined,
  ): Promise<string> {
    const key = this.keyring.current()
    const iat = Math.floor(this.clock.date() / 1_000)
    const claims = {
      ...this.identity.idToken(authorization.scope, user, authorization.idTokenClaims, accessToken === undefined),
      iss: this.issuer,
      sub: user.id,
      aud: authorization.clientId,
      iat,
      exp: iat + this.lifetimeSec,
      auth_time: authorization.authTimeSec,
      amr: authorization.amr ?? ['pwd'],
      ...(authorization.acr !== undefined && { acr: authorization.acr }),
      ...(authorization.sid !== undefined && { sid: authorization.sid }),
      ...(accessToken !== undefined && { at_hash: halfHash(accessToken, key.alg) }),
      ...(nonce !== undefined && { nonce }),
    }
    return signedJwt(ID_TOKEN, claims, key)
  }

  /** The claims of a hint that this server signed, else undefined. An expired one is accepted, also one of a
   * key that signs no more: it grants nothing. */
  read(token: string): IdTokenHint | undefined {
    const { iss, sub, aud, sid } =
      verifiedPayload(token, ID_TOKEN, (kid) => this.keyring.all().find((key) => key.kid === kid)) ?? {}
    if (iss !== this.issuer || typeof sub !== 'string' || typeof aud !== 'string') return undefined
    return { sub, aud, sid: typeof sid === 'string' ? sid : undefined }
  }
}

/** The left half of a hash of the signature's own kind (OIDC Core §3.1.3.6); Ed25519's is SHA-512 (RFC 8032 §5.1). */
function halfHash(token: string, alg: SigningAlgorithm): string {
  const digest = createHash(alg === 'EdDSA' ? 'sha512' : 'sha256')
    .update(token)
    .digest()
  return digest.toString('base64url', 0, digest.length / 2)
}
