import type { KeyObject } from 'node:crypto'
import { type Jws, readJws } from '../../bearer/credentials/jws'
import type { Algorithm } from '../../bearer/keys/algorithm'
import { isSignedWith } from '../../bearer/keys/signature'

/** The value of `client_assertion_type` (RFC 7523 §2.2). */
export const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** The longest lifetime of an assertion. */
const LONGEST_SEC = 10 * 60
/** How far the client's clock may be off, to either side. */
const TOLERANCE_SEC = 30
/** How long an assertion is remembered as used. */
export const ASSERTION_MS = 2 * LONGEST_SEC * 1_000
const LONGEST = 8_192

const ALGORITHMS: Readonly<Record<string, readonly Algorithm[]>> = {
  rsa: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ec: ['ES256'],
  ed25519: ['EdDSA', 'Ed25519'],
}

/** For the discovery document. */
export const ASSERTION_ALGORITHMS: readonly string[] = Object.values(ALGORITHMS).flat()

/** A `private_key_jwt` assertion, not yet verified. */
export interface Assertion {
  /** The client that it names. */
  readonly clientId: string
  readonly jws: Jws
}

/** The names of this server (RFC 7523 §3, RFC 9126 §2). */
export interface AssertionAudiences {
  /** The issuer and its endpoints. */
  readonly own: readonly string[]
  /** The issuer, the token endpoint and the endpoint that was called. */
  readonly wanted: readonly string[]
}

/** Takes an assertion apart. Undefined if it is none, or names no client. */
export function readAssertion(text: string): Assertion | undefined {
  const jws = text.length > LONGEST ? undefined : readJws(text)
  if (!jws || 'refused' in jws || typeof jws.claims.sub !== 'string') return undefined
  return { clientId: jws.claims.sub, jws }
}

/**
 * The `jti` of a valid assertion (RFC 7523 §3): signed by one of the client's keys, `iss` and `sub` the client, `aud` only
 * this server, by one or several of its URLs, `exp` at most ten minutes away, and a `jti`. Undefined if any of this fails.
 *
 * @param clientId as the directory has it
 * @param nowSec seconds since 1970
 */
export function verifiedJti(
  { jws }: Assertion,
  clientId: string,
  keys: readonly KeyObject[],
  audiences: AssertionAudiences,
  nowSec: number,
): string | undefined {
  const isSigned = keys.some((key) => {
    const algorithms = ALGORITHMS[key.asymmetricKeyType ?? ''] ?? []
    return isSignedWith(jws.token, jws.algorithm, { algorithms, key })
  })
  const { iss, sub, aud, jti, exp, nbf } = jws.claims
  if (!isSigned || iss !== clientId || sub !== clientId) return undefined
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  // Another server in the audience could replay the assertion here.
  const isOurs = (one: unknown) => audiences.own.some((own) => own === one)
  if (!named.every(isOurs) || !audiences.wanted.some((wanted) => named.includes(wanted))) return undefined
  if (!isTime(exp) || exp < nowSec - TOLERANCE_SEC || exp > nowSec + LONGEST_SEC + TOLERANCE_SEC) return undefined
  if (nbf !== undefined && (!isTime(nbf) || nbf > nowSec + TOLERANCE_SEC)) return undefined
  return typeof jti === 'string' && jti !== '' && jti.length <= 512 ? jti : undefined
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
