import type { Client } from './directories/client'
import type { ClaimValue, User } from './directories/user'

/** The claims that each scope gives: `{ profile: ['name', 'picture'], membership: ['member_since'] }`. */
export type ScopeClaims = Readonly<Record<string, readonly string[]>>

/** OpenID Connect's scopes with their claims (OIDC Core §5.4), and the service's own. */
export const DEFAULT_SCOPES: ScopeClaims = {
  openid: [],
  profile: [
    ...['name', 'given_name', 'family_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture'],
    ...['website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at', 'givenName', 'language'],
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
  givenName: ['givenName'],
  family_name: ['family_name'],
  locale: ['locale'],
  gender: ['gender'],
  qualifies_for_affiliate_account: ['qualifies_for_affiliate_account'],
  user_id: ['user_id'],
  country: ['country'],
}

/** Contact data is in no token unless the request asks for it there (OIDC Core §5.4). */
const USERINFO_ONLY: readonly string[] = ['email', 'address', 'phone']

/** Selects the claims that an app gets, and where. */
export class IdentityScopes {
  readonly #claims: ReadonlyMap<string, readonly string[]>
  readonly #inIdToken: (scope: string) => boolean

  /**
   * @param own scopes that replace or extend the default ones; `false` removes one
   * @param inIdToken scopes whose claims stand in the id_token as well. Default: all but `email`, `address`, `phone`
   */
  constructor(
    own: Readonly<Record<string, readonly string[] | false>> = {},
    inIdToken: readonly string[] | 'all' = Object.keys({ ...DEFAULT_SCOPES, ...own }).filter(isForIdToken),
  ) {
    const all: Readonly<Record<string, readonly string[] | false>> = { ...DEFAULT_SCOPES, ...own, openid: [] }
    this.#claims = new Map(
      Object.entries(all).flatMap(([scope, claims]) => (claims === false ? [] : [[scope, claims]])),
    )
    this.#inIdToken = (scope) => inIdToken === 'all' || inIdToken.includes(scope)
  }

  /** The identity scopes, for the discovery document. */
  get names(): readonly string[] {
    return [...this.#claims.keys()]
  }

  /** Every claim that a scope may give, as it stands in tokens. */
  get claims(): readonly string[] {
    return this.claimsOf(this.names)
  }

  /** The claims that these scopes may give. */
  claimsOf(scopes: readonly string[]): readonly string[] {
    const names = new Set(scopes.flatMap((scope) => this.#claims.get(scope) ?? []))
    if (names.has('givenName')) names.add('given_name')
    return [...names]
  }

  /** The claims that an app may have by its registration, or undefined: any. */
  claimsFor({ identityScopes, scopes = [] }: Client): readonly string[] | undefined {
    return identityScopes && this.claimsOf([...identityScopes, ...scopes])
  }

  has(scope: string): boolean {
    return this.#claims.has(scope)
  }

  /** What userinfo says. @param asked claims that were asked for one by one (OIDC Core §5.5) */
  userinfo(scopes: readonly string[], user: User, asked: readonly string[] = []): Record<string, unknown> {
    return this.#of(scopes, scopes, user, asked)
  }

  /** What the id_token says. @param isOnly true where there is no access token to ask userinfo with (OIDC Core §5.4) */
  idToken(
    scopes: readonly string[],
    user: User,
    asked: readonly string[] = [],
    isOnly = false,
  ): Record<string, unknown> {
    return this.#of(scopes, isOnly ? scopes : scopes.filter(this.#inIdToken), user, asked)
  }

  /** Only with `openid` granted. The claim `givenName` also gives `given_name`, whichever the directory has. */
  #of(
    granted: readonly string[],
    scopes: readonly string[],
    user: User,
    asked: readonly string[],
  ): Record<string, unknown> {
    if (!granted.includes('openid')) return {}
    const names = [...scopes.flatMap((scope) => this.#claims.get(scope) ?? []), ...asked]
    const given: Record<string, unknown> = {}
    for (const name of names.flatMap((name) => (name === 'givenName' ? [name, 'given_name'] : [name]))) {
      const value = valueOf(name, user)
      if (value !== undefined) given[name] = value
    }
    return given
  }
}

function isForIdToken(scope: string): boolean {
  return !USERINFO_ONLY.includes(scope)
}

function valueOf(name: string, { id, claims = {} }: User): ClaimValue | undefined {
  if (name === 'user_id') return id
  if (name === 'given_name') return claims.given_name ?? claims.givenName
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}
