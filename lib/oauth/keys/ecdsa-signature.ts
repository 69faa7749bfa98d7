// node:crypto uses ECDSA signatures in DER (RFC 3279 §2.2.3): `30 len 02 len r 02 len s`. r and s have no leading zeros,
// except one if their first bit is set. A JWS has r and s side by side (RFC 7518 §3.4).
// The option `dsaEncoding` of node:crypto would convert them, but costs 25 µs in Node 24.21 (November 2026; none in 20, 22
// and 26). A signature takes 24 µs, its verification 65.

/** Bytes of r and of s: as many as the order of P-256 has. */
const NUMBER_BYTES = 32

/** Converts an ES256 signature from DER to r and s side by side. */
export function rawSignature(der: Uint8Array): Buffer {
  const raw = Buffer.alloc(2 * NUMBER_BYTES)
  let at = 2
  for (const end of [NUMBER_BYTES, 2 * NUMBER_BYTES]) {
    const next = at + 2 + (der[at + 1] as number)
    const number = der.subarray(Math.max(at + 2, next - NUMBER_BYTES), next)
    raw.set(number, end - number.length)
    at = next
  }
  return raw
}
