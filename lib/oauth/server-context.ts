import type { Placement } from '../bearer/credentials/credentials'
import type { Clock } from '../http/clock'
import type { DpopCheck } from '../bearer/dpop/dpop-check'
import type { RegistrationSettings } from './registration-settings'
import type { RegisteredClients } from './records/registered-clients'
import type { IdentityScopes } from './identity-scopes'
import type { AccessTokens } from './tokens/access-tokens'
import type { ClientDirectory } from './directories/client'
import type { Cookies } from './cookie'
import type { IdTokens } from './tokens/id-tokens'
import type { Keyring } from './keys/keyring'
import type { PageRenderer } from './pages/page-renderer'
import type { Approvals } from './records/approvals'
import type { AcceptedTerms } from './records/accepted-terms'
import type { Codes } from './records/codes'
import type { LoginAttempts } from './records/login-attempts'
import type { Records } from './records/records'
import type { RefreshTokens } from './records/refresh-tokens'
import type { RevocationRecords } from './records/revocation-records'
import type { WebsiteSessions } from './records/website-sessions'
import type { Seal } from './seal'
import type { TimestampSecrets } from './client-auth/timestamp-secret'
import type { UserDirectory } from './directories/user'

/** How the server takes DPoP proofs (RFC 9449). */
export interface DpopSettings {
  /** How old a proof may be, in seconds. */
  readonly maxAgeSec: number
  /** Whether a proof must have a nonce of this server (§8). */
  readonly nonce: boolean
}

/** What the endpoints of one authorization server share. */
export interface ServerContext {
  /** `https://ident.example.org/cis-web/oauth2/v3` */
  readonly issuer: string
  readonly clock: Clock
  /** Receives a line per refused request. Undefined: no such log. */
  readonly log: ((line: string) => void) | undefined
  readonly clients: ClientDirectory
  readonly users: UserDirectory
  /** `token_type` of responses without an id_token. */
  readonly tokenType: string
  /** Whether `realm` is required for any app that requests scopes. */
  readonly isRealmNeeded: boolean
  readonly identity: IdentityScopes
  /** What a login here is worth: the `acr` of id_tokens that are asked for one. */
  readonly acr: string
  /** What tokens are for, unless a registration says otherwise. */
  readonly audience: readonly string[]
  /** Whether apps must push their authorization requests, unless their registration says otherwise. */
  readonly requirePushedRequests: boolean
  /** How DPoP proofs are taken, and the check of them at this server's own resources. */
  readonly dpop: DpopSettings & { readonly check: DpopCheck }
  /** Where `platformLogout` looks for its token in addition to the header. */
  readonly tokenFrom: readonly Placement[]
  /** Undefined: apps cannot register themselves. */
  readonly registration: RegistrationSettings | undefined
  readonly registered: RegisteredClients
  readonly keyring: Keyring
  readonly seal: Seal
  readonly cookies: Cookies
  readonly pages: PageRenderer
  readonly records: Records
  readonly codes: Codes
  readonly accessTokens: AccessTokens
  readonly refreshTokens: RefreshTokens
  readonly idTokens: IdTokens
  readonly revocations: RevocationRecords
  readonly sessions: WebsiteSessions
  readonly attempts: LoginAttempts
  readonly timestampSecrets: TimestampSecrets
  readonly acceptedTerms: AcceptedTerms
  readonly approvals: Approvals
}
