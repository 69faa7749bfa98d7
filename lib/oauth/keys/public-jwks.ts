import type { KeyObject } from 'node:crypto'
import { isJsonObject } from '../../http/json'
import { clientPublicKey } from './signing-algorithm'

/** Each may cost a signature check. */
const MOST_KEYS = 10

/** A key of a client, as object and as published. */
export interface PublicJwk {
  readonly key: KeyObject
  /** Its public members, and `kid`. */
  readonly jwk: { readonly kty?: string; readonly kid?: string }
}

/**
 * The usable keys of a JWK set (RFC 7517 §5): public ones of RSA, EC P-256 and Ed25519 that sign, at most ten. Others are left
 * out (§5), also what is no JWK set.
 */
export function readPublicJwks(jwks: unknown): readonly PublicJwk[] {
  const keys: unknown = isJsonObject(jwks) ? jwks.keys : undefined
  return Array.isArray(keys) ? keys.slice(0, MOST_KEYS).flatMap(readPublicJwk) : []
}

function readPublicJwk(jwk: unknown): readonly PublicJwk[] {
  if (!isJsonObject(jwk) || jwk.use === 'enc' || 'd' in jwk) return []
  try {
    const key = clientPublicKey('jwks', jwk)
    const { kid } = jwk
    return [{ key, jwk: { ...key.export({ format: 'jwk' }), ...(typeof kid === 'string' && { kid }) } }]
  } catch {
    return []
  }
}
