import { type KeyObject, constants, hash, publicDecrypt } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'

/** How far the time in a secret may lie from ours. */
export const TIMESTAMP_TOLERANCE_MS = 5 * 60_000

/** DER of a DigestInfo up to the digest (RFC 8017 §9.2). */
const DIGEST_INFO: readonly [prefix: string, algorithm: string][] = [
  ['3031300d060960864801650304020105000420', 'sha256'],
  ['3021300906052b0e03021a05000414', 'sha1'],
]
/** Milliseconds tried in one turn of the event loop. */
const TURN = 10_000

/**
 * The time that a client has put into its secret: base64 of the epoch milliseconds, private-encrypted with its RSA key,
 * or signed (PKCS #1 v1.5 with SHA-256 or SHA-1), within five minutes of now.
 *
 * A signature does not hold the time that was signed, only its digest; so the times around now are tried, nearest first.
 * Only a client that has the private key can make us try at all.
 *
 * @param now milliseconds since 1970
 * @returns milliseconds since 1970, or undefined where none of the keys has made it or it is not the time
 */
export async function timestampOf(
  secret: string,
  keys: readonly KeyObject[],
  now: number,
): Promise<number | undefined> {
  if (!/^[A-Za-z0-9+/]{256,1400}={0,2}$/.test(secret)) return undefined
  const bytes = Buffer.from(secret, 'base64')
  if (bytes.toString('base64') !== secret) return undefined
  for (const key of keys) {
    const message = decrypted(key, bytes)
    if (!message) continue
    const time = await timeIn(message, now)
    if (time !== undefined && Math.abs(time - now) <= TIMESTAMP_TOLERANCE_MS) return time
  }
  return undefined
}

function decrypted(key: KeyObject, bytes: Buffer): Buffer | undefined {
  try {
    return publicDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, bytes)
  } catch {
    return undefined
  }
}

async function timeIn(message: Buffer, now: number): Promise<number | undefined> {
  const text = message.toString('latin1')
  if (/^\d{13}$/.test(text)) return Number(text)
  const hex = message.toString('hex')
  for (const [prefix, algorithm] of DIGEST_INFO) {
    if (hex.startsWith(prefix)) return signedTime(hex.slice(prefix.length), algorithm, Math.round(now))
  }
  return undefined
}

async function signedTime(digest: string, algorithm: string, now: number): Promise<number | undefined> {
  for (let away = 0; away <= TIMESTAMP_TOLERANCE_MS; away++) {
    if (hash(algorithm, String(now - away)) === digest) return now - away
    if (hash(algorithm, String(now + away)) === digest) return now + away
    if (away % TURN === TURN - 1) await setImmediate()
  }
  return undefined
}
