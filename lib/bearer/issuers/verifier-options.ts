import type { Clock } from '../../http/clock'
import { optionNames, optionRange, optionType, shown } from '../../http/options'
import type { BearerOptions, IssuerOptions } from '../bearer-options'
import { CLAIM_OPTION_NAMES, claimPolicy } from '../claims/claim-options'
import { customVerifier } from './custom-verifier'
import { type IntrospectionOptions, introspectionVerifier } from './introspection'
import { type TrustedIssuer, issuerName, jwtVerifier } from './jwt-verifier'
import type { TokenVerifier } from './token-verifier'
import { KEY_OPTION_NAMES, trustedIssuer } from './trusted-issuer'
import { allowHttpHint, isSecureUrl } from '../../http/secure-url'
import { VerifiedCache } from '../keys/verified-cache'

const ISSUER_OPTION_NAMES = [...CLAIM_OPTION_NAMES, ...KEY_OPTION_NAMES]

/** The names of the options read here. */
export const VERIFIER_OPTION_NAMES = [...ISSUER_OPTION_NAMES, 'issuers', 'introspection', 'verify', 'cache']

interface Verifying {
  readonly verifier: TokenVerifier
  /** The largest tolerance of all issuers. */
  readonly clockToleranceSec: number
}

/**
 * Makes what tokens are verified with: keys of one issuer or several, introspection, or a function of the app.
 *
 * @throws {TypeError|RangeError} naming the option
 */
export function tokenVerifier(options: BearerOptions, env: NodeJS.ProcessEnv, clock: Clock): Verifying {
  const { introspection, verify } = options
  if (introspection === undefined && verify === undefined) return byKeys(options, env, clock)
  const way = introspection === undefined ? 'verify' : 'introspection'
  for (const name of [...KEY_OPTION_NAMES, 'issuers', 'cache', 'typ', way === 'verify' ? 'introspection' : 'verify']) {
    if (options[name as keyof BearerOptions] === undefined) continue
    throw new TypeError(`${way} and ${name} contradict each other: give one way to check tokens`)
  }
  const policy = claimPolicy(options, { issuer: env.ISSUER_BASE_URL, audience: env.AUDIENCE })
  const { clockToleranceSec } = policy
  if (introspection !== undefined) {
    checkIntrospection(introspection, options.allowHttp ?? false)
    return { verifier: introspectionVerifier(introspection, policy, clock), clockToleranceSec }
  }
  optionType('verify', verify, 'function')
  return { verifier: customVerifier(verify, policy, clock), clockToleranceSec }
}

function byKeys(options: BearerOptions, env: NodeJS.ProcessEnv, clock: Clock): Verifying {
  const { cache = { maxTokens: 5_000 } } = options
  const verified = new VerifiedCache(cacheSize(cache))
  const issuers = trustedIssuers(options, env, clock, verified)
  const clockToleranceSec = Math.max(...[...issuers.values()].map(({ policy }) => policy.clockToleranceSec))
  return { verifier: jwtVerifier(issuers, verified, () => clock.date() / 1_000), clockToleranceSec }
}

function trustedIssuers(options: BearerOptions, env: NodeJS.ProcessEnv, clock: Clock, cache: VerifiedCache) {
  const issuers = new Map<string, TrustedIssuer>()
  if (options.issuers === undefined) {
    const defaults = { issuer: env.ISSUER_BASE_URL, audience: env.AUDIENCE }
    const issuer = trustedIssuer(options, defaults, clock, cache)
    return issuers.set(issuerName(issuer.policy.issuer), issuer)
  }
  for (const name of ISSUER_OPTION_NAMES) {
    if (name === 'audience' || options[name as keyof BearerOptions] === undefined) continue
    throw new TypeError(`issuers and ${name} contradict each other: each issuer has its own`)
  }
  const list: unknown = options.issuers
  if (!Array.isArray(list) || list.length === 0) throw new TypeError('issuers must be a list of one issuer or more')
  for (const [i, one] of (list as IssuerOptions[]).entries()) {
    optionNames(`issuers[${i}]`, one, ISSUER_OPTION_NAMES)
    const issuer = inIssuer(i, () => trustedIssuer(one, { audience: options.audience ?? env.AUDIENCE }, clock, cache))
    const name = issuerName(issuer.policy.issuer)
    if (issuers.has(name)) throw new TypeError(`issuers has ${shown(issuer.policy.issuer)} twice`)
    issuers.set(name, issuer)
  }
  return issuers
}

/** Says which of the issuers an option belongs to. */
function inIssuer(i: number, make: () => TrustedIssuer): TrustedIssuer {
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
  optionNames('introspection', value, ['endpoint', 'clientId', 'clientSecret', 'cacheSec'])
  const { endpoint, clientId, clientSecret, cacheSec = 10 } = value as IntrospectionOptions
  if (!isSecureUrl(endpoint, allowHttp)) {
    const received = `received ${shown(endpoint)}${allowHttpHint(endpoint)}`
    throw new TypeError(`introspection.endpoint must be an https URL; ${received}`)
  }
  for (const [name, text] of Object.entries({ clientId, clientSecret })) {
    if (typeof text !== 'string' || text === '') throw new TypeError(`introspection.${name} must be a text`)
  }
  optionRange('introspection.cacheSec', cacheSec, 0, 300)
}
