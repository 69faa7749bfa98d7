import { KeyObject, createPublicKey, createSecretKey } from 'node:crypto'
import { type Algorithm, keyMismatch } from './algorithm'
import { type JsonObject, isJsonObject } from '../../http/json'
import { ownKey } from './own-key'

/** A key for verification, bound to its algorithms: a token's `alg` cannot add one. */
export interface VerifyKey {
  /** `kid` of the key; undefined without one. */
  readonly kid: string | undefined
  /** The `alg` of its JWK; without one, all allowed algorithms that fit the key. */
  readonly algorithms: readonly Algorithm[]
  /** Issuer of the key, if its JWK names one, as Microsoft's do. */
  readonly issuer: string | undefined
  readonly key: KeyObject
}

/** A public key of RFC 7517, as a JWK Set holds it: `{ kty: 'EC', crv: 'P-256', x, y, kid: '2026-11' }`. */
export type Jwk = JsonObject & { readonly kty: string }

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
  const issuer = typeof jwk.issuer === 'string' ? jwk.issuer : undefined
  if (jwk.alg === undefined) return verifyKey(key, kid, algorithms, issuer)
  const named = algorithms.filter((algorithm) => algorithm === jwk.alg || isSameAlgorithm(algorithm, jwk))
  if (named.length === 0) throw new KeyProblem(`its alg is not among ${algorithms.join(', ')}`)
  return verifyKey(key, kid, named, issuer)
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
    return verifyKey(ownKey(material), undefined, algorithms, undefined)
  }
  if (material.includes('PRIVATE KEY-----')) throw new KeyProblem('it is a private key; give its public half')
  let key: KeyObject
  try {
    key = createPublicKey(material)
  } catch (cause) {
    throw new KeyProblem('it is no PEM of a public key or a certificate', { cause })
  }
  return verifyKey(key, undefined, algorithms, undefined)
}

/**
 * Makes a key from a shared secret. A text stands for its UTF-8 bytes.
 *
 * @throws {KeyProblem} if it is shorter than the hash (RFC 7518 §3.2)
 */
export function keyFromSecret(secret: KeyObject | Uint8Array | string, algorithm: Algorithm): VerifyKey {
  const key =
    secret instanceof KeyObject ? secret : createSecretKey(typeof secret === 'string' ? Buffer.from(secret) : secret)
  return verifyKey(key, undefined, [algorithm], undefined)
}

/** RFC 9864 §2.2: `Ed25519` is the new name of `EdDSA` with a key on that curve. */
function isSameAlgorithm(algorithm: Algorithm, { alg, crv }: JsonObject): boolean {
  return crv === 'Ed25519' && [algorithm, alg].every((one) => one === 'EdDSA' || one === 'Ed25519')
}

function verifyKey(
  key: KeyObject,
  kid: string | undefined,
  allowed: readonly Algorithm[],
  issuer: string | undefined,
): VerifyKey {
  const mismatches = allowed.map((algorithm) => keyMismatch(algorithm, key))
  const algorithms = allowed.filter((_, i) => mismatches[i] === undefined)
  if (algorithms.length > 0) return Object.freeze({ kid, algorithms, issuer, key })
  const tooWeak = mismatches.find((mismatch) => mismatch?.startsWith('an RSA key'))
  if (tooWeak !== undefined) throw new KeyProblem(tooWeak)
  if (allowed.length === 0) throw new KeyProblem('no algorithm is allowed for it')
  throw new KeyProblem(allowed.length === 1 ? mismatches[0] : `it fits none of ${allowed.join(', ')}`)
}
