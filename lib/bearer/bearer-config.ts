import { maxHeaderSize } from 'node:http'
import { denialError } from '../errors'
import { type Clock, checkClock, systemClock } from '../http/clock'
import { type DenyOptions, type OnDenied, checkDenyOptions } from '../http/answer/deny'
import type { Dialect } from '../http/answer/dialect'
import type { ErrorFormatOption } from '../http/answer/error-format'
import { optionError } from '../http/help'
import { checkedLater, flag, functionOption, option, readOptions, wholeNumber } from '../http/option-table'
import { defined, shown } from '../http/options'
import { checkSecureUrl } from '../http/fetch/secure-url'
import type { BearerOptions } from './bearer-options'
import { ACR_OPTION, type ChallengeOptions, denialOf, isChallengeText } from './challenge'
import { type TokenSource, type TokenSources, tokenSources } from './credentials/token-sources'
import { type DpopCheck, type DpopOptions, dpopCheck } from './dpop/dpop-check'
import { issuerWarnings } from './issuer-warnings'
import { VERIFIER_TABLE, type Verifying, verifying } from './issuers/verifier-options'
import type { Refusal } from './refusal/refusal'
import type { RevocationSource } from './revocation/revocation-source'
import { OPTION_HINTS } from './options-of-other-packages'
import { type ScopeNeeded, type ScopeRule, scopeRule } from './session/scope'
import { UNAUTHENTICATED_MARK, type UnauthenticatedMark } from './session/session'
import { sessionSignals } from './session-signals'

/** Validated options of `requireBearer()`. */
export interface BearerConfig extends Verifying {
  readonly challenge: ChallengeOptions
  readonly deny: DenyOptions
  readonly tokenFrom: TokenSources
  readonly scope: ScopeRule
  /** Accepted classes of the login; empty: any. */
  readonly acr: readonly string[]
  readonly optional: boolean
  readonly revocation: RevocationSource | undefined
  readonly dpop: DpopCheck | undefined
  /** The signal that is aborted when a session ends. */
  readonly signalOf: ReturnType<typeof sessionSignals>
  /** The time in seconds since 1970. */
  readonly nowSec: () => number
  readonly mark: UnauthenticatedMark
  /** Longest accepted token, in characters. */
  readonly maxTokenLength: number
  /** Warns the operator of refusals that are not the client's fault. */
  readonly warn: (refusal: Refusal) => void
}

/** The options of `requireBearer()`. */
const TABLE = {
  ...VERIFIER_TABLE,
  scope: option<ScopeNeeded>('scopes as RFC 6749 §3.3 writes them', (value) => scopeRule(value) !== undefined, []),
  acr: ACR_OPTION,
  optional: flag(),
  tokenFrom: option<TokenSource | readonly TokenSource[]>(
    "a list of 'form', 'query', { header: 'X-Forwarded-Access-Token' }, { cookie: 'token' } and functions; the " +
      'Authorization field is read anyway',
    (value) => tokenSources(value) !== undefined,
    [],
  ),
  dpop: checkedLater<DpopOptions | boolean>(),
  revocation: option<RevocationSource>('what redisRevocations() returns', isRevocationSource),
  realm: option<string>('a text of ASCII without quotes and backslashes', isChallengeText),
  resourceMetadata: option<string>('an https URL', isChallengeText),
  unauthenticated: option<UnauthenticatedMark>('{ claim, value } of a claim that marks a session', isMark),
  maxTokenLength: wholeNumber(256, 1_048_576, maxHeaderSize),
  warnings: flag(true),
  onDenied: functionOption<OnDenied>(),
  errorFormat: checkedLater<ErrorFormatOption>(),
  dialect: checkedLater<Dialect>(),
  clock: checkedLater<Clock>(),
}

/**
 * Validates the options of `requireBearer()`. Defaults of issuer and audience come from the environment.
 *
 * @throws {TypeError|RangeError} naming the option that is missing, unknown, contradictory or wrong
 */
export function bearerConfig(options: BearerOptions, env: NodeJS.ProcessEnv): BearerConfig {
  const values = readOptions('requireBearer()', options, TABLE, OPTION_HINTS)
  const {
    realm,
    resourceMetadata,
    unauthenticated: mark = UNAUTHENTICATED_MARK,
    clock = systemClock,
    warnings,
  } = values
  const { onDenied, errorFormat, dialect, optional, revocation, maxTokenLength } = values
  checkDenyOptions({ errorFormat, dialect })
  checkClock(clock)
  if (resourceMetadata !== undefined) checkSecureUrl('resourceMetadata', resourceMetadata, values.allowHttp)
  if (values.unauthenticated && values.session) {
    throw optionError(
      'unauthenticated and session contradict each other: session already says which sessions have no user',
    )
  }
  const nowSec = () => clock.date() / 1_000
  const dpop = dpopCheck(values.dpop, nowSec, warnings)
  const defaults = { issuer: env.ISSUER_BASE_URL, audience: env.AUDIENCE, isResource: resourceMetadata !== undefined }
  const verified = verifying(values, options, defaults, clock)
  const scope = scopeRule(values.scope) as ScopeRule
  if (scope.role !== undefined && !verified.takesRoles) {
    throw optionError(
      `scope must be scopes as RFC 6749 §3.3 writes them, or roles with scopeFrom; received ${shown(values.scope)}`,
    )
  }
  const challenge = {
    realm,
    resourceMetadata,
    scope: scope.scopes,
    dpop: dpop && (dpop.required ? ('required' as const) : ('accepted' as const)),
  }
  return {
    ...verified,
    challenge,
    deny: defined({ onDenied, errorFormat, dialect }),
    tokenFrom: tokenSources(values.tokenFrom) as TokenSources,
    acr: [values.acr].flat(),
    scope,
    optional,
    revocation,
    signalOf: sessionSignals(revocation, clock, (refused) => denialError(denialOf({ refused }, challenge))),
    dpop,
    nowSec,
    mark,
    maxTokenLength,
    warn: warnings ? issuerWarnings(clock) : () => undefined,
  }
}

function isRevocationSource(value: unknown): boolean {
  return typeof (value as Partial<RevocationSource> | null)?.state === 'function'
}

function isMark(mark: unknown): boolean {
  const { claim, value } = (mark ?? {}) as Partial<UnauthenticatedMark>
  return typeof claim === 'string' && claim !== '' && ['string', 'number', 'boolean'].includes(typeof value)
}
