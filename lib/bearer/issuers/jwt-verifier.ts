import { type ClaimPolicy, claimProblem } from '../claims/claims'
import { type Jws, readJws } from '../credentials/jws'
import type { KeySource } from '../keys/key-source'
import { type Refusal, isRefusal, refuse } from '../refusal/refusal'
import { isSignedWith } from '../keys/signature'
import type { VerifiedCache } from '../keys/verified-cache'
import type { VerifiedToken, TokenVerifier } from './token-verifier'
import type { VerifyKey } from '../keys/verify-key'

/** An issuer whose tokens are accepted: its keys, and what its tokens must say. */
export interface TrustedIssuer {
  readonly keys: KeySource
  readonly policy: ClaimPolicy
}

/** The issuers by name. A name is found with a slash at its end or without; the claim itself must then be equal. */
export type TrustedIssuers = ReadonlyMap<string, TrustedIssuer>

/** The name that {@link TrustedIssuers} has an issuer under. */
export function issuerName(iss: string): string {
  return iss.replace(/\/$/, '')
}

/**
 * Checks signed JWTs: the shape, which issuer it says it is from, that issuer's key, the signature, then every claim. A
 * token never meets another issuer's key. That a signature held may be known from before; the key is looked up and the
 * claims are checked each time.
 *
 * @param nowSec tells the time, in seconds since 1970, when the claims are checked
 */
export function jwtVerifier(issuers: TrustedIssuers, cache: VerifiedCache, nowSec: () => number): TokenVerifier {
  return { verify, ready }

  function verify(token: string): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal> {
    const known = cache.get(token)
    const jws = known?.jws ?? readJws(token)
    if (isRefusal(jws)) return jws
    const { iss } = jws.claims
    const issuer = typeof iss === 'string' ? issuers.get(issuerName(iss)) : undefined
    if (!issuer) return refuse('issuer')
    const key = issuer.keys.find(jws.kid, jws.algorithm)
    if (key instanceof Promise) return key.then((found) => check(jws, found, known?.key, issuer))
    return check(jws, key, known?.key, issuer)
  }

  function check(
    jws: Jws,
    key: VerifyKey | Refusal,
    verifiedWith: VerifyKey | undefined,
    { keys, policy }: TrustedIssuer,
  ): VerifiedToken | Refusal {
    if (isRefusal(key)) return key
    if (key !== verifiedWith && !isSignedWith(jws.token, key)) return refuse('signature')
    if (keys.typ && jws.type !== keys.typ) return refuse('token_type')
    const problem = claimProblem(jws, policy, keys.issuer ?? policy.issuer, nowSec())
    if (problem) return refuse(problem)
    if (key !== verifiedWith) cache.set(jws, key)
    return { token: jws.token, issuer: jws.claims.iss as string, claims: jws.claims }
  }

  async function ready(): Promise<void> {
    for (const { keys } of issuers.values()) await keys.ready()
  }
}
