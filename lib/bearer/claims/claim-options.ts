import { optionOneOf, optionRange, shown } from '../../http/options'
import type { Algorithm } from '../keys/algorithm'
import { type ClaimPolicy, TYPES } from './claims'

/** Which tokens are accepted. */
export interface TokenOptions {
  /** The issuer, as its tokens' `iss` has it. Default: the environment's `ISSUER_BASE_URL`. */
  readonly issuer?: string | undefined
  /** Whom the tokens must be for: `aud` is, or holds, one of these. Default: the environment's `AUDIENCE`. */
  readonly audience?: string | readonly string[] | undefined
  /**
   * The algorithms accepted. Each key is pinned to one of them: the one its JWK names, else the first here that fits
   * it. Default: `['HS256']` with `secret`; else RS, PS and ES with 256, 384, 512, and EdDSA.
   */
  readonly algorithms?: readonly Algorithm[] | undefined
  /** How far the issuer's clock may be off: whole seconds, 0 to 300. Default 5. */
  readonly clockToleranceSec?: number | undefined
  /** How long ago a token may have been issued: whole seconds, 1 to 31,536,000. Default: until it expires. */
  readonly maxAgeSec?: number | undefined
  /**
   * How long fetched keys serve past their life while the issuer does not answer: whole seconds, 0 to 86,400. After
   * that, 503. Default 3,600.
   */
  readonly lastGoodSec?: number | undefined
  /**
   * The type of token, in its header: `'at+jwt'` takes access tokens only (RFC 9068 §4), as this package's own server
   * issues them; where its metadata are discovered, it says so itself. Default: `at+jwt`, `JWT` or none.
   */
  readonly typ?: 'at+jwt' | undefined
  /** Claims that must be there, whatever they say: `['jti']`. Default none beyond those checked anyway. */
  readonly requiredClaims?: readonly string[] | undefined
  /** Takes http addresses of other machines too, for a test network. Default false. */
  readonly allowHttp?: boolean | undefined
}

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
