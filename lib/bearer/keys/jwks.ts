import type { Algorithm } from './algorithm'
import { RemediedProblem } from '../../http/fetch/fetch-failure'
import type { JsonObject } from '../../http/json'
import { type KeySet, type LeftOutKey, keySet } from './key-source'
import { KeyProblem, type VerifyKey, keyFromJwk } from './verify-key'

/** Bound against sets made to keep the process busy. SPIRE publishes a key for each of its servers: over 100. */
const MOST_KEYS = 1_000

/** A key set, and its keys by the JSON of their JWKs. */
export interface Jwks extends KeySet {
  readonly byJwk: ReadonlyMap<string, VerifyKey>
}

/**
 * Reads a JWK Set (RFC 7517 §5). Keys for another use (`use`, `key_ops`, `alg`), weak, private and unknown keys are left
 * out, as §5 says of keys that are not understood. Duplicates count once.
 *
 * @param known previous keys; an unchanged JWK keeps its key, so that tokens verified with it stay cached
 * @param url address of the set
 * @throws {Error} if it is no JWK Set
 */
export function readJwks(
  document: JsonObject,
  algorithms: readonly Algorithm[],
  known: ReadonlyMap<string, VerifyKey> | undefined,
  url: string,
): Jwks {
  const jwks = document.keys
  if (!Array.isArray(jwks))
    throw new RemediedProblem(`${url} answered with something else than a JWK Set`, 'correct the address')
  if (jwks.length > MOST_KEYS)
    throw new RemediedProblem(
      `${url} has ${jwks.length} keys, and at most ${MOST_KEYS} are read`,
      'give the keys needed: keys',
    )
  const byJwk = new Map<string, VerifyKey>()
  const leftOut: LeftOutKey[] = []
  for (const jwk of jwks as unknown[]) {
    const text = JSON.stringify(jwk)
    try {
      byJwk.set(text, known?.get(text) ?? keyFromJwk(jwk, algorithms))
    } catch (problem) {
      if (!(problem instanceof KeyProblem)) throw problem
      const { kid } = (jwk ?? {}) as { kid?: unknown }
      leftOut.push({ kid: typeof kid === 'string' ? kid : undefined, why: problem.message })
    }
  }
  return { ...keySet([...byJwk.values()], leftOut), byJwk }
}
