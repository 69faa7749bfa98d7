import type { Request } from 'express'
import type { Dialect } from '../http/answer/dialect'
import type { Clock } from '../http/clock'
import type { FetchFunction } from '../http/fetch/fetch-json'
import type { Client, ClientDirectory } from './directories/client'
import type { User, UserDirectory } from './directories/user'
import type { OnError } from './endpoints/endpoint'
import type { SigningKey } from './keys/keyring'
import type { PageOptions } from './pages/page-options'
import type { ClientMetadata } from './parameters/client-metadata'
import type { LoginLimits } from './records/login-attempts'
import type { OAuthStore } from './stores/store'

/** Options of `authorizationServer()`. */
export interface AuthorizationServerOptions {
  /**
   * Names this server in every token: `https://ident.example.org/cis-web/oauth2/v3`, without a trailing slash. Mount the
   * server at its path. Must be `https`, except on localhost, and with a warning on a local network.
   */
  readonly issuer: string
  /**
   * Takes an `http` issuer on any host, without a warning. Default: of localhost, and with a warning of names and addresses
   * that only a local network knows: `http://auth:3000` of docker compose, `http://192.168.178.20:3000`. Self-registered apps
   * may then have `http` redirect URIs of any host, too.
   */
  readonly allowHttp?: boolean | undefined
  /** The registered apps: `clientDirectory([…])`, or your own. */
  readonly clients: ClientDirectory
  /** The users: `userDirectory([…])`, or your own. */
  readonly users: UserDirectory
  /** Where state is kept. Default: this process's memory. Several processes need `redisOAuthStore()`. */
  readonly store?: OAuthStore | undefined
  /**
   * Next, current and retired keys, in any order: RSA (RS256), EC on P-256 (ES256) or Ed25519 (EdDSA). Default: an RSA
   * key made at start, for one process and its lifetime.
   */
  readonly signingKeys?: readonly SigningKey[] | undefined
  /**
   * Formats on the wire: `'standard'` needs no realm, has no terms page, and its `token_type` is `Bearer`. Default:
   * `app.get('tollgate dialect')`, else `'familysearch'`.
   */
  readonly dialect?: Dialect | undefined
  /**
   * `token_type` of responses without an id_token; with one it is `Bearer`. Default `family_search`; in the dialect
   * `standard` `Bearer`.
   */
  readonly tokenType?: string | undefined
  /**
   * Whether the service's own grant, scopes and claims are there. Default: in the dialect `familysearch`.
   */
  readonly serviceScopes?: boolean | undefined
  /**
   * The claims of each scope. Entries replace or extend the default ones; `false` removes a scope. Default: OpenID
   * Connect's (`profile`, `email`, `address`, `phone`) complete, `offline_access`, and the service's own in its dialect.
   *
   * @example scopes: { profile: ['name', 'preferred_username'], membership: ['member_since'], phone: false }
   */
  readonly scopes?: Readonly<Record<string, readonly string[] | false>> | undefined
  /**
   * Scopes whose claims are in the id_token as well as at userinfo. `'all'` is the service's dialect; `[]` follows OIDC
   * Core §5.4 exactly. Default: all but `email`, `address` and `phone`. Claims requested by the parameter `claims` are
   * where the request wants them.
   */
  readonly idTokenScopes?: readonly string[] | 'all' | undefined
  /** The `acr` of an id_token whose app asked for one: the strength of a login here. Default `1` (ISO/IEC 29115). */
  readonly acr?: string | undefined
  /**
   * Where `platformLogout` looks for the token in addition to the header: `'query'` (`?access_token=`) or `'form'`, as
   * in `requireBearer()`. A token in a URL also ends up in logs. Default: header only.
   */
  readonly tokenFrom?: readonly ('form' | 'query')[] | undefined
  /** Access tokens: format, lifetime, audience. */
  readonly accessTokens?: AccessTokenOptions | undefined
  /**
   * Claims of your own in access tokens, such as roles and tenants. `user` is undefined for an app without a user. May be
   * async; none of this server's own claims. Default: the user's `roles`, `groups` and `entitlements` that a scope grants.
   *
   * @example accessTokenClaims: (user) => ({ tenant: user?.tenant })
   */
  readonly accessTokenClaims?: AccessTokenClaimsFunction | undefined
  /** Whether apps must push their authorization requests (RFC 9126), unless their registration says otherwise. Default false. */
  readonly requirePushedRequests?: boolean | undefined
  /** DPoP proofs (RFC 9449). An app's `requireDpop` makes them mandatory. */
  readonly dpop?: DpopProofOptions | undefined
  /** Lets apps register themselves (RFC 7591, RFC 7592), as MCP clients do. Default: they cannot. */
  readonly registration?: RegistrationOptions | undefined
  /** Refresh tokens: lifetime, and grace for a lost response. */
  readonly refreshTokens?: RefreshTokenOptions | undefined
  /** Seconds until an authorization code expires, 10 to 600. Default 60. */
  readonly codeLifetimeSec?: number | undefined
  /**
   * Milliseconds until a call of `clients`, `users`, `accessTokenClaims` or `registration.accept` counts as failed: 100 to
   * 60,000. The request is then answered 503. Default 5,000.
   * The wait of a password for its hash in this process is not counted: that queue has a bound of its own.
   */
  readonly directoryTimeoutMs?: number | undefined
  /** The login that a browser keeps: its lifetime, with and without use. */
  readonly websiteSession?: WebsiteSessionOptions | undefined
  /**
   * A sign-in page of your own in place of this server's: `{ url: '/sign-in' }`, on the issuer's host. It reads
   * `server.interaction(req)`, may check a password by `server.authenticate()`, and ends with `server.signIn()` or
   * `server.refuse()`.
   */
  readonly login?: SignInPageOptions | undefined
  /** How account and address stand in `express-tollgate:oauth-login` messages. Default `hashed`. */
  readonly loginEvents?: 'hashed' | 'plain' | undefined
  /** Limits password guessing. */
  readonly loginLimits?: LoginLimits | undefined
  /** The look and texts of the pages, and the terms of access. */
  readonly pages?: PageOptions | undefined
  /** Called when a store, a directory or a callback fails, not for a client's mistakes. Default: logs to the console. */
  readonly onError?: OnError | undefined
  /**
   * Receives one line per refused request, with the reason for a developer. Default: `console.warn` for an issuer on
   * localhost, else none.
   */
  readonly log?: ((line: string) => void) | undefined
  /** The clock, for tests. Default: the system's. */
  readonly clock?: Clock | undefined
}

