import assert from 'node:assert/strict'
import { type KeyObject, generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, it } from 'node:test'
import { rawSignature } from '../../../lib/oauth/keys/ecdsa-signature'
import { isSignedWith } from '../../../lib/bearer/keys/signature'
import { keyFromMaterial } from '../../../lib/bearer/keys/verify-key'

/** RFC 6979 §A.2.5: P-256, SHA-256, "sample". */
const R = 'efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716'
const S = 'f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8'

const NUMBERS: Record<string, string> = {
  'of 32 bytes, the first bit set': R,
  'of 32 bytes, the first bit not set': `7f${R.slice(2)}`,
  'of 31 bytes, the first bit set': `00${R.slice(2)}`,
  'of 31 bytes, the first bit not set': `007f${R.slice(4)}`,
  'of one byte': '01'.padStart(64, '0'),
  'of one byte, the first bit set': 'ff'.padStart(64, '0'),
  'of nothing': '0'.repeat(64),
}

/** X.690 §8.3: no more bytes than it takes, the first bit is the sign. */
function derNumber(hex: string): Buffer {
  const bytes = Buffer.from(hex.replace(/^(00)+(?=..)/, ''), 'hex')
  const signed = (bytes[0] as number) > 127 ? Buffer.concat([Buffer.of(0), bytes]) : bytes
  return Buffer.concat([Buffer.of(2, signed.length), signed])
}

function der(r: string, s: string): Buffer {
  const numbers = Buffer.concat([derNumber(r), derNumber(s)])
  return Buffer.concat([Buffer.of(0x30, numbers.length), numbers])
}

describe('rawSignature() makes of DER what a JWS has', () => {
  for (const [which, number] of Object.entries(NUMBERS)) {
    it(`with an r or an s ${which}`, () => {
      for (const [r, s] of [
        [number, S],
        [R, number],
      ] as const) {
        assert.equal(rawSignature(der(r, s)).toString('hex'), r + s)
      }
    })
  }

  it('is what node:crypto verifies', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const key = { key: publicKey, dsaEncoding: 'ieee-p1363' as const }
    for (let i = 0; i < 500; i++) {
      const text = Buffer.from(`${i}`)
      assert.ok(verify('sha256', text, key, rawSignature(sign('sha256', text, privateKey))), `${i}`)
    }
  })
})

const CURVES = [
  ['ES256', 'P-256', 64],
  ['ES384', 'P-384', 96],
  ['ES512', 'P-521', 132],
] as const

/** `signed` with a signature that node:crypto makes as a JWS has it. */
function signedBy(key: KeyObject, algorithm: string, signed: string): { token: string; signature: Buffer } {
  const signature = sign(`sha${algorithm.slice(2)}`, Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return { token: `${signed}.${signature.toString('base64url')}`, signature }
}

describe('a signature of a token', () => {
  for (const [algorithm, namedCurve, length] of CURVES) {
    it(`by ${algorithm} holds, and has ${length} bytes`, () => {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
      const key = keyFromMaterial(publicKey, [algorithm])
      for (let i = 0; i < 300; i++) {
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
