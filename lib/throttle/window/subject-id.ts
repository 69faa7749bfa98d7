import { createHash } from 'node:crypto'

/**
 * Names the subject in the store, and says where its windows begin: the phase, in microseconds. Both come from a hash of
 * the UTF-16 code units, so that no two subjects share them, and no subject can be read in the store.
 */
export function subjectId(subject: string, windowUs: number): { id: string; phase: number } {
  const digest = createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest()
  return { id: digest.toString('base64url', 0, 18), phase: digest.readUIntBE(18, 6) % windowUs }
}
