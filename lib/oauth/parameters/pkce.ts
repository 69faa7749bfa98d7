import { invalidRequest } from '../oauth-error'
import { hashOf, sameSecret } from '../../http/secret'

/** The PKCE challenge that a code is bound to (RFC 7636 §4.3). */
export interface Challenge {
  readonly challenge: string
  readonly method: 'S256' | 'plain'
}

const SYNTAX = /^[A-Za-z0-9\-._~]{43,128}$/

/** What a client's registration says about PKCE. */
export interface PkcePolicy {
  readonly required: boolean
  readonly plain: boolean
}

/**
 * The challenge of an authorization request, or undefined without one.
 *
 * @throws {OAuthError} invalid_request if a required challenge is missing, or it is malformed, or its method is not allowed;
 * a missing method means `plain` (RFC 7636 §4.3)
 */
export function challengeOf(
  challenge: string | undefined,
  method: string | undefined,
  policy: PkcePolicy,
): Challenge | undefined {
  if (challenge === undefined) {
    if (method !== undefined) throw invalidRequest('The code_challenge_method has no code_challenge.')
    if (policy.required) throw invalidRequest('This app must use PKCE: the code_challenge is missing (RFC 7636).')
    return undefined
  }
  if (!SYNTAX.test(challenge)) throw invalidRequest('The code_challenge must be 43 to 128 unreserved characters.')
  if (method === 'S256') return { challenge, method }
  if (method !== undefined && method !== 'plain') throw invalidRequest('The code_challenge_method must be S256.')
  if (!policy.plain) throw invalidRequest('The code_challenge_method must be S256; plain is not allowed for this app.')
  return { challenge, method: 'plain' }
}

/**
 * Whether the verifier matches the challenge. A verifier without a challenge is refused: an attacker may have removed the
 * challenge from the request (RFC 9700 §2.1.1).
 */
export function verifyPkce(verifier: string | undefined, challenge: Challenge | undefined): boolean {
  if (!challenge || verifier === undefined) return !challenge && verifier === undefined
  if (!SYNTAX.test(verifier)) return false
  return sameSecret(challenge.method === 'S256' ? hashOf(verifier) : verifier, challenge.challenge)
}
