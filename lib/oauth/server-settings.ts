import { generateKeyPairSync } from 'node:crypto'
import { callGuarded } from '../http/callback'
import { type Clock, checkClock, systemClock } from '../http/clock'
import { type Dialect, checkDialect } from '../http/dialect'
import { defined, optionNames, optionOneOf, optionRange, optionType, shown } from '../http/options'
import { isScope } from '../bearer/session/scope'
import type { Placement } from '../bearer/credentials/credentials'
import { optionError } from '../http/help'
import type { RegistrationOptions, RegistrationSettings } from './registration-settings'
import { checkAudiences } from './directories/client-directory'
import type { ClientDirectory } from './directories/client'
import type { OnError } from './endpoints/endpoint'
import type { SigningKey } from './keys/keyring'
import type { PageOptions } from './pages/page-options'
import type { LoginLimits } from './records/login-attempts'
import { memoryStore } from './stores/memory-store'
import type { OAuthStore } from './stores/store'
import type { UserDirectory } from './directories/user'

/** Options of `authorizationServer()`. */
export interface AuthorizationServerOptions {
  /**
   * Names this server in every token: `https://ident.example.org/cis-web/oauth2/v3`, without a trailing slash. Mount the
   * server at its path. Must be `https`, except on localhost.
   */
  readonly issuer: string
  /** The registered apps: `clientDirectory([…])`, or your own. */
  readonly clients: ClientDirectory
  /** The users: `userDirectory([…])`, or your own. */
  readonly users: UserDirectory
  /** Where state is kept. Default: this process's memory. Several processes need `redisStore()`. */
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
   * The claims of each scope. Entries replace or extend the default ones; `false` removes a scope. Default: OpenID
   * Connect's (`profile`, `email`, `address`, `phone`) complete, and the service's own.
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
  /** Whether apps must push their authorization requests (RFC 9126), unless their registration says otherwise. Default false. */
  readonly requirePushedRequests?: boolean | undefined
  /** DPoP proofs (RFC 9449). An app's `requireDpop` makes them mandatory. */
  readonly dpop?:
    | {
        /** How old a proof may be: seconds, 1 to 300. Default 60. */
        readonly maxAgeSec?: number | undefined
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
        /** Seconds in which a client may retry a refresh whose response was lost, 0 to 60. Default 10. */
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

/** The options, checked, with their defaults. */
export type ServerSettings = ReturnType<typeof serverSettings>

const NAMES = [
  'issuer',
  'clients',
  'users',
  'store',
  'signingKeys',
  'dialect',
  'tokenType',
  'scopes',
  'idTokenScopes',
  'acr',
  'tokenFrom',
  'accessTokens',
  'requirePushedRequests',
  'registration',
  'dpop',
  'refreshTokens',
  'codeLifetimeSec',
  'websiteSession',
  'loginLimits',
  'pages',
  'onError',
  'log',
  'clock',
]
const DAY_SEC = 86_400

/** @throws {TypeError | RangeError} naming the invalid option */
export function serverSettings(options: AuthorizationServerOptions) {
  optionNames('authorizationServer', options, NAMES)
  const { issuer, clients, users, clock = systemClock, dialect, tokenType, codeLifetimeSec = 60 } = options
  const { accessTokens = {}, refreshTokens = {}, websiteSession = {}, loginLimits = {}, pages = {} } = options
  const { store = memoryStore({ clock }), signingKeys, onError = logError } = options
  checkClock(clock)
  checkIssuer(issuer)
  checkMethods('clients', clients, ['findClient'])
  checkMethods('users', users, ['authenticate', 'findUser'])
  checkMethods('store', store, ['set', 'get', 'claim', 'count'])
  if (signingKeys === undefined && options.store !== undefined) {
    throw optionError('signingKeys are required with a store: all processes that share it must sign with the same keys')
  }
  checkDialect(dialect)
  if (tokenType !== undefined && !(typeof tokenType === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(tokenType))) {
    throw optionError(
      `tokenType must be 1 to 64 letters, digits, dots, dashes and underscores; received ${shown(tokenType)}`,
    )
  }
  const { scopes = {}, idTokenScopes, acr = '1', tokenFrom = [] } = options
  checkScopes(scopes, idTokenScopes)
  if (typeof acr !== 'string' || acr === '') throw optionError(`acr must be a text; received ${shown(acr)}`)
  if (!Array.isArray(tokenFrom) || !tokenFrom.every((place) => place === 'form' || place === 'query')) {
    throw optionError(`tokenFrom must be a list of 'form' and 'query'; received ${shown(tokenFrom)}`)
  }
  optionType('onError', onError, 'function')
  optionType('log', options.log, 'function')
  optionNames('accessTokens', accessTokens, ['format', 'lifetimeSec', 'idleSec', 'audience'])
  const { format = 'jwt', idleSec = 3_600, audience = issuer } = accessTokens
  const { lifetimeSec = format === 'opaque' ? DAY_SEC : 3_600 } = accessTokens
  optionOneOf('accessTokens.format', format, ['jwt', 'opaque'])
  optionRange('accessTokens.lifetimeSec', lifetimeSec, 60, DAY_SEC)
  optionRange('accessTokens.idleSec', idleSec, 60, DAY_SEC)
  const audiences = typeof audience === 'string' ? [audience] : audience
  checkAudiences('accessTokens.audience', audiences)
  const { requirePushedRequests = false, dpop = {}, registration } = options
  optionType('requirePushedRequests', requirePushedRequests, 'boolean')
  optionNames('dpop', dpop, ['maxAgeSec', 'nonce'])
  const { maxAgeSec = 60, nonce = false } = dpop
  optionRange('dpop.maxAgeSec', maxAgeSec, 1, 300)
  optionType('dpop.nonce', nonce, 'boolean')
  optionNames('refreshTokens', refreshTokens, ['lifetimeSec', 'graceSec'])
  const refresh = { lifetimeSec: 30 * DAY_SEC, graceSec: 10, ...defined(refreshTokens) }
  optionRange('refreshTokens.lifetimeSec', refresh.lifetimeSec, 60, 400 * DAY_SEC)
  optionRange('refreshTokens.graceSec', refresh.graceSec, 0, 60)
  optionRange('codeLifetimeSec', codeLifetimeSec, 10, 600)
  optionNames('websiteSession', websiteSession, ['lifetimeSec', 'idleSec'])
  const session = { lifetimeSec: DAY_SEC, idleSec: 3_600, ...defined(websiteSession) }
  optionRange('websiteSession.lifetimeSec', session.lifetimeSec, 60, 30 * DAY_SEC)
  optionRange('websiteSession.idleSec', session.idleSec, 60, 30 * DAY_SEC)
  optionNames('loginLimits', loginLimits, ['perAccount', 'perAddress', 'windowSec'])
  const limits: LoginLimits = { perAccount: 10, perAddress: 100, windowSec: 900, ...defined(loginLimits) }
  optionRange('loginLimits.perAccount', limits.perAccount, 1, 10_000)
  optionRange('loginLimits.perAddress', limits.perAddress, 1, 1_000_000)
  optionRange('loginLimits.windowSec', limits.windowSec, 1, DAY_SEC)

  return {
    issuer,
    clients,
    users,
    store,
    dialect,
    tokenType,
    scopes,
    idTokenScopes,
    acr,
    tokenFrom: tokenFrom as readonly Placement[],
    codeLifetimeSec,
    refresh,
    session,
    limits,
    pages,
    onError,
    log: guardedLog(options.log ?? (new URL(issuer).protocol === 'http:' ? (line) => console.warn(line) : undefined)),
    clock,
    accessTokens: { format, lifetimeSec, idleSec, audience: audiences },
    requirePushedRequests,
    registration: registration && registrationSettings(registration),
    dpop: { maxAgeSec, nonce },
    signingKeys: signingKeys ?? [{ key: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey }],
  }
}

function checkIssuer(issuer: unknown): void {
  const url = typeof issuer === 'string' && URL.canParse(issuer) ? new URL(issuer) : undefined
  const canonical = `${url?.origin}${url?.pathname === '/' ? '' : url?.pathname}`
  const isLoopback = url?.protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  if (url && canonical === issuer && !canonical.endsWith('/') && (url.protocol === 'https:' || isLoopback)) return
  throw optionError(
    `issuer must be an https URL without query, fragment or trailing slash (http on localhost only); ` +
      `received ${shown(issuer)}`,
  )
}

function checkMethods(option: string, value: unknown, methods: readonly string[]): void {
  const object = value as Record<string, unknown> | null | undefined
  if (methods.every((method) => typeof object?.[method] === 'function')) return
  throw optionError(`${option} must have the methods ${methods.join(', ')}; received ${shown(value)}`)
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
  optionNames('registration', options, ['accept', 'perAddress', 'perHour', 'lifetimeSec'])
  const { accept, perAddress = 20, perHour = 1_000, lifetimeSec = 30 * DAY_SEC } = options
  if (typeof accept !== 'function')
    throw optionError(`registration.accept must be a function; received ${shown(accept)}`)
  optionRange('registration.perAddress', perAddress, 1, 10_000)
  optionRange('registration.perHour', perHour, 1, 1_000_000)
  optionRange('registration.lifetimeSec', lifetimeSec, 3_600, 400 * DAY_SEC)
  return { accept, perAddress, perHour, lifetimeSec }
}
