import type { Algorithm } from './algorithm'

// node:crypto uses ECDSA signatures in DER (RFC 3279 §2.2.3): `30 len 02 len r 02 len s`. r and s have no leading zeros,
// except one if their first bit is set. A JWS has r and s side by side (RFC 7518 §3.4).
// The option `dsaEncoding` of node:crypto would convert them, but costs 25 µs in Node 24.21 (November 2026; none in 20, 22
// and 26). A signature takes 24 µs, its verification 65.

/** Bytes of r and of s, as many as the curve's order has. */
const NUMBER_BYTES: Readonly<Partial<Record<Algorithm, number>>> = { ES256: 32, ES384: 48, ES512: 66 }
const SEQUENCE = 0x30
const INTEGER = 0x02
/** Largest length in one byte. Longer values have another byte for it. */
const LONGEST_SHORT = 127
const ONE_BYTE_OF_LENGTH = 0x81

/** Converts an ES256 signature from DER to r and s side by side. */
export function rawSignature(der: Uint8Array): Buffer {
  const bytes = NUMBER_BYTES.ES256 as number
  const raw = Buffer.alloc(2 * bytes)
  let at = 2
  for (const end of [bytes, 2 * bytes]) {
    const next = at + 2 + (der[at + 1] as number)
    const number = der.subarray(Math.max(at + 2, next - bytes), next)
    raw.set(number, end - number.length)
    at = next
  }
  return raw
}

/** Converts r and s side by side to DER; undefined if their length is not the algorithm's. */
export function derSignature(raw: Uint8Array, algorithm: Algorithm): Buffer | undefined {
  const bytes = NUMBER_BYTES[algorithm]
  if (bytes === undefined || raw.length !== 2 * bytes) return undefined
  const numbers = Buffer.concat([derInteger(raw.subarray(0, bytes)), derInteger(raw.subarray(bytes))])
  const { length } = numbers
  return Buffer.concat([Buffer.of(SEQUENCE, ...(length > LONGEST_SHORT ? [ONE_BYTE_OF_LENGTH] : []), length), numbers])
}

function derInteger(number: Uint8Array): Buffer {
  let zeros = 0
  while (zeros < number.length - 1 && number[zeros] === 0) zeros++
  const isSignSet = (number[zeros] as number) > 127
  const length = number.length - zeros
  return Buffer.concat([Buffer.from(isSignSet ? [INTEGER, length + 1, 0] : [INTEGER, length]), number.subarray(zeros)])
}
