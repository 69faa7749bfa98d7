import type { KeyObject } from 'node:crypto'
import { type JwtPayload, decode, verify } from 'jsonwebtoken'

/** The value of `client_assertion_type` (RFC 7523 §2.2). */
export const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** The longest lifetime of an assertion. */
export const LONGEST_ASSERTION_MS = 10 * 60_000
const TOLERANCE_SEC = 30
const ALGORITHMS = [
  'RS256' as const,
  'RS384' as const,
  'RS512' as const,
  'PS256' as const,
  'PS384' as const,
  'PS512' as const,
]

/** For the discovery document. */
export const ASSERTION_ALGORITHMS: readonly string[] = ALGORITHMS

/** The names of this server (RFC 7523 §3, RFC 9126 §2). */
export interface AssertionAudiences {
  /** The issuer and its endpoints. */
  readonly own: readonly string[]
  /** The issuer, the token endpoint and the endpoint that was called. */
  readonly wanted: readonly string[]
}

/** A verified assertion. */
export interface Assertion {
  readonly jti: string
}

/** The client that an assertion names, not yet verified. */
export function assertedClient(assertion: string): string | undefined {
  if (assertion.length > 8_192) return undefined
  try {
    const payload = decode(assertion, { json: true })
    return typeof payload?.sub === 'string' ? payload.sub : undefined
  } catch {
    return undefined
  }
}

/**
 * Verifies a `private_key_jwt` assertion (RFC 7523 §3): signed by one of the client's keys, `iss` and `sub` the client,
 * `aud` only this server, by one or several of its URLs, `exp` at most ten minutes away, and a `jti`. Undefined if any
 * of this fails.
 *
 * @param audiences what `aud` may name, and of which one it must name
 * @param nowSec seconds since 1970
 */
export function verifiedAssertion(
  assertion: string,
  clientId: string,
  keys: readonly KeyObject[],
  audiences: AssertionAudiences,
  nowSec: number,
): Assertion | undefined {
  if (assertion.length > 8_192) return undefined
  for (const key of keys) {
    const payload = payloadOf(assertion, key)
    if (payload) return verifiedClaims(payload, clientId, audiences, nowSec)
  }
  return undefined
}

function payloadOf(assertion: string, key: KeyObject): JwtPayload | undefined {
  try {
    const { header, payload } = verify(assertion, key, {
      algorithms: [...ALGORITHMS],
      ignoreExpiration: true,
      ignoreNotBefore: true,
      complete: true,
    })
    if ('crit' in header) return undefined // RFC 7515 §4.1.11: no extension is understood here
    return typeof payload === 'object' ? payload : undefined
  } catch {
    return undefined // jsonwebtoken throws on every malformed or forged token
  }
}

function verifiedClaims(
  payload: JwtPayload,
  clientId: string,
  audiences: AssertionAudiences,
  nowSec: number,
): Assertion | undefined {
  const { iss, sub, jti, exp, nbf } = payload
  const named: readonly unknown[] = Array.isArray(payload.aud) ? payload.aud : [payload.aud]
  if (iss !== clientId || sub !== clientId) return undefined
  // Another server in the audience could replay the assertion here.
  const isOurs = (aud: unknown) => audiences.own.some((own) => own === aud)
  if (!named.every(isOurs) || !audiences.wanted.some((wanted) => named.includes(wanted))) return undefined
  if (!isTime(exp) || exp + TOLERANCE_SEC <= nowSec || exp > nowSec + LONGEST_ASSERTION_MS / 1_000) return undefined
  if (nbf !== undefined && (!isTime(nbf) || nbf > nowSec + TOLERANCE_SEC)) return undefined
  return typeof jti === 'string' && jti !== '' && jti.length <= 512 ? { jti } : undefined
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
