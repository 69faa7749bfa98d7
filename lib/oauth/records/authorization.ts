/** What a user has let an app do: behind a code and every token that comes of it. */
export interface Authorization {
  /** Names everything that comes of one code; revoking it revokes all of that. Public, 128 bits. */
  readonly grantId: string
  readonly clientId: string
  readonly userId: string
  readonly scope: readonly string[]
  /** When the user gave his password: seconds since 1970. */
  readonly authTimeSec: number
  /** The website session in which it was given. */
  readonly sid: string
}
