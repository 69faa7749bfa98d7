import { hash } from 'node:crypto'

/**
 * Names the subject in the store, and says where its windows begin: the phase, in microseconds. Both come from a hash of
 * the UTF-16 code units, so that no two subjects share them, and no subject can be read in the store.
 */
export function subjectId(subject: string, windowUs: number): { id: string; phase: number } {
  const digest = hash('sha256', Buffer.from(subject, 'utf16le'), 'base64url') // as text: bytes take twice as long
  const phase = Buffer.from(digest.slice(24, 32), 'base64url').readUIntBE(0, 6) % windowUs
  return { id: digest.slice(0, 24), phase }
}
