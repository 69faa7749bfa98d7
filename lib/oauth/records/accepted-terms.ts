import { hashOf } from '../../http/secret'
import type { Records } from './records'

interface Acceptance {
  readonly acceptedAtMs: number
}

/** A user who accepted a version is not asked again for this long. */
const REMEMBERED_MS = 400 * 24 * 60 * 60_000

/** Which user accepted which version of the terms of access. */
export class AcceptedTerms {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  accept(userId: string, version: string, nowMs: number): Promise<void> {
    return this.#records.set('terms', acceptanceId(userId, version), { acceptedAtMs: nowMs }, REMEMBERED_MS)
  }

  /** When the user accepted that version, in milliseconds since 1970, or undefined. */
  async acceptedAt(userId: string, version: string): Promise<number | undefined> {
    return (await this.#records.get<Acceptance>('terms', acceptanceId(userId, version)))?.acceptedAtMs
  }
}

function acceptanceId(userId: string, version: string): string {
  return hashOf(`${version}\n${userId}`)
}
