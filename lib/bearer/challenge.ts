import type { IncomingMessage } from 'node:http'
import type { Denial } from '../errors'
import { DPOP } from './credentials/credentials'
import { option } from '../http/option-table'
import { ASYMMETRIC } from './keys/algorithm'
import type { Reason, Refusal } from './refusal/refusal'
import { isScope } from './session/scope'

/** Parts of a challenge that do not depend on the reason. */
export interface ChallengeOptions {
  /** RFC 9110 §11.5. */
  readonly realm: string | undefined
  /** Address of the protected resource's metadata (RFC 9728 §5.1). */
  readonly resourceMetadata: string | undefined
  /** Scopes that every request needs. Default none. */
  readonly scope?: readonly string[] | undefined
  /** Whether tokens bound to a key are accepted (RFC 9449). Default: they are refused. */
  readonly dpop?: 'accepted' | 'required' | undefined
}

/** Algorithms that a proof may be signed with (RFC 9449 §5.1). */
const PROOF_ALGS = ASYMMETRIC.join(' ')

type Params = Readonly<Record<string, string | undefined>>
/** Status, error code (RFC 6750 §3.1) and a message that reveals nothing of the token. */
type Answer = readonly [status: Denial['status'], code: Denial['code'], message: string]

const INVALID: Answer = [401, 'invalid_token', 'The access token is not valid']
const UNAVAILABLE: Answer = [503, 'unavailable', 'The access token cannot be checked at the moment']
const BAD_PROOF: Answer = [401, 'invalid_dpop_proof', 'The DPoP proof is not valid for this request']

/** Answers to the reasons that differ from {@link INVALID}. */
const ANSWERS: { readonly [reason in Reason]?: Answer } = {
  no_token: [401, 'unauthorized', 'An access token is required'],
  malformed_credentials: [400, 'invalid_request', 'The access token is not written as the Bearer scheme has it'],
  several_tokens: [400, 'invalid_request', 'The request brings credentials more than once'],
  scope: [403, 'insufficient_scope', 'The access token does not grant the scope needed'],
  unauthenticated_session: [403, 'insufficient_scope', 'A signed-in session is needed'],
  authentication: [401, 'insufficient_user_authentication', 'A more recent or a stronger login is needed'], // RFC 9470 §3
  keys_unavailable: UNAVAILABLE,
  introspection_unavailable: UNAVAILABLE,
  verify_unavailable: UNAVAILABLE,
  tenants_unavailable: UNAVAILABLE,
  revocation_unavailable: UNAVAILABLE,
  dpop_unavailable: UNAVAILABLE,
  dpop_proof: BAD_PROOF,
  dpop_replay: BAD_PROOF,
  dpop_nonce: [401, 'use_dpop_nonce', 'The DPoP proof must bear the nonce that comes with this answer'],
  dpop_required: [401, 'invalid_token', 'An access token bound to a key is required'],
  expired: [401, 'invalid_token', 'The access token has expired'],
}

/**
 * Response to a refusal: status, challenge (RFC 6750 §3) and message.
 *
 * @param req the request, whose scheme is that of the challenge
 */
export function denialOf(refusal: Refusal, options: ChallengeOptions, req?: IncomingMessage): Denial {
  const { refused: reason, cause, nonce } = refusal
  const [status, code, message] = ANSWERS[reason] ?? INVALID
  const headers =
    status === 503
      ? { 'Retry-After': String(refusal.retryAfterSec ?? 1) }
      : { ...challenge(refusal, code, message, options, req), ...(nonce !== undefined && nonceFields(nonce)) }
  return { status, code, message, headers, reason, ...(cause !== undefined && { cause }) } as Denial
}

/** Header fields with the nonce for the next proof; the response must not be cached (RFC 9449 §8.2). */
export function nonceFields(nonce: string): Denial['headers'] {
  return { 'DPoP-Nonce': nonce, 'Cache-Control': 'no-store' }
}

/** Option `acr`: classes of a login, one or several. Default: any login. */
export const ACR_OPTION = option<string | readonly string[]>(
  'a text without spaces, or a list of them',
  (value) => [value].flat().every((one) => isChallengeText(one) && /^[^ ]+$/.test(one)),
  [],
)

/** Whether a text may be the value of an attribute (RFC 6750 §3). */
export function isChallengeText(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(value)
}

function challenge(
  refusal: Refusal,
  code: string,
  message: string,
  options: ChallengeOptions,
  req: IncomingMessage | undefined,
): Denial['headers'] {
  const { realm, resourceMetadata, dpop } = options
  const hasToken = refusal.refused !== 'no_token' // else there is no error code (RFC 6750 §3.1)
  const isDpop = dpop === 'required' || (dpop && DPOP.test(req?.headers.authorization ?? '')) // RFC 9449 §7.1
  const scheme = isDpop ? 'DPoP' : 'Bearer'
  const { acr = [], maxAgeSec } = refusal.authentication ?? {}
  const params: Params = {
    realm,
    ...(hasToken && { error: code, error_description: message }),
    scope: scopeNeeded(refusal, code, options),
    acr_values: acr.length > 0 ? acr.join(' ') : undefined,
    max_age: maxAgeSec?.toString(),
    resource_metadata: resourceMetadata,
    algs: scheme === 'DPoP' ? PROOF_ALGS : undefined,
  }
  const said = Object.entries(params).filter(([, value]) => value !== undefined)
  const text = [scheme, said.map(([name, value]) => `${name}="${value}"`).join(', ')].join(' ').trimEnd()
  // RFC 9449 §7.1: a client that has used neither scheme is told of both.
  return { 'WWW-Authenticate': !hasToken && scheme === 'Bearer' && dpop ? `${text}, DPoP algs="${PROOF_ALGS}"` : text }
}

/**
 * Scopes to ask for: those that the request lacks, or with a new token those that every request needs. A role with
 * characters that are not allowed there is left out, with all others.
 */
function scopeNeeded({ refused, scope }: Refusal, code: string, options: ChallengeOptions): string | undefined {
  const isAsked = refused === 'no_token' || code === 'invalid_token'
  const scopes = scope ?? (isAsked ? options.scope : undefined) ?? []
  return scopes.length > 0 && scopes.every(isScope) ? scopes.join(' ') : undefined
}
