import { type KeyObject, generateKeyPairSync, randomBytes, sign as signBytes } from 'node:crypto'
import { sign } from 'jsonwebtoken'
import type { Algorithm } from '../bearer/keys/algorithm'
import { ownKey } from '../bearer/keys/own-key'
import type { Jwk } from '../bearer/keys/key-options'

/** The algorithms of a public key. */
export type DevAlgorithm = Exclude<Algorithm, `HS${string}`>

/** A key pair of an issuer for tests. */
export interface DevKey {
  readonly algorithm: DevAlgorithm
  readonly privateKey: KeyObject
  readonly jwk: Jwk & { readonly kid: string }
  /** `typ` of the tokens' headers. */
  readonly typ: string | undefined
}

const CURVES = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' } as const

/** Makes a key pair: RSA of 2,048 bits, the algorithm's curve, Ed448 or Ed25519. */
export function makeKey(algorithm: DevAlgorithm, typ: string | undefined): DevKey {
  const { privateKey, publicKey } = pairFor(algorithm)
  const kid = `dev-${randomBytes(4).toString('hex')}`
  const members = ownKey(publicKey).export({ format: 'jwk' })
  const jwk = { ...members, kid, alg: algorithm, use: 'sig' } as unknown as DevKey['jwk']
  return { algorithm, privateKey, jwk, typ }
}

/** Signs claims as they are, however wrong: as text, since jsonwebtoken would judge them. */
export function signToken(key: DevKey, claims: object, header: object = {}): string {
  const { algorithm, privateKey, jwk, typ } = key
  const head = { alg: algorithm, ...(typ !== undefined && { typ }), kid: jwk.kid, ...header }
  if (algorithm !== 'EdDSA' && algorithm !== 'Ed25519' && algorithm !== 'Ed448')
    return sign(JSON.stringify(claims), privateKey, { algorithm, header: head })
  const input = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${input}.${signBytes(null, Buffer.from(input), privateKey).toString('base64url')}`
}

function pairFor(algorithm: DevAlgorithm): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  if (algorithm === 'Ed448') return generateKeyPairSync('ed448')
  if (algorithm === 'EdDSA' || algorithm === 'Ed25519') return generateKeyPairSync('ed25519')
  if (algorithm in CURVES) return generateKeyPairSync('ec', { namedCurve: CURVES[algorithm as keyof typeof CURVES] })
  return generateKeyPairSync('rsa', { modulusLength: 2_048 })
}
