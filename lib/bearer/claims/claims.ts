import { type JsonObject, isJsonObject } from '../../http/json'
import { RemediedProblem } from '../../http/fetch/fetch-failure'
import { shown } from '../../http/options'
import type { Jws } from '../credentials/jws'
import { type Reason, type Refusal, refuse } from '../refusal/refusal'
import { type SessionRules, isId } from '../session/session'
import type { TenantPattern } from './tenants'

/** Rules for a token's claims. */
export interface ClaimPolicy {
  /** Names of the issuer: `iss` must equal one of them, or the name in the issuer's metadata. */
  readonly issuers: readonly string[]
  /** First name of the issuer. */
  readonly issuer: string
  /** Pattern of the issuer's name, if it stands for many tenants. */
  readonly tenants: TenantPattern | undefined
  /** Accepted types of token (`typ`). */
  readonly types: readonly (string | undefined)[]
  /** Claims that must be there. */
  readonly required: readonly string[]
  /** Claims that must have one of these values. */
  readonly requiredValues: readonly (readonly [claim: string, values: readonly unknown[]])[]
  /** Accepted audiences: `aud` is, or holds, one of each list. Empty if another check replaces this one. */
  readonly audiences: readonly (readonly string[])[]
  /** Accepted clients; undefined: any. */
  readonly clients: readonly string[] | undefined
  /** Whether ID tokens are accepted. */
  readonly idTokens: boolean
  /** Whether times may be decimal text. */
  readonly timesAsText: boolean
  /** Largest difference between the issuer's clock and ours, in seconds. */
  readonly clockToleranceSec: number
  /** Largest age of a token, in seconds; undefined: until it expires. */
  readonly maxTokenAgeSec: number | undefined
  /** Rules for reading the session. */
  readonly rules: SessionRules
}

/** An issuer's name without a slash at the end: configurations often lose it. */
export function issuerName(iss: string): string {
  return iss.replace(/\/$/, '')
}

/** Types of access tokens. RFC 9068 §4 asks for `at+jwt`; many issuers write `JWT` or nothing. */
export const TYPES: readonly (string | undefined)[] = ['at+jwt', 'jwt', undefined]

/** Last second that a Date can hold; larger numbers are no times. */
const LATEST_SEC = 8.64e12

/**
 * Problem of a token's type and claims at a moment, or undefined (RFC 7519 §4.1, RFC 9068 §4). Texts are compared for
 * equality, numbers must be finite. A claim of another type is wrong, not absent.
 *
 * @param issuers accepted values of `iss`
 * @param tenant the one that `iss` names; undefined if the issuer has no tenants
 * @param nowSec seconds since 1970
 */
export function claimProblem(
  { claims, type }: Jws,
  policy: ClaimPolicy,
  issuers: readonly string[],
  tenant: string | undefined,
  nowSec: number,
): Reason | undefined {
  if (!policy.types.includes(type)) return 'token_type'
  // Only ID tokens have these hashes (OpenID Connect Core §3.1.3.6, §3.3.2.11).
  if (type !== 'at+jwt' && !policy.idTokens && ('at_hash' in claims || 'c_hash' in claims)) return 'id_token'
  if (!issuers.includes(claims.iss as string) || !isOfTenant(claims, policy, tenant)) return 'issuer'
  if (!isAudience(claims.aud, policy.audiences)) return 'audience'
  if (claims.exp === undefined) return 'expiry' // RFC 9068 §2.2
  return commonProblem(claims, policy, nowSec)
}

/**
 * Problem of the claims from introspection, or undefined (RFC 7662 §2.2). `iss` and `exp` are optional, because the
 * issuer itself answered; if present, they must be right. Tokens for other apps are active too, so `aud` is required
 * unless options replace its check.
 *
 * @param nowSec seconds since 1970
 */
export function opaqueClaimProblem(claims: JsonObject, policy: ClaimPolicy, nowSec: number): Reason | undefined {
  if (claims.iss !== undefined && !policy.issuers.includes(claims.iss as string)) return 'issuer'
  if (!policy.idTokens && ('at_hash' in claims || 'c_hash' in claims)) return 'id_token'
  if (!isAudience(claims.aud, policy.audiences)) return 'audience'
  return commonProblem(claims, policy, nowSec)
}

