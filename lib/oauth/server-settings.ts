import { generateKeyPairSync } from 'node:crypto'
import { type Placement } from '../bearer/credentials/credentials'
import { isScope } from '../bearer/session/scope'
import { type Dialect, checkDialect } from '../http/answer/dialect'
import { callGuarded } from '../http/callback'
import { type Clock, checkClock, systemClock } from '../http/clock'
import { TimeoutError, within } from '../http/deadline'
import type { FetchFunction } from '../http/fetch/fetch-json'
import { optionError } from '../http/help'
import { checkedLater, flag, functionOption, oneOf, option, readOptions, wholeNumber } from '../http/option-table'
import { shown } from '../http/options'
import { warnOnce } from '../http/warn-once'
import { storeMistake } from '../redis/store-mistake'
import { isInnerHost, isLoopbackHost } from './directories/addresses'
import type { ClientDirectory } from './directories/client'
import { isAudienceList } from './directories/client-directory'
import type { UriPolicy } from './directories/redirect-uri'
import { hashSlots } from './directories/hash-slots'
import type { UserDirectory } from './directories/user'
import type { OnError } from './endpoints/endpoint'
import type { SigningKey } from './keys/keyring'
import type { PageOptions } from './pages/page-options'
import type { LoginLimits } from './records/login-attempts'
import { OPTION_HINTS } from './options-of-other-servers'
import type {
  AccessTokenClaimsFunction,
  AccessTokenOptions,
  AuthorizationServerOptions,
  DpopProofOptions,
  RefreshTokenOptions,
  RegistrationOptions,
  SignInPageOptions,
  WebsiteSessionOptions,
} from './server-options'
import { memoryOAuthStore } from './stores/memory-store'
import type { OAuthStore } from './stores/store'
import { isUrl, knownUrl, urlOf } from '../http/url'

const DAY_SEC = 86_400

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '')

const TABLE = {
  issuer: checkedLater<string>(),
  allowHttp: flag(),
  clients: checkedLater<ClientDirectory>(),
  users: checkedLater<UserDirectory>(),
  store: checkedLater<OAuthStore>(),
  signingKeys: checkedLater<readonly SigningKey[]>(),
  dialect: checkedLater<Dialect>(),
  tokenType: option<string>(
    '1 to 64 letters, digits, dots, dashes and underscores',
    (value) => typeof value === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(value),
  ),
  serviceScopes: oneOf([true, false]),
  scopes: checkedLater<Readonly<Record<string, readonly string[] | false>>>({}),
  idTokenScopes: option<readonly string[] | 'all'>(
    "'all' or a list of scopes",
    (value) => value === 'all' || isTexts(value),
  ),
  acr: option<string>('a text', (value) => typeof value === 'string' && value !== '', '1'),
  tokenFrom: option<readonly Placement[]>(
    "a list of 'form' and 'query'",
    (value) => isTexts(value) && value.every((place) => place === 'form' || place === 'query'),
    [],
  ),
  accessTokens: checkedLater<AccessTokenOptions>({}),
  accessTokenClaims: functionOption<AccessTokenClaimsFunction>(),
  requirePushedRequests: flag(),
  dpop: checkedLater<DpopProofOptions>({}),
  registration: checkedLater<RegistrationOptions>(),
  refreshTokens: checkedLater<RefreshTokenOptions>({}),
  codeLifetimeSec: wholeNumber(10, 600, 60),
  directoryTimeoutMs: wholeNumber(100, 60_000, 5_000),
  websiteSession: checkedLater<WebsiteSessionOptions>({}),
  login: checkedLater<SignInPageOptions>(),
  loginEvents: oneOf<'hashed' | 'plain'>(['hashed', 'plain'], 'hashed'),
  loginLimits: checkedLater<LoginLimits>({}),
  pages: checkedLater<PageOptions>({}),
  onError: functionOption<OnError>(),
  log: functionOption<(line: string) => unknown>(),
  clock: checkedLater<Clock>(systemClock),
}

