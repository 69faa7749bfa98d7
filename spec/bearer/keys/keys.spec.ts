import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { type KeyObject, generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { ASYMMETRIC, keyMismatch } from '../../../lib/bearer/keys/algorithm'
import { KeyProblem, keyFromJwk, keyFromMaterial, keyFromSecret } from '../../../lib/bearer/keys/verify-key'
import { clientPublicKey, signingPrivateKey } from '../../../lib/oauth/keys/signing-algorithm'
import { generateKeys } from '../../support/generate-keys'
import { TYPESCRIPT, programOf } from '../../support/typescript'

const ec = generateKeys('ec').publicKey
const ed = generateKeys('ed25519').publicKey
const ed448 = generateKeys('ed448').publicKey
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
  it('take a PEM as environment variables hold it', () => {
    const pem = ec.export({ type: 'spki', format: 'pem' }) as string
    const one = pem.replaceAll('\n', '\\n')
    const forms = [
      one,
      `"${one}"`,
      one.replaceAll('\\n', '\\r\\n'),
      pem.replaceAll('\n', ' '),
      btoa(pem),
      pem.replace(/-----.*-----|\n/g, ''),
    ]
    for (const form of forms) assert.ok(keyFromMaterial(form, ASYMMETRIC).key.equals(ec), form)
    const secret = generateKeys('ec').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    for (const form of [secret, secret.replaceAll('\n', '\\n'), btoa(secret)]) {
      assert.equal(
        problemOf(() => keyFromMaterial(form, ASYMMETRIC)).message,
        'it is a private key; give its public half',
      )
    }
  })

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
      [ed448.export({ format: 'jwk' }), 'EdDSA Ed448'],
      [{ ...ed448.export({ format: 'jwk' }), alg: 'Ed448' }, 'EdDSA Ed448'],
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

const NODE_20 = process.version.startsWith('v20.')

it('a key that was just generated is read while its generator is collected', async () => {
  const args = [...TYPESCRIPT, '--max-semi-space-size=1', programOf(__dirname, 'fresh-keys')]
  await promisify(execFile)(process.execPath, args, { timeout: 100_000 }) // takes two seconds, or for ever
})

it(`a key that an app gives is ${NODE_20 ? 'copied' : 'taken as it is'}`, () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const taken: [KeyObject, KeyObject][] = [
    [privateKey, signingPrivateKey(privateKey)],
    [publicKey, clientPublicKey('publicKeys', publicKey)],
    [publicKey, keyFromMaterial(publicKey, ['RS256']).key],
  ]
  for (const [given, own] of taken) {
    assert.equal(own !== given, NODE_20)
    assert.ok(own.equals(given))
  }
})
