import type { Clock } from '../../http/clock'
import type { FetchFunction } from '../../http/fetch-json'
import { optionError } from '../../http/help'
import { optionNames, optionOneOf, optionRange, optionType, shown } from '../../http/options'
import {
  type Audience,
  CLAIM_OPTION_NAMES,
  type IssuerDefaults,
  type TokenOptions,
  both,
  claimPolicy,
} from '../claims/claim-options'
import type { ClaimPolicy } from '../claims/claims'
import { type VerifyToken, customVerifier } from './custom-verifier'
import { type IntrospectionOptions, introspectionVerifier } from './introspection'
import { TrustedIssuers, jwtVerifier } from './jwt-verifier'
import { KnownTokens } from './known-tokens'
import { mixedVerifier } from './mixed-verifier'
import type { TokenVerifier } from './token-verifier'
import { type IssuerOptions, KEY_OPTION_NAMES, trustedIssuer } from './trusted-issuer'
import { allowHttpHint, isSecureUrl } from '../../http/secure-url'
import type { CheckClaims, ReadSession } from '../session/session'

/** Check of opaque tokens, in place of keys. */
export type OpaqueOptions =
  | {
      /** Asks the issuer about each token (RFC 7662). */
      readonly introspection: IntrospectionOptions
      readonly verify?: undefined
    }
  | {
      /** Function of the app that returns the token's claims, or undefined for an invalid token. If it throws: 503. */
      readonly verify: VerifyToken
      readonly introspection?: undefined
    }

type KeyOption = 'key' | 'keys' | 'secret' | 'jwksUri'

/** One issuer of several, whose tokens are opaque and checked by introspection (RFC 7662). */
export type IntrospectedIssuerOptions = TokenOptions & {
  readonly introspection: IntrospectionOptions
} & { readonly [name in KeyOption]?: undefined }

/** One issuer, or several: each with its own keys, algorithms and rules. */
export type IssuersOptions =
  | (IssuerOptions & { readonly issuers?: undefined; readonly introspection?: undefined; readonly verify?: undefined })
  | (TokenOptions & OpaqueOptions & { readonly [name in KeyOption | 'issuers']?: undefined })
  | ({
      /**
       * Issuers whose tokens are accepted. No token is checked with another issuer's key. One issuer may have
       * `introspection` in place of keys: opaque tokens, and JWTs that name it, are sent to its endpoint.
       */
      readonly issuers: readonly (IssuerOptions | IntrospectedIssuerOptions)[]
      /** Audience for issuers without an `audience` of their own. Default: the environment's `AUDIENCE`. */
      readonly audience?: Audience | undefined
      /** Check of all issuers' claims, in addition to each issuer's own `checkClaims`. */
      readonly checkClaims?: CheckClaims | undefined
      /** Default `session` for issuers without their own. */
      readonly session?: ReadSession | undefined
      /** Default `fetch` for issuers without their own. Default: Node's `fetch`. */
      readonly fetch?: FetchFunction | undefined
      readonly issuer?: undefined
      readonly introspection?: undefined
      readonly verify?: undefined
    } & { readonly [name in KeyOption]?: undefined })

/** Cache of verified tokens. */
export interface CacheOptions {
  /**
   * Cache of verified tokens: `{ maxTokens }`, 1 to 1,000,000, default 5,000; false: none. Expiry, key, revocation,
   * `session` and `checkClaims` are checked for every request.
   */
  readonly cache?: { readonly maxTokens: number } | false | undefined
}

/** Options beside `issuers` that apply to all of them. */
const FOR_ALL_ISSUERS: ReadonlySet<string> = new Set(['audience', 'session', 'checkClaims', 'fetch'])

const ONCE = 'give all of its keys in one entry; secret and jwksUri may stand together'

const ISSUER_OPTION_NAMES = [...CLAIM_OPTION_NAMES, ...KEY_OPTION_NAMES]

/** Names of the options read here. */
export const VERIFIER_OPTION_NAMES = [...ISSUER_OPTION_NAMES, 'issuers', 'introspection', 'verify', 'cache']

type VerifierOptions = IssuersOptions & CacheOptions & { readonly resourceMetadata?: string | undefined }

interface Verifying {
  readonly verifier: TokenVerifier
  /** The largest tolerance of all issuers. */
  readonly clockToleranceSec: number
  /** Whether an issuer has `scopeFrom` or `session`, so that a scope may be any text. */
  readonly takesRoles: boolean
}

/**
 * Makes the verifier of tokens: keys of one issuer or several, introspection, or a function of the app.
 *
 * @throws {TypeError|RangeError} naming the option
 */
export function tokenVerifier(options: VerifierOptions, env: NodeJS.ProcessEnv, clock: Clock): Verifying {
  const { introspection, verify } = options
  if (introspection === undefined && verify === undefined) return byKeys(options, env, clock)
  const way = introspection === undefined ? 'verify' : 'introspection'
  const otherWay = way === 'verify' ? 'introspection' : 'verify'
  withoutKeys(options, way, [...KEY_OPTION_NAMES, 'issuers', 'cache', 'typ', otherWay])
  const policy = claimPolicy(options, defaultsOf(options, env), way)
  const ofPolicy = { clockToleranceSec: policy.clockToleranceSec, takesRoles: takesRoles(policy) }
  if (introspection !== undefined) {
    return { verifier: introspected(introspection, options, policy, clock), ...ofPolicy }
  }
  optionType('verify', verify, 'function')
  return { verifier: customVerifier(verify, policy, clock), ...ofPolicy }
}

function defaultsOf({ resourceMetadata }: VerifierOptions, env: NodeJS.ProcessEnv) {
  return { issuer: env.ISSUER_BASE_URL, audience: env.AUDIENCE, isResource: resourceMetadata !== undefined }
}

