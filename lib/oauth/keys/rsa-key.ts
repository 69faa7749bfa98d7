import { type JsonWebKey, KeyObject, createPublicKey } from 'node:crypto'
import { ownKey } from '../../bearer/keys/own-key'
import { keyError } from '../../http/help'

/** An RSA key as PEM, as JWK or as Node's own object. */
export type RsaKeyInput = string | JsonWebKey | KeyObject

const LEAST_BITS = 2_048

/**
 * @param option names the option in errors, which never show the key
 * @throws {TypeError} if it is not an RSA public key, or {RangeError} if it has fewer than 2,048 bits
 */
export function rsaPublicKey(option: string, input: RsaKeyInput): KeyObject {
  let key: KeyObject
  try {
    key = parse(input)
  } catch {
    throw keyError(`${option} must be an RSA public key: PEM, JWK or KeyObject; this one could not be read`)
  }
  if (key.type !== 'public' || key.asymmetricKeyType !== 'rsa') {
    throw keyError(`${option} must be an RSA public key; received a ${key.type} key, ${key.asymmetricKeyType}`)
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits < LEAST_BITS) throw keyError(`${option} must have at least ${LEAST_BITS} bits; it has ${bits}`, RangeError)
  return key
}

function parse(input: RsaKeyInput): KeyObject {
  if (input instanceof KeyObject) return ownKey(input.type === 'private' ? createPublicKey(input) : input)
  return typeof input === 'string' ? createPublicKey(input) : createPublicKey({ key: input, format: 'jwk' })
}
