/**
 * Why a request is not let through, for logs and metrics; never sent. Stable: programs may compare them.
 *
 * - no token (401, bare challenge): `no_token`
 * - the request is wrong (400): `malformed_credentials`, `several_tokens`
 * - the token is not accepted (401 `invalid_token`): all others
 * - the token is good and its login is not (401 `insufficient_user_authentication`): `authentication`
 * - the token is good and not enough (403): `scope`, `unauthenticated_session`
 * - a dependency is unavailable (503): `keys_unavailable`, `introspection_unavailable`,
 *   `verify_unavailable`, `revocation_unavailable`, `dpop_unavailable`
 */
export type Reason =
  | 'no_token'
  | 'malformed_credentials'
  | 'several_tokens'
  | 'malformed_token'
  | 'critical_header'
  | 'token_type'
  | 'id_token'
  | 'algorithm'
  | 'unknown_key'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'expiry'
  | 'not_yet_valid'
  | 'issued_at'
  | 'too_old'
  | 'subject'
  | 'client'
  | 'token_id'
  | 'sender_constrained'
  | 'required_claim'
  | 'claim_check'
  | 'session_kind'
  | 'authentication'
  | 'scope'
  | 'unauthenticated_session'
  | 'inactive'
  | 'revoked'
  | 'dpop_required'
  | 'dpop_proof'
  | 'dpop_nonce'
  | 'dpop_binding'
  | 'dpop_replay'
  | 'keys_unavailable'
  | 'introspection_unavailable'
  | 'verify_unavailable'
  | 'revocation_unavailable'
  | 'dpop_unavailable'

/** A refusal as it travels inside: a value, made an error only at the edge. */
export interface Refusal {
  readonly refused: Reason
  /** Whole seconds after which it is worth asking again; if a dependency is unavailable. */
  readonly retryAfterSec?: number
  /** The scheme that the challenge is of. Default `Bearer`. */
  readonly scheme?: 'Bearer' | 'DPoP'
  /** The scopes that would have been enough; with `scope` and `no_token`. */
  readonly scope?: readonly string[]
  /** The login that would have been enough; with `authentication`. */
  readonly authentication?: { readonly acrValues: readonly string[]; readonly maxAgeSec: number | undefined }
  /** The nonce that proofs must bear; with `dpop_nonce`. */
  readonly nonce?: string | undefined
  /** What it was decided by, for the operator's warnings; never sent. */
  readonly about?: RefusedBy
  /** What lies behind it, for logs; never sent. */
  readonly cause?: unknown
}

/** The issuer that a refusal is about, and what its token should have said. */
export interface RefusedBy {
  /** As the options name it; undefined where the token is of none of those trusted. */
  readonly issuer?: string
  readonly expected?: unknown
  readonly received?: unknown
}

/** A refusal with nothing to say but its reason. */
export function refuse(refused: Reason): Refusal {
  return { refused }
}

/** Tells a refusal from what was asked for. */
export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}
