import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ASYMMETRIC, SYMMETRIC } from '../../../lib/bearer/keys/algorithm'
import { readJwsHead } from '../../../lib/bearer/credentials/jws'
import { findKeys, keySet } from '../../../lib/bearer/keys/key-source'
import { isRefusal } from '../../../lib/bearer/refusal/refusal'
import { isSignedWith } from '../../../lib/bearer/keys/signature'
import { KeyProblem, type VerifyKey, keyFromJwk, keyFromSecret } from '../../../lib/bearer/keys/verify-key'
import { readData } from '../../support/data'

/** Where the answer here is another than the vectors' own, and why. */
const REASONS = {
  pinned: "the JWK names an algorithm other than the token's, or none that there is: ours is pinned to it",
  identical: 'byte for byte the valid tc357: nothing is there to be refused',
  strict: 'characters outside base64url (RFC 7515 §2): refused, so that no token has two spellings',
  empty: 'an empty payload is no JSON object (RFC 7519 §7.2): readJws() refuses it before its signature is looked at',
  roca: 'a key is its issuer’s own or the operator’s: its size is checked, not the chip it was made in',
}

type Jwk = { kty: string; alg?: string; kid?: string; k?: string; use?: string }
interface Group {
  readonly keys: { readonly private: Jwk | { keys: Jwk[] }; readonly public?: Jwk | { keys: Jwk[] } }
  readonly tests: readonly { id: number; jws: unknown; result: 'valid' | 'invalid' }[]
}

/** The key as the options take it: a shared secret with its one algorithm, any other as a JWK. */
function keyOf(jwk: Jwk): VerifyKey | undefined {
  try {
    if (jwk.kty !== 'oct') return keyFromJwk(jwk, ASYMMETRIC)
    const algorithm = SYMMETRIC.find((one) => one === jwk.alg)
    if (!algorithm || jwk.use !== 'sig') return undefined
    return { ...keyFromSecret(Buffer.from(jwk.k ?? '', 'base64url'), algorithm), kid: jwk.kid }
  } catch (problem) {
    assert.ok(problem instanceof KeyProblem)
    return undefined
  }
}

/** The steps from the token to its signature as requireBearer() takes them, with keys pinned as it pins them. */
function accepts({ private: secret, public: open }: Group['keys'], token: unknown): boolean {
  if (typeof token !== 'string') return false
  const source = open ?? secret
  const jwks = 'keys' in source ? source.keys : [source]
  // A shared secret is an option of its own, which contradicts keys; in a JWK Set it is left out.
  const shared = jwks.every(({ kty }) => kty === 'oct')
  const keys = jwks
    .filter(({ kty }) => shared || kty !== 'oct')
    .map(keyOf)
    .filter((key) => key !== undefined)
  const head = readJwsHead(token)
  if (isRefusal(head)) return false
  const found = findKeys(keySet(keys), head)
  return !isRefusal(found) && found.some((key) => isSignedWith(token, head.algorithm, key))
}

function run(file: string, expected: { valid: number; invalid: number }, exceptions: Readonly<Record<number, string>>) {
  const { groups } = readData(`corpora/wycheproof/${file}`) as { groups: Group[] }
  const counts = { valid: 0, invalid: 0 }
  const wrong: string[] = []
  for (const { keys, tests } of groups) {
    for (const { id, jws, result } of tests) {
      counts[result]++
      const accepted = accepts(keys, jws)
      const excepted = id in exceptions
      if ((accepted === (result === 'valid')) === excepted) {
        wrong.push(`tc${id}: ${result}, ${accepted ? 'accepted' : 'refused'}`)
      }
    }
  }
  assert.deepEqual(wrong, [])
  assert.deepEqual(counts, expected)
}

describe('the signature step against Project Wycheproof', () => {
  it('JSON Web Signature vectors', () => {
    run(
      'jws.json',
      { valid: 46, invalid: 355 },
      {
        ...Object.fromEntries([259, 264, 268, 272, 320, 325].map((id) => [id, REASONS.empty])),
        346: REASONS.pinned,
        347: REASONS.pinned,
        350: REASONS.pinned,
        351: REASONS.pinned,
        367: REASONS.identical,
        370: REASONS.identical,
        372: REASONS.strict,
        373: REASONS.strict,
      },
    )
  })

  it('JSON Web Key vectors', () => {
    run('jwk.json', { valid: 5, invalid: 21 }, { 7: REASONS.roca })
  })
})
