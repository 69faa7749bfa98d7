import type { Client } from './directories/client'
import type { ClaimValue, User } from './directories/user'

/** The claims that each scope gives: `{ profile: ['name', 'picture'], membership: ['member_since'] }`. */
export type ScopeClaims = Readonly<Record<string, readonly string[]>>

/** Asks for a refresh token (OIDC Core §11). */
export const OFFLINE_ACCESS = 'offline_access'

/** OpenID Connect's scopes with their claims (OIDC Core §5.4). */
const STANDARD_SCOPES: ScopeClaims = {
  openid: [],
  profile: [
    ...['name', 'given_name', 'family_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture'],
    ...['website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
  [OFFLINE_ACCESS]: [],
}

/** The service's own. */
const SERVICE_SCOPES: ScopeClaims = {
  profile: [...(STANDARD_SCOPES.profile ?? []), 'givenName', 'language'],
  givenName: ['givenName'],
  family_name: ['family_name'],
  locale: ['locale'],
  gender: ['gender'],
  qualifies_for_affiliate_account: ['qualifies_for_affiliate_account'],
  user_id: ['user_id'],
  country: ['country'],
}

/** Claims that resource servers decide by: they stand in access tokens (RFC 9068 §2.2.3.1). */
export const AUTHORIZATION_CLAIMS = ['roles', 'groups', 'entitlements']

/** Contact data is in no token unless the request asks for it there (OIDC Core §5.4). */
const USERINFO_ONLY: readonly string[] = ['email', 'address', 'phone']

/** Selects the claims that an app gets, and where. */
export class IdentityScopes {
  private readonly claimsByScope: ReadonlyMap<string, readonly string[]>
  private readonly isInIdToken: (scope: string) => boolean

  /**
   * @param withService whether the service's own scopes are there
   * @param own scopes that replace or extend the default ones; `false` removes one
   * @param inIdToken scopes whose claims stand in the id_token as well. Default: all but `email`, `address`, `phone`
   */
  constructor(
    withService: boolean,
    own: Readonly<Record<string, readonly string[] | false>>,
    inIdToken: readonly string[] | 'all' | undefined,
  ) {
    const all: typeof own = { ...STANDARD_SCOPES, ...(withService && SERVICE_SCOPES), ...own, openid: [] }
    this.claimsByScope = new Map(
      Object.entries(all).flatMap(([scope, claims]) => (claims === false ? [] : [[scope, claims]])),
    )
    this.isInIdToken = (scope) => inIdToken === 'all' || (inIdToken?.includes(scope) ?? !USERINFO_ONLY.includes(scope))
  }

  /** The identity scopes, for the discovery document. */
  get names(): readonly string[] {
    return [...this.claimsByScope.keys()]
  }

  /** Every claim that a scope may give, as it stands in tokens. */
  get claims(): readonly string[] {
    return this.claimsOf(this.names)
  }

  /** The claims that these scopes may give. */
  claimsOf(scopes: readonly string[]): readonly string[] {
    const names = new Set(scopes.flatMap((scope) => this.claimsByScope.get(scope) ?? []))
    if (names.has('givenName')) names.add('given_name')
    return [...names]
  }

  /** The claims that an app may have by its registration, or undefined: any. */
  claimsFor({ identityScopes, scopes = [] }: Client): readonly string[] | undefined {
    return identityScopes && this.claimsOf([...identityScopes, ...scopes])
  }

  has(scope: string): boolean {
    return this.claimsByScope.has(scope)
  }

  /** What userinfo says. @param asked claims that were asked for one by one (OIDC Core §5.5) */
  userinfo(scopes: readonly string[], user: User, asked: readonly string[] = []): Record<string, unknown> {
    return this.of(scopes, scopes, user, asked)
  }

  /** What the id_token says. @param isOnly true where there is no access token to ask userinfo with (OIDC Core §5.4) */
  idToken(
    scopes: readonly string[],
    user: User,
    asked: readonly string[] = [],
    isOnly = false,
  ): Record<string, unknown> {
    return this.of(scopes, isOnly ? scopes : scopes.filter(this.isInIdToken), user, asked)
  }

  /** What stands in access tokens for whoever serves the API: RFC 9068 §2.2.3.1. */
  accessToken(scopes: readonly string[], { claims = {} }: User): Record<string, unknown> {
    const names = this.claimsOf(scopes).filter((name) => AUTHORIZATION_CLAIMS.includes(name))
    return Object.fromEntries(names.filter((name) => Object.hasOwn(claims, name)).map((name) => [name, claims[name]]))
  }

  /** Only with `openid` granted. The claim `givenName` also gives `given_name`, whichever the directory has. */
  private of(
    granted: readonly string[],
    scopes: readonly string[],
    user: User,
    asked: readonly string[],
  ): Record<string, unknown> {
    if (!granted.includes('openid')) return {}
    const names = [...scopes.flatMap((scope) => this.claimsByScope.get(scope) ?? []), ...asked]
    const given: Record<string, unknown> = {}
    for (const name of names.flatMap((name) => (name === 'givenName' ? [name, 'given_name'] : [name]))) {
      const value = valueOf(name, user)
      if (value !== undefined) given[name] = value
    }
    return given
  }
}

function valueOf(name: string, { id, claims = {} }: User): ClaimValue | undefined {
  if (name === 'user_id') return id
  if (name === 'given_name') return claims.given_name ?? claims.givenName
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}
