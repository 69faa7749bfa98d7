import { hashOf } from '../../http/secret'
import type { Records } from './records'

interface Acceptance {
  readonly acceptedAtMs: number
}

/** Users who have accepted a wording are not asked again for so long. */
const REMEMBERED_MS = 400 * 24 * 60 * 60_000

/** Who has accepted which wording of the terms of access. */
export class AcceptedTerms {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  accept(userId: string, version: string, nowMs: number): Promise<void> {
    return this.#records.set('terms', id(userId, version), { acceptedAtMs: nowMs }, REMEMBERED_MS)
  }

  /** When the user accepted that wording, in milliseconds since 1970; undefined: he has not. */
  async acceptedAt(userId: string, version: string): Promise<number | undefined> {
    return (await this.#records.get<Acceptance>('terms', id(userId, version)))?.acceptedAtMs
  }
}

function id(userId: string, version: string): string {
  return hashOf(`${version}\n${userId}`)
}
