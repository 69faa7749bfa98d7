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
  /** The thumbprint of the key that must redeem it (RFC 9449 §10). */
  readonly dpopJkt?: string
}

/** Authorization codes: 256 bits, stored as hashes, single-use and short-lived. */
export class Codes {
  readonly #records: Records
  readonly #lifetimeMs: number
  readonly #rememberMs: number

  /** @param rememberMs how long a spent code is remembered, to detect its replay */
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

  /** What the code stands for, spent or not. Does not spend it. */
  find(code: string): Promise<CodeRecord | undefined> {
    return this.#records.get('code', hashOf(code))
  }

  /** Spends the code. Exactly one caller, in any process, gets `first: true`. */
  spend(code: string): Promise<RecordClaim<CodeRecord> | undefined> {
    return this.#records.claim('code', hashOf(code), this.#rememberMs)
  }
}
