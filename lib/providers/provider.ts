import { type RequiredValues, both } from '../bearer/claims/claim-options'
import { idProblem } from '../bearer/claims/claims'
import type { Tenants } from '../bearer/claims/tenants'
import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { ENTRY_TABLE } from '../bearer/issuers/verifier-options'
import { isRefusal } from '../bearer/refusal/refusal'
import { scopeOf } from '../bearer/session/scope'
import {
  type Claims,
  type ReadSession,
  type SessionIdentity,
  UNAUTHENTICATED_MARK,
  identityFromClaims,
} from '../bearer/session/session'
import { isThenable } from '../http/callback'
import { optionError } from '../http/help'
import { defined, optionNames, shown } from '../http/options'

/**
 * What may be said of any provider's tokens beside what its preset says, such as `key`, `introspection` or
 * `clockToleranceSec`.
 */
export type ProviderOptions = Partial<IssuerOptions>

/** A claim as text; undefined where it is anything else. */
export function text(claim: unknown): string | undefined {
  return typeof claim === 'string' ? claim : undefined
}

/** A user's identity; undefined where the token names nobody. */
export function user(userId: unknown, clientId?: unknown): SessionIdentity | undefined {
  return typeof userId === 'string' ? { kind: 'user', userId, clientId: text(clientId) } : undefined
}

/** A service account's identity; undefined where the token names none. */
export function client(clientId: unknown): SessionIdentity | undefined {
  return typeof clientId === 'string' ? { kind: 'client', clientId } : undefined
}

/** Under this an issuer's options name the preset that they are of. It survives a copy: `{ ...auth0(…), issuer }`. */
const PRESET = Symbol('preset')

/** Name of the preset that an issuer's options are of; undefined if they are of none. */
export function presetOf(options: IssuerOptions): string | undefined {
  return (options as { readonly [PRESET]?: string })[PRESET]
}

/**
 * A provider's preset with what the app adds. Checks of both count, so a token that the preset refuses stays refused.
 * What says where something is (`issuer`, keys, `scopeFrom`) is replaced.
 *
 * @throws {TypeError} naming the option that would remove a check of the preset
 */
export function preset(name: string, facts: ProviderOptions, more: ProviderOptions = {}): IssuerOptions {
  const { jwksUri, typ, algorithms, ...rest } = facts
  const added = defined(more)
  const isAsked = 'introspection' in added || 'verify' in added // then nobody looks at a signature
  const hasOwnKeys = ['key', 'keys', 'secret'].some((name) => name in added)
  const signed = isAsked ? {} : defined({ typ, algorithms, jwksUri: hasOwnKeys ? undefined : jwksUri })
  if ('issuer' in added && 'jwksUri' in signed && !('jwksUri' in added)) {
    throw optionError(
      `more: { issuer } moves the name, and the keys stay at ${String(jwksUri)}: give jwksUri beside it, or key; ` +
        `received ${shown(added.issuer)}`,
    )
  }
  const toJoin = Object.entries(JOINED).filter(([name]) => name in added || name === 'checkClaims')
  const joined = toJoin.map(([name, join]) => [name, join(facts, added)] as const)
  const options = { ...rest, ...signed, ...added, ...defined(Object.fromEntries(joined)), [PRESET]: name }
  return options
}

type Join<Name extends keyof ProviderOptions> = (facts: ProviderOptions, more: ProviderOptions) => ProviderOptions[Name]

/** How the options that check something are joined. */
const JOINED: { readonly [Name in keyof ProviderOptions]?: Join<Name> } = {
  audience: (facts, more) => (facts.audience && more.audience ? { all: [facts.audience, more.audience] } : undefined),
  requiredClaims: (facts, more) => [...listed(facts.requiredClaims), ...listed(more.requiredClaims)],
  clients: (facts, more) => common('clients', facts.clients, more.clients),
  algorithms: (facts, more) => common('algorithms', facts.algorithms, more.algorithms),
  tenants({ tenants: first }, { tenants: second }) {
    if (!first || !second) return undefined
    if (typeof first !== 'function' && typeof second !== 'function') return common('tenants', first, second)
    return async (tenant) => (await isAccepted(first, tenant)) && isAccepted(second, tenant)
  },
  idTokens: (facts, more) => strictly('idTokens', false, facts, more),
  scopeRequired: (facts, more) => strictly('scopeRequired', true, facts, more),
  checkClaims(facts, more) {
    const { scopeFrom, scopeRequired } = facts
    // Another scopeFrom does not do without the scopes that the preset asks for.
    const hasScope = scopeRequired && more.scopeFrom && ((claims: Claims) => scopeOf(claims, scopeFrom).length > 0)
    return both(both(facts.checkClaims, hasScope || undefined), more.checkClaims)
  },
  session: (facts, { session }) => session && bothSessions(facts.session ?? usualSession, session),
}

