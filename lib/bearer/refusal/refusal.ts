import type { Reason } from '../../errors'

export type { Reason }

/** A refusal as a value; it becomes an error only at the edge. */
export interface Refusal {
  readonly refused: Reason
  /** Whole seconds until a retry makes sense, if a dependency is unavailable. */
  readonly retryAfterSec?: number
  /** Scopes that are needed; with `scope` and `no_token`. */
  readonly scope?: readonly string[]
  /** Login that is needed; with `authentication`. */
  readonly authentication?: { readonly acr: readonly string[]; readonly maxAgeSec: number | undefined }
  /** The nonce that proofs must bear; with `dpop_nonce`. */
  readonly nonce?: string | undefined
  /** Facts for the operator's warnings; never sent. */
  readonly about?: RefusedBy
  /** Error behind the refusal, for logs; never sent. */
  readonly cause?: unknown
}

/** Issuer of the refused token, and the expected claim. */
export interface RefusedBy {
  /** Name in the options; undefined if the token is of no trusted issuer. */
  readonly issuer?: string
  /** Name of the claim; with `claim_check`, `required_claim` and `client`. */
  readonly claim?: string
  readonly expected?: unknown
  readonly received?: unknown
}

/** A refusal with a reason alone. */
export function refuse(refused: Reason): Refusal {
  return { refused }
}

/** Whether a result is a refusal. */
export function isRefusal(value: object): value is Refusal {
  return 'refused' in value
}
