import { isSignedWith } from '../../bearer/keys/signature'
import { isJsonObject } from '../../http/json'
import type { RingKey } from './keyring'
import type { JwtKind } from './signed-jwt'

/** The claims of RFC 7519 §4.1 and any others. Declared here so that users need not install jsonwebtoken's types. */
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

type FindKey = (kid: string) => RingKey | undefined

/**
 * The payload of a JWT signed by one of this server's keys, or undefined. Does not check its times.
 *
 * @param find the keys that may have signed it, by id
 */
export function verifiedPayload(token: string, { typ, longest }: JwtKind, find: FindKey): SignedClaims | undefined {
  if (token.length > longest || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined
  try {
    const header = JSON.parse(Buffer.from(token.split('.', 1)[0] as string, 'base64url').toString()) as unknown
    if (typeof header !== 'object' || header === null) return undefined
    const { kid, typ: given } = header as { kid?: unknown; typ?: unknown }
    const key = typeof kid === 'string' && given === typ ? find(kid) : undefined
    if (!key) return undefined
    if (!isSignedWith(token, key.alg, { kid: key.kid, algorithms: [key.alg], issuer: undefined, key: key.publicKey }))
      return undefined
    const payload = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as unknown
    return isJsonObject(payload) ? payload : undefined
  } catch {
    return undefined // not JSON
  }
}
