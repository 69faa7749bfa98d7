import { storeError } from '../http/help'
import { shown } from '../http/options'

/** Prefix of every key of the package, so that one access rule covers them: `~tollgate:*`. */
export const KEY_PREFIX = 'tollgate:'

/**
 * Checks a `prefix` option. Every key begins with it. Hash tags come after it, so that an access rule can match it.
 *
 * @throws {TypeError} unless it ends in a colon and has at most 64 characters and no braces
 */
export function checkKeyPrefix(prefix: unknown): void {
  if (typeof prefix === 'string' && /^[^{}]{0,63}:$/s.test(prefix)) return
  const isBare = typeof prefix === 'string' && /^[^{}:]{1,63}$/.test(prefix)
  const line = isBare ? `: write prefix: '${prefix}:'` : ''
  throw storeError(
    `prefix must be a string that ends in a colon, of at most 64 characters without braces; received ${shown(prefix)}${line}`,
  )
}

/** The `keyPrefix` of a client, which ioredis puts before each key; `''` without one. */
export function keyPrefixOf(client: { readonly options?: { readonly keyPrefix?: unknown } }): string {
  const keyPrefix = client.options?.keyPrefix
  return Buffer.isBuffer(keyPrefix) ? keyPrefix.toString() : typeof keyPrefix === 'string' ? keyPrefix : ''
}

/** @throws {TypeError} if the prefix has a hash tag */
export function checkClusterPrefix(keyPrefix: string): void {
  if (!/[{}]/.test(keyPrefix)) return
  throw storeError(
    `keyPrefix of a Cluster's client must be without braces, which put all keys into one slot; received ${shown(keyPrefix)}`,
  )
}
