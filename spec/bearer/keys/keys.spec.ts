import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sign } from 'jsonwebtoken'
import { ASYMMETRIC, keyMismatch } from '../../../lib/bearer/keys/algorithm'
import { type TokenOptions, claimPolicy } from '../../../lib/bearer/claims/claim-options'
import { readJws, type Jws } from '../../../lib/bearer/credentials/jws'
import { TrustedIssuers, jwtVerifier } from '../../../lib/bearer/issuers/jwt-verifier'
import { keySet, staticKeys, type KeySource } from '../../../lib/bearer/keys/key-source'
import { type KnownToken, KnownTokens } from '../../../lib/bearer/issuers/known-tokens'
import { KeyProblem, keyFromJwk, keyFromMaterial, keyFromSecret } from '../../../lib/bearer/keys/verify-key'
import { systemClock } from '../../../lib/http/clock'
import { devIssuer, manualClock } from '../../../lib/testing/index'
import { generateKeys } from '../../support/generate-keys'
import { says } from '../../support/addressed'

const ec = generateKeys('ec').publicKey
const ed = generateKeys('ed25519').publicKey
const x = generateKeys('x25519').publicKey
const jwk = ec.export({ format: 'jwk' })
/** An RSA key of so many bits; nobody knows its factors. */
const EXPONENT = "an RSA key's exponent must be from 3 to 2^33; most keys have 65537"
const rsaOf = (bits: number) => {
  const n = Buffer.alloc(Math.ceil(bits / 8), 0xff)
  if (bits % 8 !== 0) n[0] = 2 ** (bits % 8) - 1
  return { kty: 'RSA', e: 'AQAB', n: n.toString('base64url') }
}

function problemOf(make: () => unknown): KeyProblem {
  try {
    make()
  } catch (problem) {
    assert.ok(problem instanceof KeyProblem)
    return problem
  }
  return assert.fail('a key was made')
}

describe('keyFromJwk(), keyFromMaterial() and keyFromSecret()', () => {
  it('say what is wrong with a key, and show none of it', () => {
    const all = ASYMMETRIC.join(', ')
    const long = 'x'.repeat(99)
    for (const [given, algorithms, message] of [
      [{ kty: 7 }, ASYMMETRIC, 'it is no JWK: it has no kty'],
      [null, ASYMMETRIC, 'it is no JWK: it has no kty'],
      [{ ...jwk, use: 'enc' }, ASYMMETRIC, 'its use is not sig'],
      [{ ...jwk, key_ops: ['sign'] }, ASYMMETRIC, 'its key_ops do not include verify'],
      [{ ...jwk, key_ops: 'verify' }, ASYMMETRIC, 'its key_ops do not include verify'],
      [{ ...jwk, kid: 7 }, ASYMMETRIC, 'its kid is not a text'],
      [[], ASYMMETRIC, 'it is no JWK: it has no kty'],
      [{ ...jwk, alg: 'XX' }, ASYMMETRIC, `its alg is not among ${all}`],
      [{ kty: long }, ASYMMETRIC, `node:crypto does not take it as a JWK of kty ${long.slice(0, 20)}`],
      [jwk, ['RS256', 'EdDSA'], 'it fits none of RS256, EdDSA'],
      [jwk, ['RS256'], 'RS256 takes an RSA key'],
      [jwk, ['EdDSA'], 'EdDSA takes an Ed25519 or Ed448 key'],
      [jwk, ['ES384'], 'ES384 takes a key on secp384r1'],
      [jwk, [], 'no algorithm is allowed for it'],
      [rsaOf(2_047), ['RS256'], 'an RSA key must have 2048 to 4096 bits, and this one has 2047'],
      [rsaOf(4_097), ASYMMETRIC, 'an RSA key must have 2048 to 4096 bits, and this one has 4097'],
      ...['AQ', 'AgAAAAE', rsaOf(3_064).n].map((e) => [{ ...rsaOf(3_072), e }, ASYMMETRIC, EXPONENT] as const),
    ] as const) {
      assert.equal(problemOf(() => keyFromJwk(given, algorithms)).message, message)
    }
    assert.equal(
      problemOf(() => keyFromMaterial('x', ASYMMETRIC)).message,
      'it is no PEM of a public key or a certificate',
    )
    assert.ok(problemOf(() => keyFromMaterial('x', ASYMMETRIC)).cause)
    assert.ok(problemOf(() => keyFromJwk({ kty: 'EC' }, ASYMMETRIC)).cause)
  })

  it('take a key for the algorithm it names, else for those that fit', () => {
    for (const [given, algorithm] of [
      [rsaOf(2_048), 'RS256 RS384 RS512 PS256 PS384 PS512'],
      [{ ...rsaOf(4_096), e: 'Aw' }, 'RS256 RS384 RS512 PS256 PS384 PS512'],
      [{ ...rsaOf(2_048), alg: 'PS384' }, 'PS384'],
      [{ ...jwk, use: 'sig', key_ops: ['verify', 'sign'] }, 'ES256'],
      [ed.export({ format: 'jwk' }), 'EdDSA Ed25519'],
      [{ ...ed.export({ format: 'jwk' }), alg: 'Ed25519' }, 'EdDSA Ed25519'],
    ] as const) {
      assert.equal(keyFromJwk(given, ASYMMETRIC).algorithms.join(' '), algorithm)
    }
    assert.equal(keyFromMaterial(ed, ASYMMETRIC).algorithms.join(' '), 'EdDSA Ed25519')
    assert.equal(keyFromSecret('é'.repeat(16), 'HS256').key.symmetricKeySize, 32) // UTF-8
  })

  it('check a key’s type before its size', () => {
    assert.equal(keyMismatch('ES256', ed), 'ES256 takes a key on prime256v1')
    assert.equal(keyMismatch('ES256', x), 'ES256 takes a key on prime256v1')
    assert.equal(keyMismatch('RS256', ed), 'RS256 takes an RSA key')
    assert.equal(keyMismatch('HS256', ec), 'HS256 takes a shared secret')
  })
})

