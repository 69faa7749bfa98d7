import { hash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'

/** A fresh secret of 256 bits: 43 base64url characters (RFC 6749 §10.10). */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** A fresh public identifier: a UUID, of which Node keeps a store, for it is asked for several times a token. */
export function newId(): string {
  return randomUUID()
}

/** SHA-256 in base64url. What stands for a secret wherever one is kept; secrets here have 256 bits, so nobody can guess. */
export function hashOf(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** Compares in constant time, whatever the lengths. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
}
