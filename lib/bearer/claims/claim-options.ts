import { optionOneOf, optionRange, shown } from '../../http/options'
import type { TokenOptions } from '../bearer-options'
import { type ClaimPolicy, TYPES } from './claims'

/** The names of the options read here. */
export const CLAIM_OPTION_NAMES: readonly string[] = [
  'issuer',
  'audience',
  'clockToleranceSec',
  'maxAgeSec',
  'typ',
  'requiredClaims',
  'allowHttp',
]

/** What stands in for options not given. */
export interface IssuerDefaults {
  readonly issuer?: string | undefined
  readonly audience?: TokenOptions['audience']
}

/**
 * Makes of the options what tokens must say.
 *
 * @throws {TypeError|RangeError} naming the option
 */
export function claimPolicy(options: TokenOptions, defaults: IssuerDefaults): ClaimPolicy {
  const { clockToleranceSec = 5, maxAgeSec, allowHttp = false, typ, requiredClaims = [] } = options
  const issuer = options.issuer ?? defaults.issuer
  const audience = options.audience ?? defaults.audience
  if (typeof issuer !== 'string' || issuer === '') {
    throw new TypeError(`issuer is missing: give it, or set ISSUER_BASE_URL; received ${shown(issuer)}`)
  }
  const audiences: unknown = typeof audience === 'string' ? [audience] : audience
  if (
    !Array.isArray(audiences) ||
    audiences.length === 0 ||
    !audiences.every((a) => typeof a === 'string' && a !== '')
  ) {
    throw new TypeError(
      `audience is missing: give a text or a list of texts, or set AUDIENCE; received ${shown(audience)}`,
    )
  }
  optionRange('clockToleranceSec', clockToleranceSec, 0, 300)
  if (maxAgeSec !== undefined) optionRange('maxAgeSec', maxAgeSec, 1, 31_536_000)
  optionOneOf('allowHttp', allowHttp, [true, false])
  optionOneOf('typ', typ, ['at+jwt', undefined])
  if (!Array.isArray(requiredClaims) || !requiredClaims.every((name) => typeof name === 'string')) {
    throw new TypeError(`requiredClaims must be a list of names; received ${shown(requiredClaims)}`)
  }
  return {
    issuer,
    audience: [...(audiences as string[])],
    types: typ === undefined ? TYPES : [typ],
    required: [...requiredClaims],
    clockToleranceSec,
    maxAgeSec,
  }
}
