import { storeError } from '../http/help'
import { shown } from '../http/options'

/** Begins every key of the package, so that one access rule, `~tollgate:*`, covers all of them. */
export const KEY_PREFIX = 'tollgate:'

/**
 * Checks a `prefix` option. Every key begins with it; a hash tag comes after it, so that an access rule can name it.
 *
 * @throws {TypeError} unless it ends in a colon and has at most 64 characters and no braces
 */
export function checkKeyPrefix(prefix: unknown): void {
  if (typeof prefix === 'string' && /^[^{}]{0,63}:$/s.test(prefix)) return
  throw storeError(
    `prefix must be a string that ends in a colon, of at most 64 characters without braces; received ${shown(prefix)}`,
  )
}

/** The `keyPrefix` of a client, which ioredis puts before the keys of each command; `''` where there is none. */
export function keyPrefixOf(client: { readonly options?: { readonly keyPrefix?: unknown } }): string {
  const keyPrefix = client.options?.keyPrefix
  return Buffer.isBuffer(keyPrefix) ? keyPrefix.toString() : typeof keyPrefix === 'string' ? keyPrefix : ''
}

/** @throws {TypeError} where the prefix has a hash tag */
export function checkClusterPrefix(keyPrefix: string): void {
  if (!/[{}]/.test(keyPrefix)) return
  throw storeError(
    `keyPrefix of a Cluster's client must be without braces, which put all keys into one slot; received ${shown(keyPrefix)}`,
  )
}