function listed(required: ProviderOptions['requiredClaims'] = []): readonly (string | RequiredValues)[] {
  return Array.isArray(required) ? (required as readonly (string | RequiredValues)[]) : [required as RequiredValues]
}

/** @throws {TypeError} if there is nothing in common: no token would be accepted */
function common<One>(name: string, first: readonly One[] | undefined, second: readonly One[] | undefined) {
  if (!first || !second) return first ?? second
  const both = first.filter((one) => second.includes(one))
  if (both.length > 0) return both
  throw optionError(`more: { ${name} } has none of the preset's; received ${shown(second)}`)
}

function isAccepted(tenants: Tenants, tenant: string): boolean | Promise<boolean> {
  return typeof tenants === 'function' ? tenants(tenant) : tenants.includes(tenant)
}

/** @throws {TypeError} if `more` turns off a check: its value is not the strict one, and the preset's is */
function strictly(name: 'idTokens' | 'scopeRequired', strict: boolean, facts: ProviderOptions, more: ProviderOptions) {
  const { [name]: preset = false } = facts
  const { [name]: given = preset } = more
  if (given === strict || preset !== strict) return given
  throw optionError(
    `more: { ${name}: ${given} } would remove a check of the preset. To take its tokens all the same, replace the ` +
      `option: { ...preset, ${name}: ${given} }`,
  )
}

/** Session by the rules for issuers without a preset. */
function usualSession(claims: Claims): SessionIdentity | undefined {
  const identity = identityFromClaims(claims, UNAUTHENTICATED_MARK)
  return idProblem(claims) || isRefusal(identity) ? undefined : identity
}

/** The app says whose session it is, of those that the preset takes. A session without a user stays one. */
function bothSessions(first: ReadSession, second: ReadSession): ReadSession {
  return (claims, token) => {
    const known = first(claims, token)
    const own: unknown = known && second(claims, token)
    return (known?.kind === 'unauthenticated' && own && !isThenable(own) ? known : own) as SessionIdentity | undefined
  }
}

/** Options that say where an issuer is, the first of their presets, with an example. */
const WHERE: Readonly<Record<string, string>> = {
  domain: 'acme.eu.auth0.com',
  realm: 'https://sso.example.org/realms/acme',
  userPoolId: 'eu-west-1_AbCdEfGhI',
  tenant: '<tenant id>',
  project: 'acme',
  issuer: 'https://ident.example.org',
}
/** Names by which people call the address of an issuer. */
const ADDRESSES = ['issuer', 'issuerBaseURL', 'issuerUrl', 'baseUrl', 'url', 'host']
/** Options that `requireBearer()` has beside those of an issuer. */
const OF_REQUESTS = ['scope', 'acr', 'optional', 'tokenFrom', 'dpop', 'revocation', 'cacheBytes', 'onDenied', 'dialect']

/**
 * The options of a preset. A misspelt `organization` would be a check that is never made.
 *
 * @throws {TypeError} naming those that the preset does not have
 */
export function presetOptions<Options extends object>(
  provider: string,
  options: Options,
  names: readonly (keyof Options & string)[],
): Options {
  const [first = ''] = names
  const example = WHERE[first]
  const lines = {
    ...Object.fromEntries(Object.keys(ENTRY_TABLE).map((name) => [name, `write more: { ${name} }`])),
    ...Object.fromEntries(OF_REQUESTS.map((name) => [name, `write requireBearer({ ...${provider}({ … }), ${name} })`])),
    ...(example && Object.fromEntries(ADDRESSES.map((name) => [name, `write ${first}: '${example}'`]))),
  }
  optionNames(`${provider}()`, options, names, lines)
  return options
}

/** @throws {TypeError} naming the option, unless it is a text */
export function needText(provider: string, option: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw optionError(`${provider}() needs ${option}, a text; received ${shown(value)}`)
}

/** @throws {TypeError} naming the option, unless it is a list of texts */
export function needList(provider: string, option: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string' && one !== '')) {
    return value as readonly string[]
  }
  throw optionError(`${provider}() needs ${option}, a list of texts; received ${shown(value)}`)
}

/** The host of a domain, however it was written: `acme.eu.auth0.com`. */
export function hostOf(provider: string, option: string, value: unknown): string {
  return needText(provider, option, value).replace('https://', '').replace(/\/$/, '')
}
