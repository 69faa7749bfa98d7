import { KeyObject, createPublicKey, createSecretKey, hash } from 'node:crypto'
import { type Algorithm, keyMismatch } from './algorithm'
import { type JsonObject, isJsonObject } from '../../http/json'
import type { Secret } from './key-options'
import { ownKey } from './own-key'
import { pemOf } from './pem'

/** A key for verification, bound to its algorithms: a token's `alg` cannot add one. */
export interface VerifyKey {
  /** `kid` of the key; undefined without one. */
  readonly kid: string | undefined
  /** The `alg` of its JWK; without one, all allowed algorithms that fit the key. */
  readonly algorithms: readonly Algorithm[]
  /** Issuer of the key, if its JWK names one, as Microsoft's do. */
  readonly issuer: string | undefined
  /** Thumbprints of its certificate: `x5t`, `x5t#S256`, and those of its `x5c` (RFC 7517 §4.7 to 4.9). */
  readonly thumbprints: readonly unknown[]
  /** How long a check takes, compared with other keys of the algorithm. */
  readonly cost: number
  readonly key: KeyObject
}

/** Error of key material; its message never holds any of it. */
export class KeyProblem extends Error {}

/**
 * Makes a key from a JWK (RFC 7517). Without `alg` it is for all `algorithms` that fit. Members that are null or empty
 * count as absent.
 *
 * @throws {KeyProblem} if the key is invalid, private, symmetric, not for signatures (`use`, `key_ops`), too weak, or of
 *   an algorithm that is not among `algorithms`
 */
export function keyFromJwk(material: unknown, algorithms: readonly Algorithm[]): VerifyKey {
  const jwk = isJsonObject(material) ? withoutEmpty(material) : {}
  const { kid } = jwk
  if (typeof jwk.kty !== 'string') throw new KeyProblem('it is no JWK: it has no kty')
  if (jwk.kty === 'oct') throw new KeyProblem('it is a shared secret; give that as the option secret')
  if ('d' in jwk) throw new KeyProblem('it is a private key; give its public half')
  if (jwk.use !== undefined && jwk.use !== 'sig') throw new KeyProblem('its use is not sig')
  const operations = jwk.key_ops
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    throw new KeyProblem('its key_ops do not include verify')
  }
  if (kid !== undefined && typeof kid !== 'string') throw new KeyProblem('its kid is not a text')
  let key: KeyObject
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' })
  } catch (cause) {
    throw new KeyProblem(`node:crypto does not take it as a JWK of kty ${jwk.kty.slice(0, 20)}`, { cause })
  }
  const named = {
    kid,
    issuer: typeof jwk.issuer === 'string' ? jwk.issuer : undefined,
    thumbprints: thumbprintsOf(jwk),
  }
  if (jwk.alg === undefined) return verifyKey(key, algorithms, named)
  const own = algorithms.filter((algorithm) => algorithm === jwk.alg || isSameAlgorithm(algorithm, jwk))
  if (own.length === 0) throw new KeyProblem(`its alg is not among ${algorithms.join(', ')}`)
  return verifyKey(key, own, named)
}

function thumbprintsOf({ x5t, 'x5t#S256': x5tS256, x5c }: JsonObject): readonly unknown[] {
  const [certificate] = (Array.isArray(x5c) ? x5c : []) as unknown[]
  const der = typeof certificate === 'string' ? Buffer.from(certificate, 'base64') : undefined
  const made = der ? [hash('sha1', der, 'base64url'), hash('sha256', der, 'base64url')] : []
  return [x5t, x5tS256, ...made].filter((one) => one !== undefined)
}

/** Removes members with `null`, `""` or `[]`, which some serializers write for absent ones. */
function withoutEmpty(jwk: JsonObject): JsonObject {
  const isEmpty = (value: unknown) => value === null || value === '' || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(jwk).filter(([, value]) => !isEmpty(value)))
}

/**
 * Makes a key from a KeyObject or a PEM, for all `algorithms` that fit.
 *
 * @throws {KeyProblem} if it is no public key, or fits none of `algorithms`
 */
export function keyFromMaterial(material: KeyObject | string, algorithms: readonly Algorithm[]): VerifyKey {
  if (typeof material !== 'string') {
    if (material.type === 'private') throw new KeyProblem('it is a private key; give its public half')
    if (material.type === 'secret') throw new KeyProblem('it is a shared secret; give that as the option secret')
    return verifyKey(ownKey(material), algorithms)
  }
  const pem = pemOf(material)
  if (pem.includes('PRIVATE KEY-----')) throw new KeyProblem('it is a private key; give its public half')
  let key: KeyObject
  try {
    key = createPublicKey(pem)
  } catch (cause) {
    throw new KeyProblem('it is no PEM of a public key or a certificate', { cause })
  }
  return verifyKey(key, algorithms)
}

/**
 * Makes a key from a shared secret. A text stands for its UTF-8 bytes.
 *
 * @throws {KeyProblem} if it is shorter than the hash (RFC 7518 §3.2)
 */
export function keyFromSecret(secret: Secret, algorithm: Algorithm): VerifyKey {
  if (typeof secret !== 'string' && !(secret instanceof Uint8Array) && !(secret instanceof KeyObject)) {
    const isFunction = typeof secret === 'function'
    const others = "for jwks-rsa's expressJwtSecret({ jwksUri }) write jwksUri, for a function that finds keys keys"
    throw new KeyProblem(isFunction ? `it is a function: ${others}` : 'it is no text, bytes or KeyObject')
  }
  const key =
    secret instanceof KeyObject ? secret : createSecretKey(typeof secret === 'string' ? Buffer.from(secret) : secret)
  return verifyKey(key, [algorithm])
}

/** RFC 9864 §2.2: `Ed25519` and `Ed448` are the new names of `EdDSA` with a key on that curve. */
function isSameAlgorithm(algorithm: Algorithm, { alg, crv }: JsonObject): boolean {
  return (crv === 'Ed25519' || crv === 'Ed448') && [algorithm, alg].every((one) => one === 'EdDSA' || one === crv)
}

/** Names of a key without a JWK: none. */
const UNNAMED = { kid: undefined, issuer: undefined, thumbprints: [] }

function verifyKey(
  key: KeyObject,
  allowed: readonly Algorithm[],
  names: Pick<VerifyKey, 'kid' | 'issuer' | 'thumbprints'> = UNNAMED,
): VerifyKey {
  const mismatches = allowed.map((algorithm) => keyMismatch(algorithm, key))
  const algorithms = allowed.filter((_, i) => mismatches[i] === undefined)
  if (algorithms.length > 0) return Object.freeze({ ...names, algorithms, key, cost: costOf(key) })
  const tooWeak = mismatches.find((mismatch) => mismatch?.startsWith('an RSA key'))
  if (tooWeak !== undefined) throw new KeyProblem(tooWeak)
  if (allowed.length === 0) throw new KeyProblem('no algorithm is allowed for it')
  throw new KeyProblem(allowed.length === 1 ? mismatches[0] : `it fits none of ${allowed.join(', ')}`)
}

function costOf(key: KeyObject): number {
  return key.asymmetricKeyDetails?.modulusLength ?? (key.asymmetricKeyType === 'ed448' ? 2 : 1)
}
