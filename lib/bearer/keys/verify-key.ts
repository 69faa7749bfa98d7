import { type KeyObject, createPublicKey, createSecretKey } from 'node:crypto'
import { type Algorithm, keyMismatch } from './algorithm'
import { type JsonObject, isJsonObject } from '../../http/json'

/** A key as it is checked with: made once, and pinned to one algorithm, whatever a token says. */
export interface VerifyKey {
  /** The `kid` a token names it by; undefined where the key came without one. */
  readonly kid: string | undefined
  readonly algorithm: Algorithm
  readonly key: KeyObject
}

/** A public key of RFC 7517, as a JWK Set holds it: `{ kty: 'EC', crv: 'P-256', x, y, kid: '2026-11' }`. */
export type Jwk = JsonObject & { readonly kty: string }

/** What is wrong with key material; its message never holds any of it. */
export class KeyProblem extends Error {}

/**
 * A key for checking signatures, out of a JWK (RFC 7517). One without `alg` is pinned to the first of `algorithms`
 * that fits it.
 *
 * @throws {KeyProblem} where it is no key, a private or shared one, not meant for signatures (`use`, `key_ops`), too
 *   weak, or of an algorithm that is not among `algorithms`
 */
export function keyFromJwk(jwk: unknown, algorithms: readonly Algorithm[]): VerifyKey {
  if (!isJsonObject(jwk) || typeof jwk.kty !== 'string') throw new KeyProblem('it is no JWK: it has no kty')
  if (jwk.kty === 'oct') throw new KeyProblem('it is a shared secret; give that as the option secret')
  if ('d' in jwk) throw new KeyProblem('it is a private key; give its public half')
  if (jwk.use !== undefined && jwk.use !== 'sig') throw new KeyProblem('its use is not sig')
  const operations = jwk.key_ops
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    throw new KeyProblem('its key_ops do not include verify')
  }
  if (jwk.kid !== undefined && (typeof jwk.kid !== 'string' || jwk.kid === '')) {
    throw new KeyProblem('its kid is not a text')
  }
  let key: KeyObject
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' })
  } catch (cause) {
    throw new KeyProblem(`node:crypto does not take it as a JWK of kty ${jwk.kty.slice(0, 20)}`, { cause })
  }
  if (jwk.alg === undefined) return pin(key, jwk.kid, algorithms)
  const named = algorithms.find((algorithm) => algorithm === jwk.alg)
  if (!named) throw new KeyProblem(`its alg is not among ${algorithms.join(', ')}`)
  return pin(key, jwk.kid, [named])
}

/**
 * A key for checking signatures, out of a KeyObject or a PEM, pinned to the first of `algorithms` that fits it.
 *
 * @throws {KeyProblem} where it is no public key, or fits none of `algorithms`
 */
export function keyFromMaterial(material: KeyObject | string, algorithms: readonly Algorithm[]): VerifyKey {
  if (typeof material !== 'string') {
    if (material.type === 'private') throw new KeyProblem('it is a private key; give its public half')
    if (material.type === 'secret') throw new KeyProblem('it is a shared secret; give that as the option secret')
    return pin(material, undefined, algorithms)
  }
  if (material.includes('PRIVATE KEY-----')) throw new KeyProblem('it is a private key; give its public half')
  let key: KeyObject
  try {
    key = createPublicKey(material)
  } catch (cause) {
    throw new KeyProblem('it is no PEM of a public key or a certificate', { cause })
  }
  return pin(key, undefined, algorithms)
}

/**
 * A shared secret as a key. A text is taken as its UTF-8 bytes.
 *
 * @throws {KeyProblem} where it is shorter than the hash (RFC 7518 §3.2)
 */
export function keyFromSecret(secret: KeyObject | Uint8Array | string, algorithm: Algorithm): VerifyKey {
  if (typeof secret === 'string') return pin(createSecretKey(secret, 'utf8'), undefined, [algorithm])
  if (secret instanceof Uint8Array) return pin(createSecretKey(secret), undefined, [algorithm])
  return pin(secret, undefined, [algorithm])
}

function pin(key: KeyObject, kid: string | undefined, algorithms: readonly Algorithm[]): VerifyKey {
  let problem = 'no algorithm is allowed for it'
  for (const algorithm of algorithms) {
    const mismatch = keyMismatch(algorithm, key)
    if (mismatch === undefined) return Object.freeze({ kid, algorithm, key })
    problem = algorithms.length === 1 || mismatch.includes('bits') ? mismatch : problem
  }
  throw new KeyProblem(
    algorithms.length > 1 && !problem.includes('bits') ? `it fits none of ${algorithms.join(', ')}` : problem,
  )
}