const ACCESS_TOKENS = {
  format: oneOf<'jwt' | 'opaque'>(['jwt', 'opaque'], 'jwt'),
  lifetimeSec: wholeNumber(60, DAY_SEC),
  idleSec: wholeNumber(60, DAY_SEC, 3_600),
  audience: option<string | readonly string[]>('a list of at least one audience', (value) =>
    isAudienceList([value].flat()),
  ),
}

const DPOP = { maxProofAgeSec: wholeNumber(1, 300, 60), nonce: flag() }

const REFRESH_TOKENS = {
  lifetimeSec: wholeNumber(60, 400 * DAY_SEC, 30 * DAY_SEC),
  absoluteLifetimeSec: option<number>(
    `a whole number from 60 to ${4_000 * DAY_SEC}, or Infinity`,
    (value) =>
      value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 60 && Number(value) <= 4_000 * DAY_SEC),
  ),
  graceSec: wholeNumber(0, 60, 10),
}

const WEBSITE_SESSION = {
  lifetimeSec: wholeNumber(60, 30 * DAY_SEC, DAY_SEC),
  idleSec: wholeNumber(60, 30 * DAY_SEC, 3_600),
}

const LOGIN_LIMITS = {
  perAccount: wholeNumber(1, 10_000, 10),
  perAddress: wholeNumber(1, 1_000_000, 100),
  windowSec: wholeNumber(1, DAY_SEC, 900),
}

const REGISTRATION = {
  accept: checkedLater<RegistrationOptions['accept']>(),
  perAddress: wholeNumber(1, 10_000, 20),
  perHour: wholeNumber(1, 1_000_000, 1_000),
  lifetimeSec: wholeNumber(3_600, 400 * DAY_SEC),
  fetch: functionOption<FetchFunction>(),
}

/** The options with their defaults. `uris`: which redirect URIs an app may have; `accept` decides about custom schemes. */
export type RegistrationSettings = ReturnType<typeof registrationSettings>

/** The options, checked, with their defaults. */
export type ServerSettings = ReturnType<typeof serverSettings>

/** @throws {TypeError | RangeError} naming the invalid option */
export function serverSettings(options: AuthorizationServerOptions) {
  const values = readOptions('authorizationServer()', options, TABLE, OPTION_HINTS)
  const { clock, dialect, log, login, registration, scopes } = values
  const { issuer, clients, users } = options
  checkClock(clock)
  const { store = memoryOAuthStore({ clock }), signingKeys } = values
  checkIssuer(issuer, values.allowHttp)
  checkMethods('clients', clients, ['findClient'], 'clients: clientDirectory([…])')
  checkMethods('users', users, ['authenticate', 'findUser'], 'users: userDirectory([…])')
  checkStore(store)
  if (signingKeys === undefined && options.store !== undefined) {
    throw optionError('signingKeys are required with a store: all processes that share it must sign with the same keys')
  }
  checkDialect(dialect)
  checkScopes(scopes)
  if (login !== undefined) checkLogin(login, issuer)
  const accessTokens = readOptions('accessTokens', values.accessTokens, ACCESS_TOKENS)
  const { lifetimeSec = accessTokens.format === 'opaque' ? DAY_SEC : 3_600, audience = issuer } = accessTokens
  const refreshTokens = readOptions('refreshTokens', values.refreshTokens, REFRESH_TOKENS)
  checkLifetimes(options)
  const timely = timelyCalls(values.directoryTimeoutMs, clock)
  const findAccount = users.findAccount?.bind(users)
  return {
    ...values,
    issuer,
    clients: { scopes: clients.scopes, findClient: timely('findClient()', (id: string) => clients.findClient(id)) },
    users: {
      authenticate: timely('authenticate()', (name: string, password: string) => users.authenticate(name, password)),
      findUser: timely('findUser()', (id: string) => users.findUser(id)),
      ...(findAccount && { findAccount: timely('findAccount()', (name: string) => findAccount(name)) }),
    },
    accessTokenClaims: values.accessTokenClaims && timely('accessTokenClaims()', values.accessTokenClaims),
    store,
    onError: values.onError ?? logError,
    log: guardedLog(log ?? (knownUrl(issuer).protocol === 'http:' ? (line) => console.warn(line) : undefined)),
    accessTokens: { ...accessTokens, lifetimeSec, audience: [audience].flat() },
    dpop: readOptions('dpop', values.dpop, DPOP),
    refreshTokens: {
      ...refreshTokens,
      absoluteLifetimeSec: refreshTokens.absoluteLifetimeSec ?? Math.max(365 * DAY_SEC, refreshTokens.lifetimeSec),
    },
    websiteSession: readOptions('websiteSession', values.websiteSession, WEBSITE_SESSION),
    loginLimits: readOptions('loginLimits', values.loginLimits, LOGIN_LIMITS),
    registration: registration && registrationSettings(registration, values.allowHttp, refreshTokens, timely),
    signingKeys: signingKeys ?? [{ key: generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey }],
  }
}

