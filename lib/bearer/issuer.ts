import type { ClaimPolicy } from './claims'
import { claimProblem } from './claims'
import type { Jws } from './jws'
import type { KeySource } from './key-source'
import { type Refusal, isRefusal, refuse } from './refusal'
import { isSignedWith } from './signature'
import type { VerifyKey } from './verify-key'

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
 * Checks a token taken apart: which issuer it says it is from, that issuer's key, the signature, then every claim. A
 * token never meets another issuer's key.
 *
 * @param nowSec tells the time, in seconds since 1970, when the claims are checked
 * @returns undefined if it holds
 */
export function checkToken(
  jws: Jws,
  issuers: TrustedIssuers,
  nowSec: () => number,
): Refusal | undefined | Promise<Refusal | undefined> {
  const { iss } = jws.claims
  const issuer = typeof iss === 'string' ? issuers.get(issuerName(iss)) : undefined
  if (!issuer) return refuse('issuer')
  const key = issuer.keys.find(jws.kid, jws.algorithm)
  return key instanceof Promise ? key.then((found) => check(found, issuer)) : check(key, issuer)

  function check(found: VerifyKey | Refusal, { keys, policy }: TrustedIssuer): Refusal | undefined {
    if (isRefusal(found)) return found
    if (found.algorithm !== jws.algorithm || !isSignedWith(jws.token, found)) return refuse('signature')
    const named = keys.issuer === undefined ? policy : { ...policy, issuer: keys.issuer }
    const problem = claimProblem(jws, named, nowSec())
    return problem && refuse(problem)
  }
}
