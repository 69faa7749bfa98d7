import { hash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'

/** A fresh secret of 256 bits: 43 base64url characters (RFC 6749 §10.10). */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Public identifier: a UUID. Node creates them in batches, which is fast: several are needed per token. */
export function newId(): string {
  return randomUUID()
}

/** SHA-256 in base64url, stored in place of a secret. Secrets here have 256 bits, so they need no salt. */
export function hashOf(text: string): string {
  return hash('sha256', text, 'base64url')
}

/** Compares in constant time, also for different lengths. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
}