function byKeys(options: VerifierOptions, env: NodeJS.ProcessEnv, clock: Clock): Verifying {
  const { cache = { maxTokens: 5_000 } } = options
  const tokens = new KnownTokens(cacheSize(cache))
  const { issuers, opaque } = trustedIssuers(options, env, clock)
  const policies = [...issuers.all(), ...(opaque ? [opaque] : [])].map(({ policy }) => policy)
  const clockToleranceSec = Math.max(...policies.map((policy) => policy.clockToleranceSec))
  const byKeys = jwtVerifier(issuers, tokens, clock)
  const verifier = opaque ? mixedVerifier(byKeys, opaque.verifier, opaque.policy.issuers) : byKeys
  return { verifier, clockToleranceSec, takesRoles: policies.some(takesRoles) }
}

function takesRoles({ rules }: ClaimPolicy): boolean {
  return rules.scopeFrom !== undefined || rules.session !== undefined
}

/** Issuers with keys, and the one with introspection. */
interface Trusted {
  readonly issuers: TrustedIssuers
  readonly opaque: { readonly policy: ClaimPolicy; readonly verifier: TokenVerifier } | undefined
}

function trustedIssuers(options: VerifierOptions, env: NodeJS.ProcessEnv, clock: Clock): Trusted {
  const issuers = new TrustedIssuers()
  if (options.issuers === undefined) {
    issuers.add(trustedIssuer(options, defaultsOf(options, env), clock))
    return { issuers, opaque: undefined }
  }
  for (const name of ISSUER_OPTION_NAMES) {
    if (FOR_ALL_ISSUERS.has(name) || options[name as keyof VerifierOptions] === undefined) continue
    throw optionError(`issuers and ${name} contradict each other: each issuer has its own`)
  }
  const list: unknown = options.issuers
  if (!Array.isArray(list) || list.length === 0) throw optionError('issuers must be a list of one issuer or more')
  const { isResource, audience } = defaultsOf(options, env)
  const defaults = { isResource, audience: options.audience ?? audience }
  let opaque: Trusted['opaque']
  for (const [i, one] of (list as (IssuerOptions | IntrospectedIssuerOptions)[]).entries()) {
    optionNames(`issuers[${i}]`, one, [...ISSUER_OPTION_NAMES, 'introspection'])
    const ofAll = { session: options.session, fetch: options.fetch }
    const given = { ...ofAll, ...one, checkClaims: both(options.checkClaims, one.checkClaims) }
    if (isIntrospected(given)) {
      if (opaque) throw optionError('issuers may have introspection once: no issuer is shown the tokens of another')
      opaque = inIssuer(i, () => opaqueIssuer(given, defaults, clock))
    } else {
      const issuer = inIssuer(i, () => trustedIssuer(given, defaults, clock))
      if (!issuers.add(issuer)) throw optionError(`issuers has ${shown(issuer.policy.issuer)} twice: ${ONCE}`)
    }
  }
  return { issuers, opaque }
}

function isIntrospected(one: IssuerOptions | IntrospectedIssuerOptions): one is IntrospectedIssuerOptions {
  return (one as Partial<IntrospectedIssuerOptions>).introspection !== undefined
}

function opaqueIssuer(given: IntrospectedIssuerOptions, defaults: IssuerDefaults, clock: Clock) {
  withoutKeys(given, 'introspection', [...KEY_OPTION_NAMES, 'typ', 'tenants'])
  const policy = claimPolicy(given, defaults, 'introspection')
  return { policy, verifier: introspected(given.introspection, given, policy, clock) }
}

function introspected(
  introspection: IntrospectionOptions,
  { allowHttp = false, fetch }: TokenOptions,
  policy: ClaimPolicy,
  clock: Clock,
): TokenVerifier {
  checkIntrospection(introspection, allowHttp)
  return introspectionVerifier(introspection, policy, clock, undefined, fetch)
}

function withoutKeys(options: object, way: string, names: readonly string[]): void {
  for (const name of names) {
    if ((options as Record<string, unknown>)[name] === undefined) continue
    throw optionError(`${way} and ${name} contradict each other: give one way to check tokens`)
  }
}

/** Names the issuer in errors of its options: `issuers[1]`. */
function inIssuer<Made>(i: number, make: () => Made): Made {
  try {
    return make()
  } catch (problem) {
    if (problem instanceof Error) problem.message = `issuers[${i}]: ${problem.message}`
    throw problem
  }
}

function cacheSize(cache: unknown): number {
  if (cache === false) return 0
  optionNames('cache', cache, ['maxTokens'])
  const { maxTokens } = cache as { maxTokens: number }
  optionRange('cache.maxTokens', maxTokens, 1, 1_000_000)
  return maxTokens
}

function checkIntrospection(value: unknown, allowHttp: boolean): void {
  optionNames('introspection', value, ['endpoint', 'clientId', 'clientSecret', 'clientAuth', 'cacheSec'])
  const { endpoint, clientId, clientSecret, clientAuth = 'basic', cacheSec = 10 } = value as IntrospectionOptions
  if (!isSecureUrl(endpoint, allowHttp)) {
    const received = `received ${shown(endpoint)}${allowHttpHint(endpoint)}`
    throw optionError(`introspection.endpoint must be an https URL; ${received}`)
  }
  for (const [name, text] of Object.entries({ clientId, clientSecret })) {
    if (typeof text !== 'string' || text === '') throw optionError(`introspection.${name} must be a text`)
  }
  optionOneOf('introspection.clientAuth', clientAuth, ['basic', 'post'])
  optionRange('introspection.cacheSec', cacheSec, 0, 300)
}