/** Types of tokens that are for others than APIs, as issuers and RFC 8693 §3 write them. */
const OTHER_TOKENS = /^(?:urn:ietf:params:oauth:token-type:)?(refresh|offline|id|logout)(?:[_ +-]?(?:token|jwt))?$/i
/** Claims that name a type: of Hydra and Cognito, Keycloak, Django's SimpleJWT, and Flask-JWT-Extended. */
const TYPE_CLAIMS = ['token_use', 'typ', 'token_type', 'type']

/**
 * Whether the claims say that a token is none for APIs. Refresh tokens may be JWTs of the same key, and active to an
 * endpoint (RFC 6749 §1.5; `token_type_hint` of RFC 7662 §2.1 is a hint).
 */
function isOtherToken(claims: JsonObject, idTokens: boolean): boolean {
  const texts = TYPE_CLAIMS.map((name) => claims[name]).filter((value) => typeof value === 'string')
  const types = texts.map((text) => OTHER_TOKENS.exec(text)?.[1]?.toLowerCase())
  return types.some((type) => type !== undefined && !(idTokens && type === 'id'))
}

/** Makes the refusal of a problem with claims. */
export function claimRefusal(refused: Reason, claims: JsonObject, policy: ClaimPolicy): Refusal {
  const { iss, aud } = claims
  const { issuer, issuers, audiences, tenants } = policy
  if (refused === 'issuer') {
    const cause = tenants && contradiction(claims, tenants)
    return { refused, about: { issuer, expected: issuers, received: iss }, ...(cause && { cause }) }
  }
  if (refused === 'audience') return { refused, about: { issuer, expected: audiences.flat(), received: aud } }
  const [claim, expected] = claimRefused(refused, claims, policy) ?? []
  return claim === undefined
    ? refuse(refused)
    : { refused, about: { issuer, claim, expected, received: claims[claim] } }
}

/** The claim for which a token is refused, and the values accepted; undefined for other reasons. */
function claimRefused(
  refused: Reason,
  claims: JsonObject,
  { required, requiredValues, clients }: ClaimPolicy,
): readonly [claim: string, expected?: readonly unknown[]] | undefined {
  if (refused === 'claim_check') return requiredValues.find(([name, values]) => !values.includes(claims[name]))
  if (refused === 'required_claim') return [required.find((name) => !Object.hasOwn(claims, name)) as string]
  return refused === 'client' && clients ? [clientClaim(claims), clients] : undefined
}

/** Cause of a refusal where a token's `iss` names one accepted tenant, and its claim another. */
function contradiction(claims: JsonObject, { claim, tenantOf }: TenantPattern): RemediedProblem | undefined {
  const tenant = tenantOf(String(claims.iss))
  if (tenant === undefined || (claims[claim] ?? tenant) === tenant) return undefined
  const why = `its claim ${shown(claim)} is ${shown(claims[claim])}, and its iss is of ${shown(tenant)}`
  return new RemediedProblem(why, `put a name that is no claim into the braces of issuer, in place of ${shown(claim)}`)
}

function commonProblem(claims: JsonObject, policy: ClaimPolicy, nowSec: number): Reason | undefined {
  if ('events' in claims) return 'token_type' // a logout token or another security event token (RFC 8417 §2.2)
  const wrongId = policy.rules.session ? undefined : idProblem(claims) // else the return value of `session` decides
  if (wrongId) return wrongId
  if (policy.required.some((name) => !Object.hasOwn(claims, name))) return 'required_claim'
  if (!policy.requiredValues.every(([name, values]) => values.includes(claims[name]))) return 'claim_check'
  if (isOtherToken(claims, policy.idTokens)) return 'token_type'
  if (policy.clients && !policy.clients.includes(claims[clientClaim(claims)] as string)) return 'client'
  return timeProblem(claims, policy, nowSec)
}

