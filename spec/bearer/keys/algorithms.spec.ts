import assert from 'node:assert/strict'
import { type KeyObject, createSecretKey, randomBytes, sign as signBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { SignJWT } from 'jose'
import { type Algorithm, type BearerOptions, requireBearer } from '../../../lib/index'
import { ASYMMETRIC, SYMMETRIC } from '../../../lib/bearer/keys/algorithm'
import { readJwsHead } from '../../../lib/bearer/credentials/jws'
import { findKeys, keySet } from '../../../lib/bearer/keys/key-source'
import { isRefusal } from '../../../lib/bearer/refusal/refusal'
import { isSignedWith } from '../../../lib/bearer/keys/signature'
import { KeyProblem, type VerifyKey, keyFromJwk, keyFromSecret } from '../../../lib/bearer/keys/verify-key'
import { generateKeys } from '../../support/generate-keys'
import { apiOf } from '../api'
import { readData } from '../../support/data'

const rsa = generateKeys('rsa')
const ec = (namedCurve: string) => generateKeys('ec', namedCurve)
const pairs: Readonly<
  Record<Exclude<Algorithm, `HS${string}` | 'Ed448'>, { privateKey: KeyObject; publicKey: KeyObject }>
> = {
  RS256: rsa,
  RS384: rsa,
  RS512: rsa,
  PS256: rsa,
  PS384: rsa,
  PS512: rsa,
  ES256: ec('P-256'),
  ES384: ec('P-384'),
  ES512: ec('P-521'),
  EdDSA: generateKeys('ed25519'),
  Ed25519: generateKeys('ed25519'),
}
const names = Object.keys(pairs) as (keyof typeof pairs)[]
const claims = { iss: 'https://as.test', aud: 'api', sub: 'ada', exp: 4_102_444_800 }
const base = { issuer: 'https://as.test', audience: 'api' }

function signed(alg: string, key: KeyObject): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg }).sign(key)
}

const asking = async (options: BearerOptions) => (await apiOf(options)).statusOf

describe('requireBearer() takes tokens signed by another library', () => {
  for (const alg of names) {
    it(`${alg}, with a key pinned to it, and no other algorithm`, async () => {
      const { publicKey, privateKey } = pairs[alg]
      const ask = await asking({ ...base, key: publicKey, algorithms: [alg] })
      assert.equal(await ask(await signed(alg, privateKey)), 200)
      const others = names.filter((other) => other !== alg && pairs[other].privateKey === privateKey)
      for (const other of others) assert.equal(await ask(await signed(other, privateKey)), 401, other)
    })
  }

  for (const bits of [256, 384, 512]) {
    it(`HS${bits}, with a shared secret`, async () => {
      const secret = createSecretKey(randomBytes(bits / 8))
      const alg = `HS${bits}` as Algorithm
      const ask = await asking({ ...base, secret, algorithms: [alg] })
      assert.equal(await ask(await signed(alg, secret)), 200)
      assert.equal(await ask(await signed(alg, createSecretKey(randomBytes(bits / 8)))), 401)
    })
  }

  for (const alg of ['EdDSA', 'Ed448']) {
    it(`${alg} on Ed448 (RFC 8037 §3.1, RFC 9864 §2.2), and no forged or cut signature`, async () => {
      const { publicKey, privateKey } = generateKeys('ed448')
      const ask = await asking({ ...base, key: publicKey })
      const head = [{ alg }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
      const signature = signBytes(null, Buffer.from(head), privateKey)
      assert.equal(await ask(`${head}.${signature.toString('base64url')}`), 200)
      assert.equal(await ask(`${head}.${signature.subarray(1).toString('base64url')}`), 401)
      assert.equal(await ask(`${head}.${Buffer.alloc(114).toString('base64url')}`), 401)
      const on25519 = await asking({ ...base, key: generateKeys('ed25519').publicKey })
      assert.equal(await on25519(`${head}.${signature.toString('base64url')}`), 401)
    })
  }

  it('EdDSA and Ed25519, which are one on that curve (RFC 9864 §2.2), by a JWK that names either', async () => {
    const { publicKey, privateKey } = pairs.EdDSA
    const jwk = publicKey.export({ format: 'jwk' })
    for (const alg of ['EdDSA', 'Ed25519'] as const) {
      for (const name of ['EdDSA', 'Ed25519'] as const) {
        const ask = await asking({ ...base, key: { ...jwk, alg }, algorithms: [name] })
        assert.equal(await ask(await signed(name, privateKey)), 200, `${alg} for ${name}`)
      }
    }
    const ed448 = generateKeys('ed448').publicKey.export({ format: 'jwk' })
    for (const [key, algorithms] of [
      [{ ...ed448, alg: 'EdDSA' }, ['Ed25519']],
      [{ ...jwk, alg: 'ES256' }, ['EdDSA']],
      [{ ...jwk, alg: 'EdDSA' }, ['ES256']],
    ] as const) {
      const options = { ...base, key: key, algorithms } as BearerOptions
      assert.throws(() => requireBearer(options), /key cannot be used: its alg is not among/)
    }
  })

  it('by keys of every kind side by side', async () => {
    const keys = names.map((kid) => ({ ...pairs[kid].publicKey.export({ format: 'jwk' }), kid, alg: kid }))
    const ask = await asking({ ...base, keys })
    for (const alg of names) {
      const by = (kid: string) => new SignJWT(claims).setProtectedHeader({ alg, kid }).sign(pairs[alg].privateKey)
      assert.equal(await ask(await by(alg)), 200)
      for (const other of names) if (other !== alg) assert.equal(await ask(await by(other)), 401, `${alg} by ${other}`)
    }
  })
})

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
