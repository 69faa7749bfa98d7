import type { JsonObject } from '../../http/json'
import type { Jws } from '../credentials/jws'
import { type Reason } from '../refusal/refusal'
import { isId } from '../session/session'

/** What a token's claims must say. */
export interface ClaimPolicy {
  /** `iss` must equal it, unless the issuer's metadata write it otherwise. */
  readonly issuer: string
  /** The types of token accepted. */
  readonly types: readonly (string | undefined)[]
  /** Claims that must be there. */
  readonly required: readonly string[]
  /** `aud` must be, or hold, one of these. */
  readonly audience: readonly string[]
  /** How far the issuer's clock may differ from ours, in seconds. */
  readonly clockToleranceSec: number
  /** How long ago the token may have been issued, in seconds; undefined: for as long as it has not expired. */
  readonly maxAgeSec: number | undefined
}

/** RFC 9068 §4 wants `at+jwt`; many issuers write `JWT` or nothing. Any other type is another kind of token. */
export const TYPES: readonly (string | undefined)[] = ['at+jwt', 'jwt', undefined]

/** The last second that a Date can hold: what lies beyond is no time. */
const LATEST_SEC = 8.64e12

/**
 * What is wrong with a token's type and claims at a moment, or undefined (RFC 7519 §4.1, RFC 9068 §4). Everything is
 * checked by equality of texts and on finite numbers; a claim of another type is wrong, not absent.
 *
 * @param issuer what `iss` must be
 * @param nowSec seconds since 1970
 */
export function claimProblem(
  { claims, type }: Jws,
  policy: ClaimPolicy,
  issuer: string,
  nowSec: number,
): Reason | undefined {
  if (!policy.types.includes(type)) return 'token_type'
  // Only ID tokens bear these hashes (OpenID Connect Core §3.1.3.6, §3.3.2.11).
  if (type !== 'at+jwt' && ('at_hash' in claims || 'c_hash' in claims)) return 'id_token'
  if (claims.iss !== issuer) return 'issuer'
  if (!isAudience(claims.aud, policy.audience)) return 'audience'
  if (claims.exp === undefined) return 'expiry' // RFC 9068 §2.2
  return commonProblem(claims, policy, nowSec)
}

/**
 * What is wrong with what an issuer says of an opaque token, or undefined (RFC 7662 §2.2). The issuer itself has been
 * asked, so `iss`, `aud` and `exp` need not be there; where they are, they must be right.
 *
 * @param nowSec seconds since 1970
 */
export function opaqueClaimProblem(claims: JsonObject, policy: ClaimPolicy, nowSec: number): Reason | undefined {
  if (claims.iss !== undefined && claims.iss !== policy.issuer) return 'issuer'
  if (claims.aud !== undefined && !isAudience(claims.aud, policy.audience)) return 'audience'
  return commonProblem(claims, policy, nowSec)
}

function commonProblem(claims: JsonObject, policy: ClaimPolicy, nowSec: number): Reason | undefined {
  if (claims.sub !== undefined && !isId(claims.sub)) return 'subject'
  if (claims.jti !== undefined && typeof claims.jti !== 'string') return 'token_id'
  if (policy.required.some((name) => !Object.hasOwn(claims, name))) return 'required_claim'
  return timeProblem(claims, policy, nowSec)
}

function isAudience(claim: unknown, audience: readonly string[]): boolean {
  if (typeof claim === 'string') return audience.includes(claim)
  if (!Array.isArray(claim)) return false
  return claim.every((one) => typeof one === 'string') && claim.some((one) => audience.includes(one))
}

function timeProblem(claims: JsonObject, policy: ClaimPolicy, nowSec: number): Reason | undefined {
  const { exp, nbf, iat } = claims
  const { clockToleranceSec, maxAgeSec } = policy
  if (exp !== undefined && !isTime(exp)) return 'expiry'
  if (nbf !== undefined && !isTime(nbf)) return 'not_yet_valid'
  if (iat !== undefined && !isTime(iat)) return 'issued_at'
  if (exp !== undefined && nowSec >= exp + clockToleranceSec) return 'expired'
  if (nbf !== undefined && nowSec < nbf - clockToleranceSec) return 'not_yet_valid'
  if (maxAgeSec === undefined) return undefined
  if (iat === undefined || nowSec < iat - clockToleranceSec) return 'issued_at'
  return nowSec > iat + maxAgeSec + clockToleranceSec ? 'too_old' : undefined
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= LATEST_SEC // NaN and the infinities are not
}
