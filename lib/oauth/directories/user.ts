/** The value of a claim: any JSON but null, such as the object of OpenID Connect's `address`. */
export type ClaimValue = string | number | boolean | readonly ClaimValue[] | { readonly [member: string]: ClaimValue }

/** A user's claims, by name: `{ given_name: 'Ada', family_name: 'Lovelace', email: 'ada@example.org' }`. */
export type UserClaims = Readonly<Record<string, ClaimValue | undefined>>

/** A user who can sign in. */
export interface User {
  /** Becomes `sub`: never changed, never reassigned. 1 to 255 ASCII characters (OIDC Core §2). */
  readonly id: string
  /** The name the user signs in with; shown on the pages. */
  readonly username: string
  /** By the names of OIDC Core §5.1, the service's own (`givenName`, `language`, `country`) or the app's. */
  readonly claims?: UserClaims | undefined
}

/** The id of a user, as databases have it: whole numbers count as their digits. */
export type UserId = string | number | bigint

/** A user as a directory finds it: a row of a database, also one with getters, as ORMs make them. */
export interface UserRow {
  readonly id: UserId
  /** Default: the id. */
  readonly username?: string | null | undefined
  /** Members that are null count as absent, a Date becomes text, and standard claims get their standard form. */
  readonly claims?: object | null | undefined
}

/** Why a user may not sign in though the password is right, for the login page. */
export interface LoginRefusal {
  /** `Please confirm your e-mail address first` */
  readonly refused: string
  /** A way on below it: an `http(s)` address, or a path of this host. */
  readonly link?: { readonly text: string; readonly href: string } | undefined
}

/**
 * Finds and authenticates users. `null` counts as absent in what is returned, and whole numbers are taken as ids. Either method may reject while its source is unreachable: the server then answers 503.
 */
export interface UserDirectory {
  /**
   * The user, if the password is right, or why this user may not sign in. Must take as long for an unknown name as for a
   * wrong password. Code that cannot return the reason may throw an Error with the `code` `not_verified`, `blocked` or
   * `login_refused`: its message is shown.
   *
   * @param username as typed; up to 256 characters, none of them a control character
   * @param password as typed; without a NUL
   */
  authenticate(username: string, password: string): Promise<UserRow | LoginRefusal | null | undefined>
  /** The user with that id, or undefined. Called before each token is issued. */
  findUser(id: string): Promise<UserRow | null | undefined>
  /**
   * The id of the user with that name, or undefined. Implement it if several names or spellings find one user (an email
   * address and a user name, accents that do not matter): failed logins then count per user, not per name. Default:
   * names count without case and surrounding space.
   */
  findAccount?(username: string): Promise<UserId | null | undefined>
}

/** The user name as it is compared: without surrounding space or case. */
export function foldedUsername(username: string): string {
  return username.trim().normalize('NFKC').toLowerCase()
}
