import { constants, verify as verifyBytes } from 'node:crypto'
import { verify } from 'jsonwebtoken'
import type { Algorithm } from './algorithm'
import type { VerifyKey } from './verify-key'

/** jsonwebtoken judges the signature alone: claims are checked later, all in one place. */
const SIGNATURE_ALONE = { ignoreExpiration: true, ignoreNotBefore: true } as const

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
  const own = algorithms.find((one) => one === algorithm)
  if (own === undefined) return false
  try {
    if (own.startsWith('Ed') || token.includes('=')) return isSignedUnread(token, own, key)
    verify(token, key, { ...SIGNATURE_ALONE, algorithms: [own as Exclude<Algorithm, `Ed${string}`>] })
    return true
  } catch {
    return false // jsonwebtoken throws, and node:crypto does on keys and signatures that do not belong together
  }
}

/** What jsonwebtoken does not take: EdDSA (RFC 8037 §3.1, RFC 9864 §2.2), and parts that end in `=`. */
function isSignedUnread(token: string, algorithm: Algorithm, publicKey: VerifyKey['key']): boolean {
  const dot = token.lastIndexOf('.')
  const signed = Buffer.from(token.slice(0, dot), 'latin1')
  const signature = Buffer.from(token.slice(dot + 1), 'base64url')
  const isPss = algorithm.startsWith('PS')
  const key = {
    key: publicKey,
    dsaEncoding: 'ieee-p1363' as const,
    ...(isPss && { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }),
  }
  return verifyBytes(algorithm.startsWith('Ed') ? null : `sha${algorithm.slice(2)}`, signed, key, signature)
}
