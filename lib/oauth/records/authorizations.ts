import type { Challenge } from '../parameters/pkce'
import { hashOf, newSecret } from '../../http/secret'
import { ofUser } from './owners'
import type { RecordClaim, Records } from './records'

/** The authorization that a user gave to an app. A code and every token issued from it share it. */
export interface Authorization {
  /** Identifies the grant. Revoking it revokes every token issued from the code. Public, 128 bits. */
  readonly grantId: string
  readonly clientId: string
  readonly userId: string
  readonly scope: readonly string[]
  /** When the user signed in: seconds since 1970. */
  readonly authTimeSec: number
  /** The website session in which the user allowed it; undefined once that is over. */
  readonly sid?: string | undefined
  /** The user's and the app's marks at that time: see `RevocationRecords`. */
  readonly userMark?: string
  readonly appMark?: string
  /** Claims requested by the parameter `claims`, in addition to those of the scopes. */
  readonly userinfoClaims?: readonly string[]
  readonly idTokenClaims?: readonly string[]
  /** Stands in the tokens, where the app asked for it or the app's own sign-in page said it. */
  readonly acr?: string
  /** How the user signed in, where the app's own page said it (RFC 8176). */
  readonly amr?: readonly string[]
  /** The audiences of the resources that were requested (RFC 8707). */
  readonly audience?: readonly string[]
  /** The thumbprint of the key that a public client's refresh tokens are bound to (RFC 9449 §5). */
  readonly jkt?: string
}

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
  /** @param rememberMs how long a spent code is remembered, to detect its replay */
  constructor(
    private readonly records: Records,
    private readonly lifetimeMs: number,
    private readonly rememberMs: number,
  ) {}

  async issue(record: CodeRecord): Promise<string> {
    const code = newSecret()
    await this.records.set('code', hashOf(code), record, this.lifetimeMs, ofUser(record.authorization.userId))
    return code
  }

  /** What the code stands for, spent or not. Does not spend it. */
  find(code: string): Promise<CodeRecord | undefined> {
    return this.records.get('code', hashOf(code))
  }

  /** Spends the code. Exactly one caller, in any process, gets `first: true`. */
  spend(code: string): Promise<RecordClaim<CodeRecord> | undefined> {
    return this.records.claim('code', hashOf(code), this.rememberMs)
  }
}
