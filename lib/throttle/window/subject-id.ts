import { createHash } from 'node:crypto'

/**
 * The subject's name in the store and the phase of its windows, in microseconds. A hash of the UTF-16 code units, so
 * that no two subjects meet, whatever is in them, and nobody can be read out of the store.
 */
export function identify(subject: string, windowUs: number): { id: string; phase: number } {
  const digest = createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest()
  return { id: digest.toString('base64url', 0, 18), phase: digest.readUIntBE(18, 6) % windowUs }
}

/** Subjects longer than this are kept in memory by a hash: nobody fills it with long names. */
const LONGEST = 256
const KEPT = 200

/** What stands for a subject in memory. Longer than any subject that stands for itself, so that no two meet. */
export function subjectKey(subject: string): string {
  if (subject.length <= LONGEST) return subject
  const digest = createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest('hex')
  return `${subject.slice(0, KEPT)}\u2026${digest}`
}
