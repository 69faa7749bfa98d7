import assert from 'node:assert/strict'
import { type KeyObject, generateKeyPairSync, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { isSignedWith } from '../../../lib/bearer/keys/signature'
import { keyFromMaterial } from '../../../lib/bearer/keys/verify-key'

const CURVES = [
  ['ES256', 'P-256', 64, 300],
  ['ES384', 'P-384', 96, 30],
  ['ES512', 'P-521', 132, 30],
] as const

/** `signed` with a signature that node:crypto makes as a JWS has it. */
function signedBy(key: KeyObject, algorithm: string, signed: string): { token: string; signature: Buffer } {
  const signature = sign(`sha${algorithm.slice(2)}`, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return { token: `${signed}.${signature.toString('base64url')}`, signature }
}

describe('an ECDSA signature of a token', () => {
  for (const [algorithm, namedCurve, length, rounds] of CURVES) {
    it(`by ${algorithm} holds, and has ${length} bytes`, () => {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
      const key = keyFromMaterial(publicKey, [algorithm])
      for (let i = 0; i < rounds; i++) {
        const parts = [{ alg: algorithm }, { jti: `${i}` }]
        const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
        const { token, signature } = signedBy(privateKey, algorithm, signed)
        assert.ok(isSignedWith(token, algorithm, key), `${i}`)
        const holds = (bytes: Buffer) => isSignedWith(`${signed}.${bytes.toString('base64url')}`, algorithm, key)
        // DER has no zeros in front: with one more or one less the numbers are the same.
        const [r, s] = [signature.subarray(0, length / 2), signature.subarray(length / 2)]
        assert.ok(!holds(Buffer.concat([r, Buffer.of(0), s])), 'longer')
        if (s[0] === 0) assert.ok(!holds(Buffer.concat([r, s.subarray(1)])), 'shorter')
      }
    })
  }
})
