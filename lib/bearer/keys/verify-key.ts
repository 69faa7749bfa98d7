import { KeyObject, createPublicKey, createSecretKey } from 'node:crypto'
import { type Algorithm, keyMismatch } from './algorithm'
import { type JsonObject, isJsonObject } from '../../http/json'
import { ownKey } from './own-key'

/** A key as it is checked with: made once, for the algorithms it may be used with, whatever a token says. */
export interface VerifyKey {
  /** The `kid` a token names it by; undefined where the key came without one. */
  readonly kid: string | undefined
  /** One where its JWK names one; else those allowed that fit it, all of one family. */
  readonly algorithms: readonly Algorithm[]
  /** The issuer whose tokens it signs, where its JWK names one, as Microsoft's do. */
  readonly issuer: string | undefined
  readonly key: KeyObject
}

/** A public key of RFC 7517, as a JWK Set holds it: `{ kty: 'EC', crv: 'P-256', x, y, kid: '2026-11' }`. */
export type Jwk = JsonObject & { readonly kty: string }

/** What is wrong with key material; its message never holds any of it. */
export class KeyProblem extends Error {}

/**
 * A key for checking signatures, out of a JWK (RFC 7517). One without `alg` is for those of `algorithms` that fit it.
 * Members that are null or empty count as absent.
 *
 * @throws {KeyProblem} where it is no key, a private or shared one, not meant for signatures (`use`, `key_ops`), too
 *   weak, or of an algorithm that is not among `algorithms`
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

/** Serializers write `null`, `""` or `[]` for members that a key does not have. */
function withoutEmpty(jwk: JsonObject): JsonObject {
  const isEmpty = (value: unknown) => value === null || value === '' || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(jwk).filter(([, value]) => !isEmpty(value)))
}

/**
 * A key for checking signatures, out of a KeyObject or a PEM, for those of `algorithms` that fit it.
 *
 * @throws {KeyProblem} where it is no public key, or fits none of `algorithms`
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
 * A shared secret as a key. A text is taken as its UTF-8 bytes.
 *
 * @throws {KeyProblem} where it is shorter than the hash (RFC 7518 §3.2)
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
