import { type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { readJws } from '../../bearer/credentials/jws'
import { isSignedWith } from '../../bearer/keys/signature'
import type { JsonObject } from '../../http/json'
import { OAuthError } from '../oauth-error'
import type { RingKey } from './keyring'

/** What holds for one kind of JWT, when it is issued and when it is checked. */
export interface JwtKind {
  /** The header's type, such as `at+jwt`. */
  readonly typ: string
  /** Characters. */
  readonly longest: number
}

/** RSA signs in libuv's thread pool, which jsonwebtoken does not use: a signature takes longer than all else here. */
const signedWithRsa = promisify<string, Buffer, KeyObject, Buffer>(sign)

/**
 * A JWT signed with the key's algorithm (RFC 7515 §7.1).
 *
 * @throws {OAuthError} invalid_scope if it would be longer than this server itself accepts
 */
export async function signedJwt(kind: JwtKind, claims: object, { alg, kid, privateKey }: RingKey): Promise<string> {
  const text = `${encoded({ alg, typ: kind.typ, kid })}.${encoded(claims)}`
  const jwt = `${text}.${(await signature(alg, Buffer.from(text, 'latin1'), privateKey)).toString('base64url')}`
  if (jwt.length <= kind.longest) return jwt
  throw new OAuthError('invalid_scope', `The token would be longer than ${kind.longest} characters: ask for less.`)
}

/** An EC signature takes less time than the round trip to another thread, so it is made in the event loop. */
function signature(alg: RingKey['alg'], text: Buffer, key: KeyObject): Buffer | Promise<Buffer> {
  if (alg === 'RS256') return signedWithRsa('sha256', text, key)
  if (alg === 'EdDSA') return sign(null, text, key)
  return sign('sha256', text, { key, dsaEncoding: 'ieee-p1363' }) // r and s side by side (RFC 7518 §3.4)
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/**
 * The payload of a JWT signed by one of this server's keys, or undefined. Does not check its times.
 *
 * @param find the keys that may have signed it, by id
 */
export function verifiedPayload(
  token: string,
  { typ, longest }: JwtKind,
  find: (kid: string) => RingKey | undefined,
): JsonObject | undefined {
  const jws = token.length > longest ? undefined : readJws(token)
  if (!jws || 'refused' in jws || jws.header.typ !== typ || jws.kid === undefined) return undefined
  const ring = find(jws.kid)
  if (!ring) return undefined
  const key = { kid: ring.kid, algorithms: [ring.alg], issuer: undefined, key: ring.publicKey }
  return isSignedWith(token, jws.algorithm, key) ? jws.claims : undefined
}
