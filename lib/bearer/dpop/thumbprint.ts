import { type KeyObject, hash } from 'node:crypto'

/** Required members of a key by type, in alphabetical order (RFC 7638 §3.2, RFC 8037 §2). */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
}

/** SHA-256 thumbprint of a public key (RFC 7638), the value of `cnf.jkt`. */
export function thumbprint(key: KeyObject): string {
  const jwk = key.export({ format: 'jwk' }) as Record<string, unknown>
  const members = MEMBERS[String(jwk.kty)] ?? []
  return hash('sha256', JSON.stringify(Object.fromEntries(members.map((name) => [name, jwk[name]]))), 'base64url')
}