describe('jwtVerifier() and its cache', () => {
  const dev = devIssuer()
  const key = keyFromJwk(dev.options.key, ASYMMETRIC)
  const keys = staticKeys(keySet([key]))
  const policy = claimPolicy(dev, {})
  const verifier = (tokens: KnownTokens, source: KeySource = keys) => {
    const issuers = new TrustedIssuers()
    issuers.add({ policy, keys: { of: () => source, known: () => [{ issuer: policy.issuer, keys: source }] } })
    return jwtVerifier(issuers, tokens, systemClock)
  }

  it('checks the signature of a cached token no more', () => {
    const tokens = new KnownTokens(9)
    const added: string[] = []
    const add = tokens.add.bind(tokens)
    tokens.add = (known) => (added.push(known.jws.token), add(known))
    const token = dev.token('ada')
    const [first, ...more] = [1, 2, 3].map(() => verifier(tokens).verify(token))
    assert.ok(first && 'claims' in first)
    for (const again of more) assert.equal(again, first)
    assert.deepEqual(added, [token])
    // It would not hold, were it checked again.
    const forged = dev.attack('claims-changed')
    assert.deepEqual(verifier(tokens).verify(forged), { refused: 'signature' })
    const asKnown = { ...(tokens.get(token) as KnownToken), jws: readJws(forged) as Jws }
    add(asKnown)
    assert.ok('claims' in verifier(tokens).verify(forged))
    add({ ...asKnown, key: { ...key } })
    assert.ok('claims' in verifier(tokens).verify(forged), 'keys that were given are always the same')
    const fetched = { ...keys, isFixed: undefined }
    add({ ...asKnown, keys: fetched, key: { ...key } })
    assert.deepEqual(verifier(tokens, fetched).verify(forged), { refused: 'signature' })
  })

  it('checks the times of a cached token, to the second', () => {
    const clock = manualClock(1_000_000_000_000)
    const now = 1_000_000_000
    const secret = 's'.repeat(32)
    const known = staticKeys(keySet([keyFromSecret(secret, 'HS256')]))
    const judge = (options: TokenOptions, claims: object) => {
      const issuers = new TrustedIssuers()
      const { issuer, audience } = dev
      issuers.add({
        policy: claimPolicy({ issuer, audience, ...options }, {}),
        keys: { of: () => known, known: () => [] },
      })
      const verifier = jwtVerifier(issuers, new KnownTokens(9), clock)
      const token = sign({ iss: issuer, aud: audience, sub: 'ada', ...claims }, secret)
      return (sec: number) => {
        clock.setDate(sec * 1_000)
        const outcome = verifier.verify(token)
        return 'refused' in outcome ? outcome.refused : 'good'
      }
    }
    const plain = judge({ clockToleranceSec: 2 }, { exp: now + 60, nbf: now + 10 })
    assert.equal(plain(now + 30), 'good')
    const seconds = [7.9, 8, 61.9, 62, 30].map((sec) => plain(now + sec))
    assert.deepEqual(seconds, ['not_yet_valid', 'good', 'good', 'expired', 'good'])
    const young = judge({ clockToleranceSec: 2, maxAgeSec: 20 }, { exp: now + 60, iat: now })
    assert.equal(young(now + 10), 'good')
    const ages = [-2.1, -2, 22, 22.1, 10].map((sec) => young(now + sec))
    assert.deepEqual(ages, ['issued_at', 'good', 'good', 'too_old', 'good'])
  })

  it('checks a cached token again after the issuer’s metadata have changed', () => {
    const tokens = new KnownTokens(9)
    const token = dev.token('ada')
    const source: { -readonly [name in keyof KeySource]: KeySource[name] } = { ...keys, issuer: dev.issuer }
    assert.ok('claims' in verifier(tokens, source).verify(token))
    source.issuer = `${dev.issuer}/moved`
    const refused = tokens.get(token) && verifier(tokens, source).verify(token)
    assert.equal(refused && 'refused' in refused && refused.refused, 'issuer')
  })

  it('accepts only the token type that the issuer’s metadata state', () => {
    const secret = 's'.repeat(32)
    const known = staticKeys(keySet([keyFromSecret(secret, 'HS256')]))
    const claims = { iss: dev.issuer, aud: dev.audience, sub: 'ada', exp: 4_102_444_800 }
    const judged = (typ: string | undefined, source: KeySource) =>
      verifier(new KnownTokens(9), source).verify(sign(claims, secret, { header: { alg: 'HS256', typ } }))
    for (const typ of ['JWT', undefined]) {
      assert.deepEqual(judged(typ, { ...known, typ: 'at+jwt' }), { refused: 'token_type' })
      assert.ok('claims' in judged(typ, known))
    }
    assert.ok('claims' in judged('at+jwt', { ...known, typ: 'at+jwt' }))
  })

  it('caches no token with invalid claims', () => {
    const tokens = new KnownTokens(9)
    assert.deepEqual(verifier(tokens).verify(dev.attack('expired')), { refused: 'expired' })
    assert.equal(tokens.size, 0)
  })

  it('is ready when every issuer’s keys are', async () => {
    assert.ok(keys.ready() instanceof Promise)
    await verifier(new KnownTokens(0)).ready()
    const broken: KeySource = { ...keys, ready: () => Promise.reject(new Error('down')) }
    await assert.rejects(verifier(new KnownTokens(0), broken).ready(), says('down'))
  })
})
