/** The authorization that a user gave to an app. A code and every token issued from it share it. */
export interface Authorization {
  /** Identifies the grant. Revoking it revokes every token issued from the code. Public, 128 bits. */
  readonly grantId: string
  readonly clientId: string
  readonly userId: string
  readonly scope: readonly string[]
  /** When the user entered the password: seconds since 1970. */
  readonly authTimeSec: number
  /** The website session in which the user allowed it. */
  readonly sid: string
  /** The user's mark at that time: see `RevocationRecords`. */
  readonly userMark?: string
  /** Claims requested by the parameter `claims`, in addition to those of the scopes. */
  readonly userinfoClaims?: readonly string[]
  readonly idTokenClaims?: readonly string[]
  /** Stands in the id_token, where the app asked for it. */
  readonly acr?: string
  /** The audiences of the resources that were requested (RFC 8707). */
  readonly audience?: readonly string[]
  /** The thumbprint of the key that a public client's refresh tokens are bound to (RFC 9449 §5). */
  readonly jkt?: string
}
