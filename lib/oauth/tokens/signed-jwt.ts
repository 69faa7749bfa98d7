import { type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { RingKey } from './keyring'

/** Signs off the event loop: a signature takes longer than all else that a token needs, and others are to be served. */
const signature = promisify<string, Buffer, KeyObject, Buffer>(sign)

/**
 * A JWT signed with RS256 (RFC 7515 §7.1). Not by jsonwebtoken, whose checks of options and claims take a tenth of the
 * time of the signature: what is signed here is all our own.
 *
 * @param typ the header's type, such as `at+jwt`
 */
export async function signedJwt(typ: string, claims: object, { kid, privateKey }: RingKey): Promise<string> {
  const text = `${encoded({ alg: 'RS256', typ, kid })}.${encoded(claims)}`
  return `${text}.${(await signature('sha256', Buffer.from(text, 'latin1'), privateKey)).toString('base64url')}`
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
