import { type KeyObject, constants, publicDecrypt } from 'node:crypto'
import { hashOf } from '../../http/secret'
import { TimestampDigests } from './timestamp-digests'

/** How far the time in a secret may lie from ours. */
export const TIMESTAMP_TOLERANCE_MS = 5 * 60_000

/** DER of a DigestInfo up to the digest (RFC 8017 §9.2). */
const DIGEST_INFO: readonly [prefix: string, algorithm: string][] = [
  ['3031300d060960864801650304020105000420', 'sha256'],
  ['3021300906052b0e03021a05000414', 'sha1'],
]
/** Signatures that are remembered as refused. */
const MOST_REFUSED = 1_000

/**
 * Reads secrets that hold a time: base64 of the epoch milliseconds, private-encrypted with the client's RSA key, or signed
 * (PKCS #1 v1.5 with SHA-256 or SHA-1), within five minutes of now.
 *
 * A signature holds a digest of the time only, so the digests of the times around now are compared. An old signature costs
 * no more than a good one: see {@link TimestampDigests}.
 */
export class TimestampSecrets {
  readonly #digests = DIGEST_INFO.map(
    ([prefix, algorithm]) => [prefix, new TimestampDigests(algorithm, TIMESTAMP_TOLERANCE_MS)] as const,
  )
  readonly #refused = new Set<string>()

  /**
   * @param now milliseconds since 1970
   * @returns milliseconds since 1970, or undefined if none of the keys made the secret or its time is too far from now
   */
  async timeOf(secret: string, keys: readonly KeyObject[], now: number): Promise<number | undefined> {
    if (!/^[A-Za-z0-9+/]{256,1400}={0,2}$/.test(secret)) return undefined
    const bytes = Buffer.from(secret, 'base64')
    const id = hashOf(secret)
    if (bytes.toString('base64') !== secret || this.#refused.has(id)) return undefined
    for (const key of keys) {
      const message = decrypted(key, bytes)
      if (!message) continue
      const time = await this.#timeIn(message, now)
      if (time !== undefined && Math.abs(time - now) <= TIMESTAMP_TOLERANCE_MS) return time
      this.#refuse(id)
    }
    return undefined
  }

  async #timeIn(message: Buffer, now: number): Promise<number | undefined> {
    const text = message.toString('latin1')
    if (/^\d{13}$/.test(text)) return Number(text)
    const hex = message.toString('hex')
    for (const [prefix, digests] of this.#digests) {
      if (hex.startsWith(prefix)) return digests.find(hex.slice(prefix.length), Math.round(now))
    }
    return undefined
  }

  #refuse(id: string): void {
    const [oldest] = this.#refused
    if (oldest !== undefined && this.#refused.size >= MOST_REFUSED) this.#refused.delete(oldest)
    this.#refused.add(id)
  }
}

function decrypted(key: KeyObject, bytes: Buffer): Buffer | undefined {
  try {
    return publicDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, bytes)
  } catch {
    return undefined
  }
}
