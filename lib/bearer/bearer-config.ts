import { type Clock, systemClock } from '../http/clock'
import type { DenyOptions } from '../http/deny'
import { optionNames, optionOneOf, optionRange, optionType, shown } from '../http/options'
import type { BearerOptions, IssuerOptions } from './bearer-options'
import { type ChallengeOptions, isChallengeText } from './challenge'
import { type TrustedIssuer, issuerName, jwtVerifier } from './jwt-verifier'
import { type ScopeRule, scopeRule } from './scope'
import type { TokenVerifier } from './token-verifier'
import { VerifiedCache } from './verified-cache'
import { UNAUTHENTICATED_MARK, type Claims, type SessionIdentity, type UnauthenticatedMark } from './session'
import { TOKEN_OPTION_NAMES, trustedIssuer } from './trusted-issuer'
import { isSecureUrl } from './url'

/** What `requireBearer()` works with, once its options have been looked through. */
export interface BearerConfig {
  readonly verifier: TokenVerifier
  readonly challenge: ChallengeOptions
  readonly deny: DenyOptions
  readonly scope: ScopeRule
  readonly checkClaims: ((claims: Claims) => boolean) | undefined
  readonly optional: boolean
  /** The time in seconds since 1970. */
  readonly nowSec: () => number
  readonly clockToleranceSec: number
  readonly mark: UnauthenticatedMark
  readonly session: ((claims: Claims) => SessionIdentity) | undefined
}

const NAMES = [
  ...TOKEN_OPTION_NAMES,
  'issuers',
  'scope',
  'checkClaims',
  'optional',
  'cache',
  'realm',
  'resourceMetadata',
  'unauthenticated',
  'session',
  'onDenied',
  'errorFormat',
  'clock',
]

/**
 * Looks the options of `requireBearer()` through, with the environment standing in for issuer and audience.
 *
 * @throws {TypeError|RangeError} naming the option that is missing, unknown, contradictory or wrong
 */
export function bearerConfig(options: BearerOptions, env: NodeJS.ProcessEnv): BearerConfig {
  optionNames('requireBearer()', options, NAMES)
  const {
    scope = [],
    checkClaims,
    optional = false,
    cache = { maxTokens: 5_000 },
    realm,
    resourceMetadata,
    unauthenticated = UNAUTHENTICATED_MARK,
    session,
    onDenied,
    errorFormat,
    clock = systemClock,
  } = options
  optionType('onDenied', onDenied, 'function')
  optionType('errorFormat', errorFormat, 'object')
  optionType('session', session, 'function')
  optionType('checkClaims', checkClaims, 'function')
  optionOneOf('optional', optional, [true, false])
  const rule = scopeRule(scope)
  if (!rule) throw new TypeError(`scope must be scopes as RFC 6749 §3.3 writes them; received ${shown(scope)}`)
  if (realm !== undefined && !isChallengeText(realm)) {
    throw new TypeError(`realm must be a text of ASCII without quotes and backslashes; received ${shown(realm)}`)
  }
  if (resourceMetadata !== undefined && !(isSecureUrl(resourceMetadata, false) && isChallengeText(resourceMetadata))) {
    throw new TypeError(`resourceMetadata must be an https URL; received ${shown(resourceMetadata)}`)
  }
  checkMark(unauthenticated)
  if (unauthenticated !== UNAUTHENTICATED_MARK && session) {
    throw new TypeError('unauthenticated and session contradict each other: session says which sessions are such')
  }
  const verified = new VerifiedCache(cacheSize(cache))
  const nowSec = () => clock.date() / 1_000
  const issuers = trustedIssuers(options, env, clock, verified)
  return {
    verifier: jwtVerifier(issuers, verified, nowSec),
    challenge: { realm, resourceMetadata },
    deny: { ...(onDenied && { onDenied }), ...(errorFormat && { errorFormat }) },
    scope: rule,
    checkClaims,
    optional,
    nowSec,
    clockToleranceSec: Math.max(...[...issuers.values()].map(({ policy }) => policy.clockToleranceSec)),
    mark: unauthenticated,
    session,
  }
}

function trustedIssuers(options: BearerOptions, env: NodeJS.ProcessEnv, clock: Clock, cache: VerifiedCache) {
  const issuers = new Map<string, TrustedIssuer>()
  if (options.issuers === undefined) {
    const defaults = { issuer: env.ISSUER_BASE_URL, audience: env.AUDIENCE }
    const issuer = trustedIssuer(options, defaults, clock, cache)
    return issuers.set(issuerName(issuer.policy.issuer), issuer)
  }
  for (const name of TOKEN_OPTION_NAMES) {
    if (name === 'audience' || options[name as keyof BearerOptions] === undefined) continue
    throw new TypeError(`issuers and ${name} contradict each other: each issuer has its own`)
  }
  const list: unknown = options.issuers
  if (!Array.isArray(list) || list.length === 0) throw new TypeError('issuers must be a list of one issuer or more')
  for (const [i, one] of (list as IssuerOptions[]).entries()) {
    optionNames(`issuers[${i}]`, one, TOKEN_OPTION_NAMES)
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

function checkMark(mark: unknown): void {
  const { claim, value } = (mark ?? {}) as Partial<UnauthenticatedMark>
  if (typeof claim === 'string' && claim !== '' && ['string', 'number', 'boolean'].includes(typeof value)) return
  throw new TypeError(
    `unauthenticated must be { claim, value } of a claim that marks a session; received ${shown(mark)}`,
  )
}
