import type { Challenge } from '../parameters/pkce'
import { hashOf, newSecret } from '../../http/secret'
import type { Authorization } from './authorization'
import type { RecordClaim, Records } from './records'

/** What a code stands for (RFC 6749 §4.1.2). */
export interface CodeRecord {
  readonly authorization: Authorization
  readonly redirectUri: string
  readonly challenge?: Challenge
  readonly nonce?: string
}

/** Authorization codes: 256 bits, kept as hashes, good once and for a short time. */
export class Codes {
  readonly #records: Records
  readonly #lifetimeMs: number
  readonly #rememberMs: number

  /** @param rememberMs how long a spent code stays known, so that its replay is noticed */
  constructor(records: Records, lifetimeMs: number, rememberMs: number) {
    this.#records = records
    this.#lifetimeMs = lifetimeMs
    this.#rememberMs = rememberMs
  }

  async issue(record: CodeRecord): Promise<string> {
    const code = newSecret()
    await this.#records.set('code', hashOf(code), record, this.#lifetimeMs)
    return code
  }

  /** What the code stands for, spent or not. Nothing is changed: only its owner may spend it. */
  look(code: string): Promise<CodeRecord | undefined> {
    return this.#records.get('code', hashOf(code))
  }

  /** Spends the code: one caller is first, whatever the number of processes. */
  spend(code: string): Promise<RecordClaim<CodeRecord> | undefined> {
    return this.#records.claim('code', hashOf(code), this.#rememberMs)
  }
}
