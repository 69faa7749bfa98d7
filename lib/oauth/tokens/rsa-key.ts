import { type JsonWebKey, KeyObject, createHash, createPrivateKey, createPublicKey } from 'node:crypto'

/** An RSA key as PEM, as JWK or as Node's own object. */
export type RsaKeyInput = string | JsonWebKey | KeyObject

const LEAST_BITS = 2_048

/**
 * @param option names the option in errors; the key itself is never shown
 * @throws {TypeError} where it is no RSA public key, or {RangeError} one of less than 2,048 bits
 */
export function rsaPublicKey(option: string, input: RsaKeyInput): KeyObject {
  return checked(option, input, 'public', (key) => (key.type === 'private' ? createPublicKey(key) : key))
}

/** As {@link rsaPublicKey}, for the private key that signs. */
export function rsaPrivateKey(option: string, input: RsaKeyInput): KeyObject {
  return checked(option, input, 'private', (key) => key)
}

/** The public half as a JWK with its RFC 7638 thumbprint. */
export function publicJwk(key: KeyObject): { n: string; e: string; thumbprint: string } {
  const { n = '', e = '' } = createPublicKey(key).export({ format: 'jwk' })
  const thumbprint = createHash('sha256')
    .update(JSON.stringify({ e, kty: 'RSA', n }))
    .digest('base64url')
  return { n, e, thumbprint }
}

function checked(option: string, input: RsaKeyInput, type: 'public' | 'private', use: (key: KeyObject) => KeyObject) {
  let key: KeyObject
  try {
    key = use(input instanceof KeyObject ? input : parse(input, type))
  } catch {
    throw new TypeError(`${option} must be an RSA ${type} key: PEM, JWK or KeyObject; this one could not be read`)
  }
  if (key.type !== type || key.asymmetricKeyType !== 'rsa') {
    throw new TypeError(`${option} must be an RSA ${type} key; received a ${key.type} key, ${key.asymmetricKeyType}`)
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits < LEAST_BITS) throw new RangeError(`${option} must have at least ${LEAST_BITS} bits; it has ${bits}`)
  return key
}

function parse(input: string | JsonWebKey, type: 'public' | 'private'): KeyObject {
  const create = type === 'public' ? createPublicKey : createPrivateKey
  return typeof input === 'string' ? create(input) : create({ key: input, format: 'jwk' })
}
