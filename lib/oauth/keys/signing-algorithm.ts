import { type JsonWebKeyInput, KeyObject, createPrivateKey, createPublicKey, type webcrypto } from 'node:crypto'
import { thumbprint } from '../../bearer/dpop/thumbprint'
import { keyMismatch } from '../../bearer/keys/algorithm'
import { ownKey } from '../../bearer/keys/own-key'
import { pemOf } from '../../bearer/keys/pem'
import { keyError } from '../../http/help'

/** The signing algorithms (RFC 7518 §3.1, RFC 8037 §3.1). */
export type SigningAlgorithm = 'RS256' | 'ES256' | 'EdDSA'

/** A private key as PEM, as JWK or as Node's own object. A PEM may have `\\n` for its line breaks, or be in base64, as in a .env file. */
export type SigningKeyInput = string | Pick<webcrypto.JsonWebKey, 'kty'> | KeyObject

/** A public key in the same forms. */
export type PublicKeyInput = SigningKeyInput

/** RFC 7518 §3.3. */
const LEAST_RSA_BITS = 2_048

/**
 * Reads a private key.
 *
 * @throws {TypeError} if it is not a private key; the error never shows the key
 */
export function signingPrivateKey(input: SigningKeyInput): KeyObject {
  const key = readKey('signingKeys must be private keys', input, createPrivateKey)
  if (key.type !== 'private') throw keyError(`signingKeys must be private keys; received a ${key.type} key`)
  return key
}

/**
 * The algorithm of a key: RS256 for RSA, ES256 for P-256, EdDSA for Ed25519.
 *
 * @throws {TypeError} for a key of another kind, or {RangeError} for RSA of less than 2,048 bits
 */
export function signingAlgorithm(key: KeyObject, option = 'signingKeys'): SigningAlgorithm {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === 'ed25519') return 'EdDSA'
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return 'ES256'
  if (key.asymmetricKeyType !== 'rsa') {
    const kind = `${key.asymmetricKeyType}${namedCurve === undefined ? '' : ` on ${namedCurve}`}`
    throw keyError(`${option} must be RSA, EC P-256 or Ed25519 keys; received ${kind}`)
  }
  if (modulusLength >= LEAST_RSA_BITS) return 'RS256'
  throw keyError(`${option} must have at least ${LEAST_RSA_BITS} bits; it has ${modulusLength}`, RangeError)
}

/**
 * Reads a client's public key.
 *
 * @param option names the option in errors, which never show the key
 * @throws {TypeError} if it is no public key of RSA, P-256 or Ed25519, or {RangeError} if its size or its exponent is out of bounds
 */
export function clientPublicKey(option: string, input: PublicKeyInput): KeyObject {
  const given = input instanceof KeyObject && input.type === 'private' ? createPublicKey(input) : input
  const key = readKey(`${option} must be a public key`, given, createPublicKey)
  const mismatch = keyMismatch(signingAlgorithm(key, option), key)
  if (mismatch !== undefined) throw keyError(`${option} cannot be used: ${mismatch}`, RangeError)
  return key
}

function readKey(
  must: string,
  input: SigningKeyInput,
  create: (key: string | JsonWebKeyInput) => KeyObject,
): KeyObject {
  try {
    if (input instanceof KeyObject) return ownKey(input)
    return create(typeof input === 'string' ? pemOf(input) : { key: input, format: 'jwk' })
  } catch {
    throw keyError(`${must}: PEM, JWK or KeyObject; this one could not be read`)
  }
}

/** The public half as a JWK, with its RFC 7638 thumbprint as default `kid`. */
export function publicSigningJwk(publicKey: KeyObject, alg: SigningAlgorithm, kid = thumbprint(publicKey)): SigningJwk {
  return { ...publicKey.export({ format: 'jwk' }), use: 'sig', alg, kid }
}

/** As published: `{ kty: 'EC', crv: 'P-256', x, y, use: 'sig', alg: 'ES256', kid }`. */
export interface SigningJwk {
  readonly kty?: string
  readonly use: 'sig'
  readonly alg: SigningAlgorithm
  readonly kid: string
}
