import { invalidRequest } from '../oauth-error'
import { hashOf, sameSecret } from '../../http/secret'

/** What a code is bound to (RFC 7636 §4.3). */
export interface Challenge {
  readonly challenge: string
  readonly method: 'S256' | 'plain'
}

const SYNTAX = /^[A-Za-z0-9\-._~]{43,128}$/

/** What a client's registration says of PKCE. */
export interface PkcePolicy {
  readonly required: boolean
  readonly plain: boolean
}

/**
 * The challenge of an authorization request, if it has one.
 *
 * @throws {OAuthError} invalid_request where it is missing though required, malformed, or of a method not allowed; a
 * missing method means `plain` (RFC 7636 §4.3)
 */
export function challengeOf(
  challenge: string | undefined,
  method: string | undefined,
  policy: PkcePolicy,
): Challenge | undefined {
  if (challenge === undefined) {
    if (method !== undefined) throw invalidRequest('There is a code_challenge_method and no code_challenge.')
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
 * Whether the verifier is the one that the code was asked for with. A verifier where there was no challenge does not fit
 * either: somebody has stripped the challenge from the request (RFC 9700 §2.1.1).
 */
export function fits(verifier: string | undefined, challenge: Challenge | undefined): boolean {
  if (!challenge || verifier === undefined) return !challenge && verifier === undefined
  if (!SYNTAX.test(verifier)) return false
  return sameSecret(challenge.method === 'S256' ? hashOf(verifier) : verifier, challenge.challenge)
}
