import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A fresh secret of 256 bits: 43 base64url characters (RFC 6749 §10.10). */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** A fresh public identifier of 128 bits. */
export function newId(): string {
  return randomBytes(16).toString('base64url')
}

/** SHA-256 in base64url. What stands for a secret wherever one is kept; secrets here have 256 bits, so nobody can guess. */
export function hashOf(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** Compares in constant time, whatever the lengths. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
}
