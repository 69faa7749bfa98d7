import type { Algorithm } from './algorithm'
import { RemediedProblem } from '../../http/fetch-failure'
import type { JsonObject } from '../../http/json'
import { type KeySet, type LeftOutKey, keySet } from './key-source'
import { KeyProblem, type VerifyKey, keyFromJwk } from './verify-key'

/** SPIRE shows a key for each of its servers; a set of many thousands would be somebody's attempt to keep us busy. */
const MOST_KEYS = 1_000

/**
 * Reads a JWK Set (RFC 7517 §5). Keys that are not for this (`use`, `key_ops`, `alg`), too weak, private or unknown
 * are left out, as §5 says of those not understood; so are those that a token cannot tell from others. A JWK that is
 * there twice counts once.
 *
 * @param known keys from before: one whose JWK has not changed is taken over, and with it what was verified by it
 * @param url where it is from
 * @throws {Error} where it is no JWK Set
 */
export function readJwks(
  document: JsonObject,
  algorithms: readonly Algorithm[],
  known: ReadonlyMap<string, VerifyKey>,
  url: string,
): { readonly set: KeySet; readonly byJwk: ReadonlyMap<string, VerifyKey> } {
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
      byJwk.set(text, known.get(text) ?? keyFromJwk(jwk, algorithms))
    } catch (problem) {
      if (!(problem instanceof KeyProblem)) throw problem
      leftOut.push({ kid: kidOf(jwk), why: problem.message })
    }
  }
  return { set: keySet([...byJwk.values()], leftOut), byJwk }
}

function kidOf(jwk: unknown): string | undefined {
  const { kid } = (jwk ?? {}) as { kid?: unknown }
  return typeof kid === 'string' ? kid : undefined
}