/** How access tokens are issued. */
export interface AccessTokenOptions {
  /** `jwt` (RFC 9068), or `opaque`: 256 random bits, stored as a hash; check those with `verify`. Default `jwt`. */
  readonly format?: 'jwt' | 'opaque' | undefined
  /** Seconds, 60 to 86,400. Default 3,600 for `jwt`, 86,400 for `opaque`. */
  readonly lifetimeSec?: number | undefined
  /** An opaque token expires after this many seconds without use, 60 to 86,400. Default 3,600. */
  readonly idleSec?: number | undefined
  /**
   * The `aud` of access tokens. `resource` selects among several (RFC 8707). An app's own `audiences` replace it.
   * Default: the issuer.
   */
  readonly audience?: string | readonly string[] | undefined
}

/** How DPoP proofs are checked (RFC 9449). */
export interface DpopProofOptions {
  /** How old a proof may be: seconds, 1 to 300. Default 60. */
  readonly maxProofAgeSec?: number | undefined
  /** Whether the token endpoint asks for a nonce of its own in every proof (§8). Default false. */
  readonly nonce?: boolean | undefined
}

/** How long refresh tokens are good. */
export interface RefreshTokenOptions {
  /** Seconds from each token's issue, 60 to 34,560,000. Default 2,592,000: 30 days. */
  readonly lifetimeSec?: number | undefined
  /**
   * Seconds from the sign-in after which a refresh token ends, however often it was used: 60 to 345,600,000, or `Infinity`
   * for no such end. Default 31,536,000: a year.
   */
  readonly absoluteLifetimeSec?: number | undefined
  /**
   * 0: each token is good once, and a client whose response was lost signs its user in again. Else, 1 to 60: a token may be
   * used again until its end, as long as the next one was not used. Default 10.
   */
  readonly graceSec?: number | undefined
}

/** How long a login lasts. */
export interface WebsiteSessionOptions {
  /** Seconds from login, 60 to 2,592,000. Default 86,400. */
  readonly lifetimeSec?: number | undefined
  /** Seconds without use, 60 to 2,592,000. Default 3,600. */
  readonly idleSec?: number | undefined
}

/** A sign-in page of the app's own. */
export interface SignInPageOptions {
  /** A path that begins with `/`, or a URL on the issuer's host: `/sign-in`. */
  readonly url: string
}

/** The function of the option `accessTokenClaims`. */
export type AccessTokenClaimsFunction = (
  /** With the other columns of the row that `findUser()` returned. */
  user: (User & Readonly<Record<string, unknown>>) | undefined,
  client: Client,
  scope: readonly string[],
) => unknown

/** The rights of a self-registered app. */
export type RegistrationGrant = Partial<
  Pick<Client, 'realm' | 'scopes' | 'audiences' | 'onwardOrigins' | 'requireDpop'>
>

/** Lets apps register themselves (RFC 7591). */
export interface RegistrationOptions {
  /**
   * Decides about each registration and says what the app may ask for; `false` refuses. This function also checks an
   * initial access token (RFC 7591 §3). For an app with a metadata document it is asked at each request that names the app.
   *
   * @example accept: ({ redirect_uris }) => redirect_uris.every(isLoopback) && { scopes: ['tree.read'] }
   */
  readonly accept: (
    metadata: ClientMetadata,
    req: Request,
  ) => RegistrationGrant | false | Promise<RegistrationGrant | false>
  /** Registrations per address and hour; an IPv6 address counts by its /56: 1 to 10,000. Default 20. */
  readonly perAddress?: number | undefined
  /** Registrations per hour from all addresses: 1 to 1,000,000. Default 1,000. */
  readonly perHour?: number | undefined
  /**
   * Seconds from an app's registration or last token for a user until it expires: 3,600 to 34,560,000. Default 2,592,000,
   * 30 days, or `refreshTokens.lifetimeSec` where that is longer. Where strangers have no room left in the store, the oldest app without a user makes way.
   */
  readonly lifetimeSec?: number | undefined
  /**
   * Fetches the metadata document of an app whose `client_id` is a URL, and the keys at a `jwks_uri`, as behind a proxy. Must
   * reach no inner host. Default: by HTTPS, from public addresses only.
   *
   * @experimental metadata documents are an Internet-Draft
   */
  readonly fetch?: FetchFunction | undefined
}
