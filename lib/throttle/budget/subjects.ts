import { createHmac, hash } from 'node:crypto'
import { optionError } from '../../http/help'

/**
 * Names the subject in the store, and says where its windows begin: the phase, in microseconds. Both come from a digest,
 * so that no two subjects share them.
 */
export function subjectId(subject: string, windowUs: number, digestOf = sha256Digest): { id: string; phase: number } {
  const digest = digestOf(subject)
  const phase = Buffer.from(digest.slice(24, 32), 'base64url').readUIntBE(0, 6) % windowUs
  return { id: digest.slice(0, 24), phase }
}

/** A digest of a subject: 43 base64url characters, the same for equal subjects. */
export type SubjectDigest = (subject: string) => string

/** SHA-256 of a subject's UTF-16 code units, so that no two subjects share it. */
export function sha256Digest(subject: string): string {
  return hash('sha256', Buffer.from(subject, 'utf16le'), 'base64url') // as text: bytes take twice as long
}

const LEAST_BYTES = 32

/**
 * HMAC-SHA-256 (RFC 2104) of a subject under the app's key. Without the key nobody can try out which subject a digest is of.
 *
 * @throws {TypeError | RangeError} where it is no text or bytes, or too short; the message does not show it
 */
export function keyedDigest(hashKey: unknown): SubjectDigest {
  const key = typeof hashKey === 'string' ? Buffer.from(hashKey) : hashKey
  if (!(key instanceof Uint8Array)) throw optionError('hashKey must be a text or bytes')
  if (key.length < LEAST_BYTES)
    throw optionError(`hashKey must have ${LEAST_BYTES} bytes or more; received ${key.length}`, RangeError)
  const own = Buffer.from(key) // the app may clear its own
  return (subject) => createHmac('sha256', own).update(Buffer.from(subject, 'utf16le')).digest('base64url')
}
