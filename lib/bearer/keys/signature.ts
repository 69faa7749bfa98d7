import { type KeyObject, verify as verifyBytes } from 'node:crypto'
import { verify as verifyToken } from 'jsonwebtoken'
import type { Algorithm } from './algorithm'
import type { VerifyKey } from './verify-key'

/**
 * Whether a compact JWS was signed with this key, by an algorithm that the key is for. Nothing else is decided
 * here: what the claims say is checked by this package itself.
 *
 * @param algorithm as the token's header names it
 * @param token three parts of canonical base64url, as `readJws` takes them
 */
export function isSignedWith(token: string, algorithm: string, { algorithms, key }: VerifyKey): boolean {
  return algorithms.some((one) => one === algorithm && isSignedBy(token, one, key))
}

function isSignedBy(token: string, algorithm: Algorithm, key: KeyObject): boolean {
  try {
    if (algorithm === 'EdDSA' || algorithm === 'Ed25519') {
      const dot = token.lastIndexOf('.')
      const signed = Buffer.from(token.slice(0, dot))
      return verifyBytes(null, signed, key, Buffer.from(token.slice(dot + 1), 'base64url'))
    }
    verifyToken(token, key, { algorithms: [algorithm], ignoreExpiration: true, ignoreNotBefore: true })
    return true
  } catch {
    return false // jsonwebtoken throws errors of several classes, plain ones among them
  }
}
