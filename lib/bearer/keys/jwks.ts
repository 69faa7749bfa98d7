import type { Algorithm } from './algorithm'
import { isJsonObject } from '../../http/json'
import { type KeySet, keySet } from './key-source'
import { KeyProblem, type VerifyKey, keyFromJwk } from './verify-key'

/** An issuer has a handful of keys; a set of thousands would be somebody's attempt to keep us busy. */
const MOST_KEYS = 100

/**
 * Reads a JWK Set (RFC 7517 §5). Keys that are not for this (`use`, `key_ops`, `alg`), too weak, private or unknown
 * are left out, as §5 says of those not understood; so are those whose `kid` stands there twice.
 *
 * @param known keys from before: one whose JWK has not changed is taken over, and with it what was verified by it
 * @returns undefined where it is no JWK Set
 */
export function readJwks(
  document: unknown,
  algorithms: readonly Algorithm[],
  known: ReadonlyMap<string, VerifyKey>,
): { readonly set: KeySet; readonly byJwk: ReadonlyMap<string, VerifyKey> } | undefined {
  if (!isJsonObject(document) || !Array.isArray(document.keys) || document.keys.length > MOST_KEYS) return undefined
  const byJwk = new Map<string, VerifyKey>()
  const keys: VerifyKey[] = []
  for (const jwk of document.keys as unknown[]) {
    const text = JSON.stringify(jwk)
    try {
      const key = known.get(text) ?? keyFromJwk(jwk, algorithms)
      byJwk.set(text, key)
      keys.push(key)
    } catch (problem) {
      if (!(problem instanceof KeyProblem)) throw problem
    }
  }
  return { set: keySet(keys, () => undefined), byJwk }
}
