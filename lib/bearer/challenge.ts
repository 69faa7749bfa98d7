import type { Denial, DenialHeaders } from '../errors'
import { optionError } from '../http/help'
import { shown } from '../http/options'
import { ASYMMETRIC } from './keys/algorithm'
import type { Refusal } from './refusal/refusal'
import { isScope } from './session/scope'

/** Parts of a challenge that do not depend on the reason. */
export interface ChallengeOptions {
  /** RFC 9110 §11.5. */
  readonly realm: string | undefined
  /** Address of the protected resource's metadata (RFC 9728 §5.1). */
  readonly resourceMetadata: string | undefined
  /** Whether tokens bound to a key are accepted (RFC 9449). Default: they are refused. */
  readonly dpop?: 'accepted' | 'required' | undefined
}

/** Algorithms that a proof may be signed with (RFC 9449 §5.1). */
const PROOF_ALGS = ASYMMETRIC.join(' ')

type Params = Readonly<Record<string, string | undefined>>

/** Response to a refusal: status, challenge (RFC 6750 §3) and a message that reveals nothing of the token. */
export function denialOf(refusal: Refusal, options: ChallengeOptions): Denial {
  const { refused: reason, cause } = refusal
  const rest = cause === undefined ? { reason } : { reason, cause }
  switch (reason) {
    case 'no_token': // RFC 6750 §3.1: no error code where the request brings no credentials
      return {
        status: 401,
        code: 'unauthorized',
        message: 'An access token is required',
        headers: challenge(options, { scope: scopeParam(refusal) }, options.dpop === 'required' ? 'DPoP' : 'Bearer'),
        ...rest,
      }
    case 'malformed_credentials':
      return denial(400, 'invalid_request', 'The access token is not written as the Bearer scheme has it')
    case 'several_tokens':
      return denial(400, 'invalid_request', 'The request brings credentials more than once')
    case 'scope':
      return denial(403, 'insufficient_scope', 'The access token does not grant the scope needed', {
        scope: scopeParam(refusal),
      })
    case 'unauthenticated_session':
      return denial(403, 'insufficient_scope', 'A signed-in session is needed')
    case 'authentication': {
      // RFC 9470 §3
      const { acrValues = [], maxAgeSec } = refusal.authentication ?? {}
      return denial(401, 'insufficient_user_authentication', 'A more recent or a stronger login is needed', {
        acr_values: acrValues.length > 0 ? acrValues.join(' ') : undefined,
        max_age: maxAgeSec?.toString(),
      })
    }
    case 'keys_unavailable':
    case 'introspection_unavailable':
    case 'verify_unavailable':
    case 'revocation_unavailable':
    case 'dpop_unavailable':
      return {
        status: 503,
        code: 'unavailable',
        message: 'The access token cannot be checked at the moment',
        headers: { 'Retry-After': String(refusal.retryAfterSec ?? 1) },
        ...rest,
      }
    case 'dpop_proof':
    case 'dpop_replay':
      return denial(401, 'invalid_dpop_proof', 'The DPoP proof is not valid for this request')
    case 'dpop_nonce': {
      const asked = denial(401, 'use_dpop_nonce', 'The DPoP proof must bear the nonce that comes with this answer')
      return { ...asked, headers: { ...asked.headers, ...nonceFields(refusal.nonce as string) } }
    }
    case 'dpop_required':
      return denial(401, 'invalid_token', 'An access token bound to a key is required')
    case 'expired':
      return denial(401, 'invalid_token', 'The access token has expired')
    default:
      return denial(401, 'invalid_token', 'The access token is not valid')
  }

  function denial(status: 400 | 401 | 403, error: string, message: string, more: Params = {}): Denial {
    const params = { error, error_description: message, ...more }
    return { status, code: error, message, headers: challenge(options, params, refusal.scheme ?? 'Bearer'), ...rest }
  }
}

/** Value of `scope`; undefined if there is none, or if a role has characters that are not allowed there. */
function scopeParam({ scope = [] }: Refusal): string | undefined {
  return scope.length > 0 && scope.every(isScope) ? scope.join(' ') : undefined
}

/** Header fields with the nonce for the next proof; the response must not be cached (RFC 9449 §8.2). */
export function nonceFields(nonce: string): DenialHeaders {
  return { 'DPoP-Nonce': nonce, 'Cache-Control': 'no-store' }
}

/** @throws {TypeError} naming the option, unless it is a list of classes of a login (`acr`), each without a space */
export function checkAcrValues(option: string, values: unknown): asserts values is readonly string[] {
  if (Array.isArray(values) && values.every((one) => isChallengeText(one) && /^[^ ]+$/.test(one))) return
  throw optionError(`${option} must be a list of texts without spaces; received ${shown(values)}`)
}

/** Whether a text may be the value of an attribute (RFC 6750 §3). */
export function isChallengeText(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(value)
}

function challenge(
  { realm, resourceMetadata, dpop }: ChallengeOptions,
  params: Params,
  scheme: 'Bearer' | 'DPoP',
): { 'WWW-Authenticate': string } {
  const algs = scheme === 'DPoP' ? PROOF_ALGS : undefined
  const all = { realm, ...params, resource_metadata: resourceMetadata, algs }
  const said = Object.entries(all).filter(([, value]) => value !== undefined)
  const text = [scheme, said.map(([name, value]) => `${name}="${value}"`).join(', ')].join(' ').trimEnd()
  // RFC 9449 §7.1: a client that has used neither scheme is told of both.
  const other = params.error === undefined && scheme === 'Bearer' && dpop ? `, DPoP algs="${PROOF_ALGS}"` : ''
  return { 'WWW-Authenticate': text + other }
}
