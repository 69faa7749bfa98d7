import type { KeyObject } from 'node:crypto'

/** A signature algorithm of RFC 7518 §3.1, RFC 8037 §3.1 or RFC 9864 §2.2. */
export type Algorithm = `${'RS' | 'PS' | 'ES' | 'HS'}${256 | 384 | 512}` | 'EdDSA' | 'Ed25519' | 'Ed448'

/** Algorithms of public keys, in the order in which a key without `alg` gets them. */
export const ASYMMETRIC: readonly Algorithm[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'Ed448',
]

/** Algorithms of shared secrets. */
export const SYMMETRIC: readonly Algorithm[] = ['HS256', 'HS384', 'HS512']

/** Whether an algorithm is for shared secrets. */
export function isSymmetric(algorithm: string): boolean {
  return (SYMMETRIC as readonly string[]).includes(algorithm)
}

const CURVES: Readonly<Partial<Record<Algorithm, string>>> = {
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1',
}

/** Size of RSA keys. RFC 7518 §3.3 asks for 2,048 bits. Larger keys take too long for a request: 8,192 bits 0.3 ms. */
const RSA_BITS = { least: 2_048, most: 4_096 }
/** Bounds of the exponent. With 1, anybody can write valid signatures. With one of 3,000 bits, a check takes 20 ms. */
const RSA_EXPONENT = { least: 3n, most: 2n ** 33n }

/**
 * Whether a key may check signatures of an algorithm: its type, its curve, and its size (RFC 7518 §3.2: a secret at
 * least as long as the hash; §3.3: RSA of 2,048 bits or more).
 *
 * @returns undefined if it may, else the problem as text for an error message
 */
export function keyMismatch(algorithm: Algorithm, key: KeyObject): string | undefined {
  if (algorithm.startsWith('HS')) {
    if (key.type !== 'secret') return `${algorithm} takes a shared secret`
    const least = Number(algorithm.slice(2)) / 8
    const length = key.symmetricKeySize ?? 0
    return length < least
      ? `${algorithm} takes a secret of at least ${least} bytes, and this one has ${length}`
      : undefined
  }
  const type = key.asymmetricKeyType
  if (algorithm.startsWith('ES')) {
    const curve = key.asymmetricKeyDetails?.namedCurve // which keys of other types do not have
    return curve === CURVES[algorithm] ? undefined : `${algorithm} takes a key on ${CURVES[algorithm]}`
  }
  if (algorithm === 'EdDSA') {
    return type === 'ed25519' || type === 'ed448' ? undefined : 'EdDSA takes an Ed25519 or Ed448 key'
  }
  if (algorithm.startsWith('Ed')) {
    return type === algorithm.toLowerCase() ? undefined : `${algorithm} takes an ${algorithm} key`
  }
  // An rsa-pss key has its own parameters, which may contradict the algorithm.
  if (type !== 'rsa') return `${algorithm} takes an RSA key`
  const { modulusLength: bits = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (publicExponent < RSA_EXPONENT.least || publicExponent > RSA_EXPONENT.most) {
    return `an RSA key's exponent must be from ${RSA_EXPONENT.least} to 2^33; most keys have 65537`
  }
  return bits >= RSA_BITS.least && bits <= RSA_BITS.most
    ? undefined
    : `an RSA key must have ${RSA_BITS.least} to ${RSA_BITS.most} bits, and this one has ${bits}`
}
