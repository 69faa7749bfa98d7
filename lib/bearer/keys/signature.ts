import { type KeyObject, constants, createHmac, timingSafeEqual, verify } from 'node:crypto'
import type { Algorithm } from './algorithm'
import { derSignature } from './ecdsa-signature'
import type { VerifyKey } from './verify-key'

/**
 * Whether a compact JWS was signed with this key, by one of the key's algorithms. Claims are checked elsewhere.
 *
 * @param algorithm as the token's header names it
 * @param token three parts of canonical base64url, as `readJws` takes them
 */
export function isSignedWith(
  token: string,
  algorithm: string,
  { algorithms, key }: Pick<VerifyKey, 'algorithms' | 'key'>,
): boolean {
  return algorithms.some((one) => one === algorithm && isSignedBy(token, one, key))
}

/** Verifies without jsonwebtoken, which parses the token again and streams it, and takes 1.5 times as long. */
function isSignedBy(token: string, algorithm: Algorithm, key: KeyObject): boolean {
  const dot = token.lastIndexOf('.')
  const signed = Buffer.from(token.slice(0, dot), 'latin1')
  const signature = Buffer.from(token.slice(dot + 1), 'base64url')
  try {
    return matches(signed, signature, algorithm, key)
  } catch {
    return false // node:crypto throws on some keys and signatures that do not belong together
  }
}

/** RFC 7518 §3, RFC 8037 §3.1. */
function matches(signed: Buffer, signature: Buffer, algorithm: Algorithm, key: KeyObject): boolean {
  if (algorithm === 'EdDSA' || algorithm === 'Ed25519') return verify(null, signed, key, signature)
  const hash = `sha${algorithm.slice(2)}`
  switch (algorithm.slice(0, 2)) {
    case 'HS':
      return isSame(createHmac(hash, key).update(signed).digest(), signature)
    case 'ES': {
      const der = derSignature(signature, algorithm)
      return der !== undefined && verify(hash, signed, key, der)
    }
    case 'PS': {
      const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_DIGEST: saltLength } = constants
      return verify(hash, signed, { key, padding, saltLength }, signature)
    }
    default:
      return verify(hash, signed, key, signature)
  }
}

function isSame(expected: Buffer, received: Buffer): boolean {
  return expected.length === received.length && timingSafeEqual(expected, received)
}
