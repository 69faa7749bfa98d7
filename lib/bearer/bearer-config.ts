import { systemClock } from '../http/clock'
import type { DenyOptions } from '../http/deny'
import { optionNames, optionOneOf, optionType, shown } from '../http/options'
import type { BearerOptions } from './bearer-options'
import { type ChallengeOptions, isChallengeText } from './challenge'
import type { TrustedIssuers } from './issuer'
import { issuerName } from './issuer'
import { isScope } from './scope'
import { UNAUTHENTICATED_MARK, type Claims, type SessionIdentity, type UnauthenticatedMark } from './session'
import { TOKEN_OPTION_NAMES, trustedIssuer } from './trusted-issuer'
import { isSecureUrl } from './url'

/** What `requireBearer()` works with, once its options have been looked through. */
export interface BearerConfig {
  readonly issuers: TrustedIssuers
  readonly challenge: ChallengeOptions
  readonly deny: DenyOptions
  readonly scope: readonly string[]
  readonly mark: UnauthenticatedMark
  readonly session: ((claims: Claims) => SessionIdentity) | undefined
  /** The time in seconds since 1970. */
  readonly nowSec: () => number
}

const NAMES = [
  ...TOKEN_OPTION_NAMES,
  'scope',
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
    scope,
    realm,
    resourceMetadata,
    unauthenticated = UNAUTHENTICATED_MARK,
    session,
    onDenied,
    errorFormat,
    clock = systemClock,
    allowHttp = false,
  } = options
  optionType('onDenied', onDenied, 'function')
  optionType('errorFormat', errorFormat, 'object')
  optionType('session', session, 'function')
  optionOneOf('allowHttp', allowHttp, [true, false])
  if (realm !== undefined && !isChallengeText(realm)) {
    throw new TypeError(`realm must be a text of ASCII without quotes and backslashes; received ${shown(realm)}`)
  }
  if (
    resourceMetadata !== undefined &&
    !(isSecureUrl(resourceMetadata, allowHttp) && isChallengeText(resourceMetadata))
  ) {
    throw new TypeError(`resourceMetadata must be an https URL; received ${shown(resourceMetadata)}`)
  }
  checkMark(unauthenticated)
  if (unauthenticated !== UNAUTHENTICATED_MARK && session) {
    throw new TypeError('unauthenticated and session contradict each other: session says which sessions are such')
  }
  const issuer = trustedIssuer(options, env, clock)
  return {
    issuers: new Map([[issuerName(issuer.policy.issuer), issuer]]),
    challenge: { realm, resourceMetadata },
    deny: { ...(onDenied && { onDenied }), ...(errorFormat && { errorFormat }) },
    scope: scopes(scope),
    mark: unauthenticated,
    session,
    nowSec: () => clock.date() / 1_000,
  }
}

function scopes(scope: BearerOptions['scope']): readonly string[] {
  const list: unknown = typeof scope === 'string' ? scope.split(' ') : (scope ?? [])
  if (!Array.isArray(list) || !list.every(isScope)) {
    throw new TypeError(`scope must be scopes as RFC 6749 §3.3 writes them; received ${shown(scope)}`)
  }
  return [...list]
}

function checkMark(mark: unknown): void {
  const { claim, value } = (mark ?? {}) as Partial<UnauthenticatedMark>
  if (typeof claim === 'string' && claim !== '' && ['string', 'number', 'boolean'].includes(typeof value)) return
  throw new TypeError(
    `unauthenticated must be { claim, value } of a claim that marks a session; received ${shown(mark)}`,
  )
}
