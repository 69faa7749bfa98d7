import { type JsonWebKey, KeyObject, createPublicKey } from 'node:crypto'
import { keyMismatch } from '../../bearer/keys/algorithm'
import { ownKey } from '../../bearer/keys/own-key'
import { keyError } from '../../http/help'

/** An RSA key as PEM, as JWK or as Node's own object. */
export type RsaKeyInput = string | JsonWebKey | KeyObject

/**
 * @param option names the option in errors, which never show the key
 * @throws {TypeError} if it is not an RSA public key, or {RangeError} if its size or its exponent is out of bounds
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
  const mismatch = keyMismatch('RS256', key)
  if (mismatch !== undefined) throw keyError(`${option} cannot be used: ${mismatch}`, RangeError)
  return key
}

function parse(input: RsaKeyInput): KeyObject {
  if (input instanceof KeyObject) return ownKey(input.type === 'private' ? createPublicKey(input) : input)
  return typeof input === 'string' ? createPublicKey(input) : createPublicKey({ key: input, format: 'jwk' })
}