/** Lifetimes of which the first must not be longer than the second, where both are given. */
const SHORTER = [
  ['accessTokens.idleSec', 'accessTokens.lifetimeSec'],
  ['websiteSession.idleSec', 'websiteSession.lifetimeSec'],
  ['websiteSession.lifetimeSec', 'refreshTokens.absoluteLifetimeSec'],
  ['refreshTokens.lifetimeSec', 'refreshTokens.absoluteLifetimeSec'],
  ['refreshTokens.lifetimeSec', 'registration.lifetimeSec'],
] as const

function checkLifetimes(options: AuthorizationServerOptions): void {
  const given = (path: string) => {
    const [group = '', name = ''] = path.split('.')
    return (options as unknown as Readonly<Record<string, Record<string, number> | undefined>>)[group]?.[name]
  }
  for (const [shorter, longer] of SHORTER) {
    const [least, most] = [given(shorter), given(longer)]
    if (least === undefined || most === undefined || least <= most) continue
    throw optionError(`${longer} must be at least ${shorter}, ${least}; received ${most}`)
  }
}

type Timely = ReturnType<typeof timelyCalls>

/** Gives the app's functions a deadline: what they ask may hang. @returns makes a function of it whose promise rejects then */
function timelyCalls(timeoutMs: number, clock: Clock) {
  return <Args extends unknown[], Answer>(name: string, call: (...args: Args) => Answer) =>
    async (...args: Args): Promise<Awaited<Answer>> => {
      const answer = Promise.resolve().then(() => call(...args))
      for (;;) {
        try {
          return await within(timeoutMs, clock, () => answer)
        } catch (err) {
          if (!(err instanceof TimeoutError)) throw err
          if (hashSlots.isBusy) continue // a password waits for its hash: that has a bound of its own
          throw Object.assign(err, { message: `${name}: ${err.message}, which directoryTimeoutMs sets` })
        }
      }
    }
}

