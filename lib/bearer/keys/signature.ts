import { verify as verifyBytes } from 'node:crypto'
import { verify as verifyToken } from 'jsonwebtoken'
import type { VerifyKey } from './verify-key'

/**
 * Whether a compact JWS was signed with this key, by the one algorithm the key is pinned to. Nothing else is decided
 * here: what the claims say is checked by this package itself.
 *
 * @param token three parts of canonical base64url, as `readJws` takes them
 */
export function isSignedWith(token: string, { algorithm, key }: VerifyKey): boolean {
  try {
    if (algorithm === 'EdDSA') {
      const dot = token.lastIndexOf('.')
      const signed = Buffer.from(token.slice(0, dot), 'latin1')
      return verifyBytes(null, signed, key, Buffer.from(token.slice(dot + 1), 'base64url'))
    }
    verifyToken(token, key, { algorithms: [algorithm], ignoreExpiration: true, ignoreNotBefore: true })
    return true
  } catch {
    return false // jsonwebtoken throws errors of several classes, plain ones among them
  }
}
