import { type JsonObject, isJsonObject } from '../../http/json'
import type { Jws } from '../credentials/jws'
import { type Reason, type Refusal, refuse } from '../refusal/refusal'
import { type SessionRules, isId } from '../session/session'
import type { TenantPattern } from './tenants'

/** What a token's claims must say. */
export interface ClaimPolicy {
  /** The issuer's names: `iss` must equal one of them, unless the issuer's metadata write it otherwise. */
  readonly issuers: readonly string[]
  /** The first of them. */
  readonly issuer: string
  /** Where the issuer's name stands for those of many tenants. */
  readonly tenants: TenantPattern | undefined
  /** The types of token accepted. */
  readonly types: readonly (string | undefined)[]
  /** Claims that must be there. */
  readonly required: readonly string[]
  /** Claims that must have one of these values. */
  readonly requiredValues: readonly (readonly [claim: string, values: readonly unknown[]])[]
  /** `aud` must be, or hold, one of these; undefined where something else is checked in its place. */
  readonly audience: readonly string[] | undefined
  /** The clients that a token may have been issued to; undefined: any. */
  readonly clients: readonly string[] | undefined
  /** Whether ID tokens are credentials here. */
  readonly idTokens: boolean
  /** Whether times may be decimal text. */
  readonly timesAsText: boolean
  /** How far the issuer's clock may differ from ours, in seconds. */
  readonly clockToleranceSec: number
  /** How long ago the token may have been issued, in seconds; undefined: for as long as it has not expired. */
  readonly maxAgeSec: number | undefined
  /** How a session is read from the claims. */
  readonly rules: SessionRules
}

/** RFC 9068 §4 wants `at+jwt`; many issuers write `JWT` or nothing. Any other type is another kind of token. */
export const TYPES: readonly (string | undefined)[] = ['at+jwt', 'jwt', undefined]

/** The last second that a Date can hold: what lies beyond is no time. */
const LATEST_SEC = 8.64e12

/**
 * What is wrong with a token's type and claims at a moment, or undefined (RFC 7519 §4.1, RFC 9068 §4). Everything is
 * checked by equality of texts and on finite numbers; a claim of another type is wrong, not absent.
 *
 * @param issuers one of which `iss` must be
 * @param nowSec seconds since 1970
 */
export function claimProblem(
  { claims, type }: Jws,
  policy: ClaimPolicy,
  issuers: readonly string[],
  nowSec: number,
): Reason | undefined {
  if (!policy.types.includes(type)) return 'token_type'
  // Only ID tokens bear these hashes (OpenID Connect Core §3.1.3.6, §3.3.2.11).
  if (type !== 'at+jwt' && !policy.idTokens && ('at_hash' in claims || 'c_hash' in claims)) return 'id_token'
  if (!issuers.includes(claims.iss as string) || !isTenants(claims, policy.tenants)) return 'issuer'
  if (policy.audience && !isAudience(claims.aud, policy.audience)) return 'audience'
  if (claims.exp === undefined) return 'expiry' // RFC 9068 §2.2
  return commonProblem(claims, policy, nowSec)
}

/**
 * What is wrong with what an issuer says of an opaque token, or undefined (RFC 7662 §2.2). The issuer itself has been
 * asked, so `iss` and `exp` need not be there; where they are, they must be right. Another app's token is active too,
 * so `aud` must be there, unless the options say what is checked in its place.
 *
 * @param nowSec seconds since 1970
 */
export function opaqueClaimProblem(claims: JsonObject, policy: ClaimPolicy, nowSec: number): Reason | undefined {
  if (claims.iss !== undefined && !policy.issuers.includes(claims.iss as string)) return 'issuer'
  if (policy.audience && !isAudience(claims.aud, policy.audience)) return 'audience'
  return commonProblem(claims, policy, nowSec)
}

/** The refusal of a token whose claims have a problem. */
export function claimRefusal(refused: Reason, { iss, aud }: JsonObject, policy: ClaimPolicy): Refusal {
  const { issuer, issuers, audience } = policy
  if (refused === 'issuer') return { refused, about: { issuer, expected: issuers, received: iss } }
  if (refused === 'audience') return { refused, about: { issuer, expected: audience, received: aud } }
  return refuse(refused)
}

function commonProblem(claims: JsonObject, policy: ClaimPolicy, nowSec: number): Reason | undefined {
  if (!policy.rules.session) {
    // Else it decides by what it returns.
    if (claims.sub !== undefined && !isId(claims.sub)) return 'subject'
    if (claims.jti !== undefined && typeof claims.jti !== 'string') return 'token_id'
  }
  if (policy.required.some((name) => !Object.hasOwn(claims, name))) return 'required_claim'
  if (!policy.requiredValues.every(([name, values]) => values.includes(claims[name]))) return 'claim_check'
  if (policy.clients && !policy.clients.includes(clientNamed(claims) as string)) return 'client'
  return timeProblem(claims, policy, nowSec)
}

/** RFC 9068 §2.2, OpenID Connect Core §2, Okta, version 1 of Entra ID. */
function clientNamed({ client_id, azp, cid, appid }: JsonObject): unknown {
  return client_id ?? azp ?? cid ?? appid
}

function isTenants(claims: JsonObject, tenants: TenantPattern | undefined): boolean {
  return tenants === undefined || tenants.tenantOf(claims.iss as string) === claims[tenants.claim]
}

/** The claims that say something: `null` counts as absent, whichever claim has it. The same where there are none. */
export function withoutNull(claims: JsonObject): JsonObject {
  if (!Object.values(claims).includes(null)) return claims
  return Object.freeze(Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null)))
}

/** What a token is bound to (RFC 7800 §3.1): `['jkt']`. A member of `cnf` that is `null` counts as absent. */
export function bindingsOf({ cnf }: JsonObject): readonly string[] {
  return isJsonObject(cnf) ? Object.keys(withoutNull(cnf)) : []
}

const TIMES = ['exp', 'nbf', 'iat'] as const

/** The claims with times that are decimal text made numbers; the same where there are none. */
export function timesAsNumbers(claims: JsonObject): JsonObject {
  const texts = TIMES.filter((name) => typeof claims[name] === 'string' && /^\d{1,12}$/.test(claims[name]))
  if (texts.length === 0) return claims
  return Object.freeze({ ...claims, ...Object.fromEntries(texts.map((name) => [name, Number(claims[name])])) })
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

/**
 * From when on, and until before when, a token's times hold, in seconds since 1970: {@link claimProblem} finds nothing
 * wrong with them in between.
 */
export function timesHold(claims: JsonObject, policy: ClaimPolicy): { fromSec: number; untilSec: number } {
  const { exp = Infinity, nbf = -Infinity, iat = 0 } = claims as { exp?: number; nbf?: number; iat?: number }
  const { clockToleranceSec, maxAgeSec } = policy
  const bounded = maxAgeSec !== undefined
  return {
    fromSec: Math.max(nbf, bounded ? iat : -Infinity) - clockToleranceSec,
    untilSec: Math.min(exp, bounded ? iat + maxAgeSec : Infinity) + clockToleranceSec,
  }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= LATEST_SEC // NaN and the infinities are not
}