function checkIssuer(issuer: unknown, allowHttp: boolean): void {
  const url = urlOf(issuer)
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

/** Paths of the server below its issuer, but for `/login`: that is free where the sign-in page is the app's own. */
const ENDPOINT =
  /^\/(authorization|token|terms|approval|par|userinfo|revoke|introspect|logout|apps|jwks|register|\.well-known)(\/|$)/i

/** The page must be on the issuer's host, which the browser's cookie goes to. */
function checkLogin(login: unknown, issuer: string): void {
  const isOnHost = (url: unknown) => {
    if (typeof url !== 'string' || !(url.startsWith('/') ? isUrl(url, issuer) : isUrl(url))) return false
    const { protocol, host } = knownUrl(url, issuer)
    return /^https?:$/.test(protocol) && host === knownUrl(issuer).host
  }
  const url = option<string>("a path that begins with /, or a URL on the issuer's host", (value) => isOnHost(value))
  const given = readOptions('login', login, { url })
  const path = typeof given.url === 'string' ? knownUrl(given.url, issuer).pathname : ''
  const base = knownUrl(issuer).pathname.replace(/\/$/, '')
  if (path.startsWith(`${base}/`) && ENDPOINT.test(path.slice(base.length))) {
    throw optionError(
      `login.url must not be the path of an endpoint of the server, such as /token; received ${shown(given.url)}. Write ` +
        `${base}/login or ${base}/sign-in`,
    )
  }
  if (given.url === undefined) throw optionError(`login.url must be ${url.must}; received undefined`)
}

/** @param line what to write in place of a list */
function checkMethods(name: string, value: unknown, methods: readonly string[], line: string): void {
  const object = value as Record<string, unknown> | null | undefined
  const missing = methods.filter((method) => typeof object?.[method] !== 'function')
  if (missing.length === 0) return
  if (Array.isArray(value)) throw optionError(`${name} must be a directory; received a list: write ${line}`)
  if (typeof value === 'function') {
    throw optionError(`${name} must be an object; received a function: write ${name}: { ${methods.join(', ')} }`)
  }
  const what = missing.length < methods.length ? `; it has no ${missing.join(', ')}` : `, as in ${line}`
  throw optionError(`${name} must have the methods ${methods.join(', ')}${what}; received ${shown(value)}`)
}

const STORE_METHODS = ['set', 'get', 'claim', 'count']

function checkStore(store: unknown): void {
  const object = (store ?? {}) as Record<string, unknown>
  if (STORE_METHODS.every((method) => typeof object[method] === 'function')) return
  const mistake = storeMistake('redisOAuthStore', store)
  if (mistake === undefined) return checkMethods('store', store, STORE_METHODS, "store: redisOAuthStore('redis://…')")
  throw optionError(`store must be a store of authorizationServer(); received ${mistake}`)
}

function checkScopes(scopes: unknown): void {
  if (Array.isArray(scopes)) {
    throw optionError(
      `scopes must be an object of claims by scope; received a list. Scopes of your API are those of its apps: ` +
        `write clients: clientDirectory([{ scopes: ${shown(scopes)} }])`,
    )
  }
  if (typeof scopes !== 'object' || scopes === null) {
    throw optionError(`scopes must be an object; received ${shown(scopes)}`)
  }
  for (const [scope, claims] of Object.entries(scopes) as [string, unknown][]) {
    if (isScope(scope) && (isTexts(claims) || claims === false)) continue
    throw optionError(`scopes.${scope} must be a list of claims, or false; received ${shown(claims)}`)
  }
}

function guardedLog(log: ((line: string) => unknown) | undefined): ((line: string) => void) | undefined {
  const failed = (err: unknown) => console.error('express-tollgate: log failed:', err)
  return log && ((line) => callGuarded(() => log(line), failed))
}

const logError: OnError = (err, _req, { id }) => console.error(`express-tollgate ${id}:`, err)

function registrationSettings(
  options: RegistrationOptions,
  allowHttp: boolean,
  refreshTokens: { readonly lifetimeSec: number },
  timely: Timely,
) {
  const settings = readOptions('registration', options, REGISTRATION)
  const { accept } = options
  const uris: UriPolicy = { anyPrivateScheme: true, ...(allowHttp && { http: 'any' }) }
  const { lifetimeSec = Math.max(30 * DAY_SEC, refreshTokens.lifetimeSec) } = settings
  if (typeof accept === 'function')
    return { ...settings, lifetimeSec, accept: timely('registration.accept()', accept), uris }
  throw optionError(`registration.accept must be a function; received ${shown(accept)}`)
}
