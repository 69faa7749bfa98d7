/** What is known of a user, by claim name: `{ givenName: 'Ada', family_name: 'Lovelace', email: 'ada@example.org' }`. */
export type UserClaims = Readonly<Record<string, string | number | boolean | undefined>>

/** Somebody who can log in. */
export interface User {
  /** Never changes and is never given to anybody else; becomes `sub`. 1 to 255 ASCII characters (OIDC Core §2). */
  readonly id: string
  /** What the user calls himself at login; shown on the pages. */
  readonly username: string
  /** `givenName`, `family_name`, `gender`, `language`, `locale`, `email`, `country`, `qualifies_for_affiliate_account`. */
  readonly claims?: UserClaims
}

/**
 * Where users come from. Either method may reject when its source is not reachable: the request is then answered 503.
 */
export interface UserDirectory {
  /**
   * The user, if the password is right. Must take as long for a name that nobody has as for a wrong password.
   *
   * @param username as typed; up to 256 characters
   * @param password as typed; up to 1,024 bytes
   */
  authenticate(username: string, password: string): Promise<User | undefined>
  /** The user of that id, if there still is one: asked before anything is issued to an app in his name. */
  findUser(id: string): Promise<User | undefined>
}
