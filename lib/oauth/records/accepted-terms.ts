import { hashOf } from '../../http/secret'
import type { Records } from './records'

/** A user who accepted a version is not asked again for this long. */
const REMEMBERED_MS = 400 * 24 * 60 * 60_000

/** The accepted terms of access, by user and version. */
export class AcceptedTerms {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  accept(userId: string, version: string): Promise<void> {
    return this.#records.set('terms', acceptanceId(userId, version), 1, REMEMBERED_MS)
  }

  async isAccepted(userId: string, version: string): Promise<boolean> {
    return (await this.#records.get('terms', acceptanceId(userId, version))) !== undefined
  }
}

function acceptanceId(userId: string, version: string): string {
  return hashOf(`${version}\n${userId}`)
}
