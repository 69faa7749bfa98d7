import assert from 'node:assert/strict'
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { describe, it } from 'node:test'
import { rawSignature } from '../../lib/oauth/keys/ecdsa-signature'

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
}

/** X.690 §8.3: no more bytes than it takes, the first bit is the sign. */
function derNumber(hex: string): Buffer {
  const bytes = Buffer.from(hex.replace(/^(00)+/, ''), 'hex')
  const signed = (bytes[0] as number) > 127 ? Buffer.concat([Buffer.of(0), bytes]) : bytes
  return Buffer.concat([Buffer.of(2, signed.length), signed])
}

function der(r: string, s: string): Buffer {
  const numbers = Buffer.concat([derNumber(r), derNumber(s)])
  return Buffer.concat([Buffer.of(0x30, numbers.length), numbers])
}

describe('an ES256 signature as a JWS has it', () => {
  for (const [which, number] of Object.entries(NUMBERS)) {
    it(`with an r or an s ${which}`, () => {
      assert.equal(rawSignature(der(number, S)).toString('hex'), number + S)
      assert.equal(rawSignature(der(R, number)).toString('hex'), R + number)
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
