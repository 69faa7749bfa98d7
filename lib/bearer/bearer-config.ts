import { maxHeaderSize } from 'node:http'
import { checkClock, systemClock } from '../http/clock'
import { type DenyOptions, checkDenyOptions } from '../http/deny'
import { optionError } from '../http/help'
import { issuerWarnings } from './issuer-warnings'
import { optionNames, optionOneOf, optionRange, shown } from '../http/options'
import type { BearerOptions } from './bearer-options'
import { type ChallengeOptions, checkAcrValues, isChallengeText } from './challenge'
import { type TokenSources, tokenSources } from './credentials/token-sources'
import { type DpopCheck, dpopCheck } from './dpop/dpop-check'
import type { Refusal } from './refusal/refusal'
import type { RevocationSource } from './revocation/revocation-source'
import { type ScopeRule, scopeRule } from './session/scope'
import type { TokenVerifier } from './issuers/token-verifier'
import { UNAUTHENTICATED_MARK, type UnauthenticatedMark } from './session/session'
import { tokenVerifier, VERIFIER_OPTION_NAMES } from './issuers/verifier-options'
import { isSecureUrl } from '../http/secure-url'

/** Validated options of `requireBearer()`. */
export interface BearerConfig {
  readonly verifier: TokenVerifier
  readonly challenge: ChallengeOptions
  readonly deny: DenyOptions
  readonly tokenFrom: TokenSources
  readonly scope: ScopeRule
  /** Accepted classes of the login; empty: any. */
  readonly acr: readonly string[]
  readonly optional: boolean
  readonly revocation: RevocationSource | undefined
  readonly dpop: DpopCheck | undefined
  /** The time in seconds since 1970. */
  readonly nowSec: () => number
  readonly clockToleranceSec: number
  /** Whether sessions may have roles, which break the scope syntax of RFC 6749. */
  readonly takesRoles: boolean
  readonly mark: UnauthenticatedMark
  /** Longest accepted token, in characters. */
  readonly maxTokenLength: number
  /** Warns the operator of refusals that are not the client's fault. */
  readonly warn: (refusal: Refusal) => void
}

const NAMES = [
  ...VERIFIER_OPTION_NAMES,
  'scope',
  'acr',
  'optional',
  'revocation',
  'tokenFrom',
  'dpop',
  'realm',
  'resourceMetadata',
  'unauthenticated',
  'maxTokenLength',
  'warnings',
  'onDenied',
  'errorFormat',
  'dialect',
  'clock',
]

/**
 * Validates the options of `requireBearer()`. Defaults of issuer and audience come from the environment.
 *
 * @throws {TypeError|RangeError} naming the option that is missing, unknown, contradictory or wrong
 */
export function bearerConfig(options: BearerOptions, env: NodeJS.ProcessEnv): BearerConfig {
  optionNames('requireBearer()', options, NAMES)
  const {
    scope = [],
    acr = [],
    optional = false,
    revocation,
    tokenFrom = [],
    realm,
    resourceMetadata,
    unauthenticated = UNAUTHENTICATED_MARK,
    session,
  } = options
  const {
    maxTokenLength = maxHeaderSize,
    warnings = true,
    onDenied,
    errorFormat,
    dialect,
    clock = systemClock,
  } = options
  checkDenyOptions(options)
  checkClock(clock)
  optionRange('maxTokenLength', maxTokenLength, 256, 1_048_576)
  optionOneOf('optional', optional, [true, false])
  optionOneOf('warnings', warnings, [true, false])
  if (revocation !== undefined && typeof (revocation as Partial<RevocationSource> | null)?.state !== 'function') {
    throw optionError(`revocation must be what redisRevocations() returns; received ${shown(revocation)}`)
  }
  const sources = tokenSources(tokenFrom)
  if (!sources) {
    throw optionError(
      "tokenFrom must be a list of 'form', 'query', { header: 'X-Forwarded-Access-Token' }, { cookie: 'token' } and " +
        `functions; the Authorization field is read anyway; received ${shown(tokenFrom)}`,
    )
  }
  const rule = scopeRule(scope)
  if (!rule) throw optionError(`scope must be scopes as RFC 6749 §3.3 writes them; received ${shown(scope)}`)
  const acrValues = typeof acr === 'string' ? [acr] : acr
  checkAcrValues('acr', acrValues)
  if (realm !== undefined && !isChallengeText(realm)) {
    throw optionError(`realm must be a text of ASCII without quotes and backslashes; received ${shown(realm)}`)
  }
  if (
    resourceMetadata !== undefined &&
    !(
      isSecureUrl(resourceMetadata, 'allowHttp' in options && options.allowHttp === true) &&
      isChallengeText(resourceMetadata)
    )
  ) {
    throw optionError(`resourceMetadata must be an https URL; received ${shown(resourceMetadata)}`)
  }
  checkMark(unauthenticated)
  if (unauthenticated !== UNAUTHENTICATED_MARK && session) {
    throw optionError('unauthenticated and session contradict each other: session says which sessions are such')
  }
  const nowSec = () => clock.date() / 1_000
  const proofs = dpopCheck(options.dpop, nowSec, warnings)
  const { verifier, clockToleranceSec, takesRoles } = tokenVerifier(options, env, clock)
  if (rule.role !== undefined && !takesRoles) {
    throw optionError(
      `scope must be scopes as RFC 6749 §3.3 writes them, or roles with scopeFrom; received ${shown(scope)}`,
    )
  }
  return {
    verifier,
    challenge: { realm, resourceMetadata, dpop: proofs && (proofs.required ? 'required' : 'accepted') },
    deny: { ...(onDenied && { onDenied }), ...(errorFormat && { errorFormat }), ...(dialect && { dialect }) },
    tokenFrom: sources,
    scope: rule,
    acr: acrValues,
    optional,
    revocation,
    dpop: proofs,
    nowSec,
    clockToleranceSec,
    takesRoles,
    mark: unauthenticated,
    maxTokenLength,
    warn: warnings ? issuerWarnings(clock) : () => undefined,
  }
}

function checkMark(mark: unknown): void {
  const { claim, value } = (mark ?? {}) as Partial<UnauthenticatedMark>
  if (typeof claim === 'string' && claim !== '' && ['string', 'number', 'boolean'].includes(typeof value)) return
  throw optionError(`unauthenticated must be { claim, value } of a claim that marks a session; received ${shown(mark)}`)
}