/** Problem of the ids of a token and its subject, or undefined. */
export function idProblem({ sub, jti }: JsonObject): Reason | undefined {
  if (sub !== undefined && !isId(sub)) return 'subject'
  return jti !== undefined && typeof jti !== 'string' ? 'token_id' : undefined
}

/** Claim that names a token's client: that of RFC 9068 §2.2, OpenID Connect Core §2, Okta, or version 1 of Entra ID. */
function clientClaim(claims: JsonObject): string {
  return ['client_id', 'azp', 'cid', 'appid'].find((name) => (claims[name] ?? undefined) !== undefined) ?? 'client_id'
}

/** A token without the claim is of the tenant that its `iss` names: Keycloak's realms, Cognito's pools. */
function isOfTenant(claims: JsonObject, { tenants }: ClaimPolicy, tenant: string | undefined): boolean {
  return (claims[tenants?.claim ?? ''] ?? tenant) === tenant
}

/** Removes claims that are `null`, which count as absent. Returns the same object if there are none. */
export function withoutNull(claims: JsonObject): JsonObject {
  if (!Object.values(claims).includes(null)) return claims
  return Object.freeze(Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null)))
}

/** Names of a token's bindings in `cnf` (RFC 7800 §3.1): `['jkt']`. Members that are `null` count as absent. */
export function bindingsOf({ cnf }: JsonObject): readonly string[] {
  return isJsonObject(cnf) ? Object.keys(withoutNull(cnf)) : []
}

const TIMES = ['exp', 'nbf', 'iat'] as const

/** Converts times in decimal text to numbers. Returns the same object if there are none. */
export function timesAsNumbers(claims: JsonObject): JsonObject {
  const texts = TIMES.filter((name) => typeof claims[name] === 'string' && /^\d{1,12}$/.test(claims[name]))
  if (texts.length === 0) return claims
  return Object.freeze({ ...claims, ...Object.fromEntries(texts.map((name) => [name, Number(claims[name])])) })
}

/** Whether `aud` is, or holds, one of each list. */
export function isAudience(aud: unknown, audiences: readonly (readonly string[])[]): boolean {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  if (audiences.length > 0 && !named.every((one) => typeof one === 'string')) return false
  return audiences.every((accepted) => accepted.some((one) => named.includes(one)))
}

function timeProblem(claims: JsonObject, policy: ClaimPolicy, nowSec: number): Reason | undefined {
  const { exp, nbf, iat } = claims
  const { clockToleranceSec, maxTokenAgeSec } = policy
  if (exp !== undefined && !isTime(exp)) return 'expiry'
  if (nbf !== undefined && !isTime(nbf)) return 'not_yet_valid'
  if (iat !== undefined && !isTime(iat)) return 'issued_at'
  if (exp !== undefined && nowSec >= exp + clockToleranceSec) return 'expired'
  if (nbf !== undefined && nowSec < nbf - clockToleranceSec) return 'not_yet_valid'
  if (maxTokenAgeSec === undefined) return undefined
  if (iat === undefined || nowSec < iat - clockToleranceSec) return 'issued_at'
  return nowSec > iat + maxTokenAgeSec + clockToleranceSec ? 'too_old' : undefined
}

/**
 * Period in which {@link claimProblem} finds no problem with a token's times, in seconds since 1970: from `fromSec` until
 * before `untilSec`.
 */
export function timesHold(claims: JsonObject, policy: ClaimPolicy): { fromSec: number; untilSec: number } {
  const { exp = Infinity, nbf = -Infinity, iat = 0 } = claims as { exp?: number; nbf?: number; iat?: number }
  const { clockToleranceSec, maxTokenAgeSec } = policy
  const bounded = maxTokenAgeSec !== undefined
  return {
    fromSec: Math.max(nbf, bounded ? iat : -Infinity) - clockToleranceSec,
    untilSec: Math.min(exp, bounded ? iat + maxTokenAgeSec : Infinity) + clockToleranceSec,
  }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= LATEST_SEC // NaN and the infinities are not
}
