import { generateKeyPairSync } from 'node:crypto'
import { callGuarded } from '../http/callback'
import { type Clock, checkClock, systemClock } from '../http/clock'
import { type Dialect, checkDialect } from '../http/answer/dialect'
import { type Complete, defined, optionNames, optionOneOf, optionRange, optionType, shown } from '../http/options'
import { isScope } from '../bearer/session/scope'
import type { Placement } from '../bearer/credentials/credentials'
import { optionError } from '../http/help'
import type { Request } from 'express'
import type { FetchFunction } from '../http/fetch/fetch-json'
import type { ClientMetadata } from './parameters/client-metadata'
import { checkAudiences } from './directories/client-directory'
import { isInnerHost, isLoopbackHost } from './directories/addresses'
import type { Client, ClientDirectory } from './directories/client'
import type { OnError } from './endpoints/endpoint'
import type { SigningKey } from './keys/keyring'
import type { PageOptions } from './pages/page-options'
import type { LoginLimits } from './records/login-attempts'
import { memoryOAuthStore } from './stores/memory-store'
import type { OAuthStore } from './stores/store'
import type { User, UserDirectory } from './directories/user'
import { warnOnce } from '../http/warn-once'
import { storeMistake } from '../redis/store-mistake'

/** Options of `authorizationServer()`. */
export interface AuthorizationServerOptions {
  /**
   * Names this server in every token: `https://ident.example.org/cis-web/oauth2/v3`, without a trailing slash. Mount the
   * server at its path. Must be `https`, except on localhost, and with a warning on a local network.
   */
  readonly issuer: string
  /**
   * Takes an `http` issuer on any host, without a warning. Default: of localhost, and with a warning of names and addresses
   * that only a local network knows: `http://auth:3000` of docker compose, `http://192.168.178.20:3000`.
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
  readonly tokenFrom?: readonly Placement[] | undefined
  readonly accessTokens?:
    | {
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
    | undefined
  /**
   * Claims of your own in access tokens, such as roles and tenants. `user` is undefined for an app without a user. May be
   * async; none of this server's own claims. Default: the user's `roles`, `groups` and `entitlements` that a scope grants.
   *
   * @example accessTokenClaims: (user) => ({ tenant: user?.tenant })
   */
  readonly accessTokenClaims?:
    ((user: User | undefined, client: Client, scope: readonly string[]) => unknown) | undefined
  /** Whether apps must push their authorization requests (RFC 9126), unless their registration says otherwise. Default false. */
  readonly requirePushedRequests?: boolean | undefined
  /** DPoP proofs (RFC 9449). An app's `requireDpop` makes them mandatory. */
  readonly dpop?:
    | {
        /** How old a proof may be: seconds, 1 to 300. Default 60. */
        readonly maxProofAgeSec?: number | undefined
        /** Whether the token endpoint asks for a nonce of its own in every proof (§8). Default false. */
        readonly nonce?: boolean | undefined
      }
    | undefined
  /** Lets apps register themselves (RFC 7591, RFC 7592), as MCP clients do. Default: they cannot. */
  readonly registration?: RegistrationOptions | undefined
  readonly refreshTokens?:
    | {
        /** Seconds from each token's issue, 60 to 34,560,000. Default 2,592,000: 30 days. */
        readonly lifetimeSec?: number | undefined
        /**
         * 0: each token is good once, and a client whose response was lost signs its user in again. Else, 1 to 60: a token may be
         * used again until its end, as long as the next one was not used. Default 10.
         */
        readonly graceSec?: number | undefined
      }
    | undefined
  /** Seconds until an authorization code expires, 10 to 600. Default 60. */
  readonly codeLifetimeSec?: number | undefined
  readonly websiteSession?:
    | {
        /** Seconds from login, 60 to 2,592,000. Default 86,400. */
        readonly lifetimeSec?: number | undefined
        /** Seconds without use, 60 to 2,592,000. Default 3,600. */
        readonly idleSec?: number | undefined
      }
    | undefined
  /**
   * A sign-in page of your own in place of this server's: `{ url: '/sign-in' }`, on the issuer's host. It reads
   * `server.interaction(req)`, may check a password by `server.authenticate()`, and ends with `server.signIn()` or
   * `server.refuse()`.
   */
  readonly login?: { readonly url: string } | undefined
  /** How account and address stand in `express-tollgate:oauth-login` messages. Default `hashed`. */
  readonly loginEvents?: 'hashed' | 'plain' | undefined
  /** Limits password guessing. */
  readonly loginLimits?: { readonly [Name in keyof LoginLimits]?: number | undefined } | undefined
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

/** The rights of a self-registered app. */
export type RegistrationGrant = Partial<
  Pick<Client, 'realm' | 'scopes' | 'audiences' | 'onwardOrigins' | 'requireDpop'>
>

/** Lets apps register themselves (RFC 7591). */
export interface RegistrationOptions {
  /**
   * Decides about each registration and says what the app may ask for; `false` refuses. This function also checks an
   * initial access token (RFC 7591 §3).
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
   * 30 days. Where strangers have no room left in the store, the oldest app without a user makes way.
   */
  readonly lifetimeSec?: number | undefined
  /**
   * Fetches the metadata document of an app whose `client_id` is a URL, as behind a proxy. Must reach no inner host. Default:
   * by HTTPS, from public addresses only.
   */
  readonly fetch?: FetchFunction | undefined
}

/** The options with their defaults. */
export type RegistrationSettings = Complete<Omit<RegistrationOptions, 'fetch'>> & Pick<RegistrationOptions, 'fetch'>

/** The options, checked, with their defaults. */
export type ServerSettings = ReturnType<typeof serverSettings>

const NAMES = [
  ...['issuer', 'clients', 'users', 'store', 'signingKeys', 'allowHttp', 'dialect', 'tokenType', 'serviceScopes'],
  ...['scopes', 'idTokenScopes', 'acr', 'tokenFrom', 'accessTokens', 'accessTokenClaims', 'requirePushedRequests'],
  ...['dpop', 'registration', 'refreshTokens', 'codeLifetimeSec', 'websiteSession', 'login', 'loginEvents'],
  ...['loginLimits', 'pages', 'onError', 'log', 'clock'],
]
const DAY_SEC = 86_400

/** @throws {TypeError | RangeError} naming the invalid option */
export function serverSettings(options: AuthorizationServerOptions) {
  optionNames('authorizationServer', options, NAMES)
  const { issuer, allowHttp = false, clients, users, clock = systemClock, dialect, tokenType, serviceScopes } = options
  const {
    store = memoryOAuthStore({ clock }),
    signingKeys,
    accessTokenClaims,
    onError = logError,
    log,
    login,
  } = options
  const { scopes = {}, idTokenScopes, acr = '1', tokenFrom = [], pages = {}, loginEvents = 'hashed' } = options
  const { requirePushedRequests = false, codeLifetimeSec = 60, registration } = options
  checkClock(clock)
  checkIssuer(issuer, allowHttp)
  checkMethods('clients', clients, ['findClient'])
  checkMethods('users', users, ['authenticate', 'findUser'])
  checkStore(store)
  if (signingKeys === undefined && options.store !== undefined) {
    throw optionError('signingKeys are required with a store: all processes that share it must sign with the same keys')
  }
  checkDialect(dialect)
  if (tokenType !== undefined && !(typeof tokenType === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(tokenType))) {
    throw optionError(
      `tokenType must be 1 to 64 letters, digits, dots, dashes and underscores; received ${shown(tokenType)}`,
    )
  }
  checkScopes(scopes, idTokenScopes)
  if (typeof acr !== 'string' || acr === '') throw optionError(`acr must be a text; received ${shown(acr)}`)
  if (!Array.isArray(tokenFrom) || !tokenFrom.every((place) => place === 'form' || place === 'query')) {
    throw optionError(`tokenFrom must be a list of 'form' and 'query'; received ${shown(tokenFrom)}`)
  }
  for (const [name, value] of Object.entries({ onError, log, accessTokenClaims })) optionType(name, value, 'function')
  for (const [name, value] of Object.entries({ allowHttp, serviceScopes, requirePushedRequests }))
    optionType(name, value, 'boolean')
  optionOneOf('loginEvents', loginEvents, ['hashed', 'plain'])
  if (login !== undefined) checkLogin(login, issuer)
  const accessTokens = {
    format: 'jwt',
    audience: issuer,
    idleSec: 3_600,
    ...defined(options.accessTokens ?? {}),
  } as const
  optionNames('accessTokens', options.accessTokens ?? {}, ['format', 'lifetimeSec', 'idleSec', 'audience'])
  const { lifetimeSec = accessTokens.format === 'opaque' ? DAY_SEC : 3_600, audience } = accessTokens
  optionOneOf('accessTokens.format', accessTokens.format, ['jwt', 'opaque'])
  const audiences = typeof audience === 'string' ? [audience] : audience
  checkAudiences('accessTokens.audience', audiences)
  const dpop = { maxProofAgeSec: 60, nonce: false, ...defined(options.dpop ?? {}) }
  optionNames('dpop', dpop, ['maxProofAgeSec', 'nonce'])
  optionType('dpop.nonce', dpop.nonce, 'boolean')
  const refresh = { lifetimeSec: 30 * DAY_SEC, graceSec: 10, ...defined(options.refreshTokens ?? {}) }
  optionNames('refreshTokens', refresh, ['lifetimeSec', 'graceSec'])
  const session = { lifetimeSec: DAY_SEC, idleSec: 3_600, ...defined(options.websiteSession ?? {}) }
  optionNames('websiteSession', session, ['lifetimeSec', 'idleSec'])
  const limits: LoginLimits = { perAccount: 10, perAddress: 100, windowSec: 900, ...defined(options.loginLimits ?? {}) }
  optionNames('loginLimits', limits, ['perAccount', 'perAddress', 'windowSec'])
  for (const [name, value, least, most] of [
    ['accessTokens.lifetimeSec', lifetimeSec, 60, DAY_SEC],
    ['accessTokens.idleSec', accessTokens.idleSec, 60, DAY_SEC],
    ['dpop.maxProofAgeSec', dpop.maxProofAgeSec, 1, 300],
    ['refreshTokens.lifetimeSec', refresh.lifetimeSec, 60, 400 * DAY_SEC],
    ['refreshTokens.graceSec', refresh.graceSec, 0, 60],
    ['codeLifetimeSec', codeLifetimeSec, 10, 600],
    ['websiteSession.lifetimeSec', session.lifetimeSec, 60, 30 * DAY_SEC],
    ['websiteSession.idleSec', session.idleSec, 60, 30 * DAY_SEC],
    ['loginLimits.perAccount', limits.perAccount, 1, 10_000],
    ['loginLimits.perAddress', limits.perAddress, 1, 1_000_000],
    ['loginLimits.windowSec', limits.windowSec, 1, DAY_SEC],
  ] as const) {
    optionRange(name, value, least, most)
  }

  return {
    ...{
      issuer,
      clients,
      users,
      store,
      dialect,
      tokenType,
      serviceScopes,
      scopes,
      idTokenScopes,
      acr,
      codeLifetimeSec,
    },
    ...{ refresh, session, limits, pages, onError, clock, requirePushedRequests, dpop, login, loginEvents },
    ...{ accessTokenClaims, tokenFrom: tokenFrom as readonly Placement[] },
    log: guardedLog(log ?? (new URL(issuer).protocol === 'http:' ? (line) => console.warn(line) : undefined)),
    accessTokens: { ...accessTokens, lifetimeSec, audience: audiences },
    registration: registration && registrationSettings(registration),
    signingKeys: signingKeys ?? [{ key: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey }],
  }
}

function checkIssuer(issuer: unknown, allowHttp: boolean): void {
  const url = typeof issuer === 'string' && URL.canParse(issuer) ? new URL(issuer) : undefined
  const canonical = `${url?.origin}${url?.pathname === '/' ? '' : url?.pathname}`
  const isHttp = url?.protocol === 'http:'
  const isInner = isHttp && isInnerHost(url.hostname)
  if (url && canonical === issuer && !canonical.endsWith('/')) {
    if (url.protocol === 'https:' || (isHttp && (allowHttp || isLoopbackHost(url.hostname)))) return
    if (isInner) {
      return warnOnce(
        'TOLLGATE_HTTP',
        `the issuer ${issuer} is http on a local network, where passwords and tokens travel unencrypted. In production ` +
          'use https; allowHttp: true says that this network may be trusted',
      )
    }
  }
  throw optionError(
    `issuer must be an https URL without query, fragment or trailing slash (http on localhost, or with allowHttp: ` +
      `true); received ${shown(issuer)}`,
  )
}

/** The page must be on the issuer's host, which the browser's cookie goes to. */
function checkLogin(login: unknown, issuer: string): void {
  optionNames('login', login, ['url'])
  const { url } = login as { url: unknown }
  const isUrl = typeof url === 'string' && (url.startsWith('/') ? URL.canParse(url, issuer) : URL.canParse(url))
  if (isUrl && /^https?:$/.test(new URL(url, issuer).protocol) && new URL(url, issuer).host === new URL(issuer).host)
    return
  throw optionError(
    `login.url must be a path that begins with /, or a URL on the issuer's host; received ${shown(url)}`,
  )
}

function checkMethods(option: string, value: unknown, methods: readonly string[]): void {
  const object = value as Record<string, unknown> | null | undefined
  const missing = methods.filter((method) => typeof object?.[method] !== 'function')
  if (missing.length === 0) return
  const what = missing.length < methods.length ? `; it has no ${missing.join(', ')}` : ''
  throw optionError(`${option} must have the methods ${methods.join(', ')}${what}; received ${shown(value)}`)
}

const STORE_METHODS = ['set', 'get', 'claim', 'count']

function checkStore(store: unknown): void {
  const object = (store ?? {}) as Record<string, unknown>
  if (STORE_METHODS.every((method) => typeof object[method] === 'function')) return
  const mistake = storeMistake('redisOAuthStore', store)
  if (mistake === undefined) return checkMethods('store', store, STORE_METHODS)
  throw optionError(`store must be a store of authorizationServer(); received ${mistake}`)
}

function checkScopes(scopes: unknown, idTokenScopes: unknown): void {
  optionType('scopes', scopes, 'object')
  for (const [scope, claims] of Object.entries(scopes as object) as [string, unknown][]) {
    const isList = Array.isArray(claims) && claims.every((claim) => typeof claim === 'string' && claim !== '')
    if (!isScope(scope) || !(isList || claims === false)) {
      throw optionError(`scopes.${scope} must be a list of claims, or false; received ${shown(claims)}`)
    }
  }
  if (idTokenScopes === undefined || idTokenScopes === 'all') return
  if (Array.isArray(idTokenScopes) && idTokenScopes.every((scope) => typeof scope === 'string')) return
  throw optionError(`idTokenScopes must be 'all' or a list of scopes; received ${shown(idTokenScopes)}`)
}

function guardedLog(log: ((line: string) => unknown) | undefined): ((line: string) => void) | undefined {
  const failed = (err: unknown) => console.error('express-tollgate: log failed:', err)
  return log && ((line) => callGuarded(() => log(line), failed))
}

const logError: OnError = (err, _req, { id }) => console.error(`express-tollgate ${id}:`, err)

function registrationSettings(options: RegistrationOptions): RegistrationSettings {
  optionNames('registration', options, ['accept', 'perAddress', 'perHour', 'lifetimeSec', 'fetch'])
  const { accept, perAddress = 20, perHour = 1_000, lifetimeSec = 30 * DAY_SEC, fetch } = options
  optionType('registration.fetch', fetch, 'function')
  if (typeof accept !== 'function')
    throw optionError(`registration.accept must be a function; received ${shown(accept)}`)
  optionRange('registration.perAddress', perAddress, 1, 10_000)
  optionRange('registration.perHour', perHour, 1, 1_000_000)
  optionRange('registration.lifetimeSec', lifetimeSec, 3_600, 400 * DAY_SEC)
  return { accept, perAddress, perHour, lifetimeSec, fetch }
}
