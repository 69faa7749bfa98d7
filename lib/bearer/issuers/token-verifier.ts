import type { JsonObject } from '../../http/json'
import type { Refusal } from '../refusal/refusal'
import type { Claims, SessionRules } from '../session/session'

/** A token whose claims are known to be its issuer's, and to hold now. */
export interface VerifiedToken {
  readonly token: string
  readonly issuer: string
  readonly claims: Claims
  /** The header of a signed token; undefined for an opaque one. */
  readonly header: JsonObject | undefined
  /** How its issuer's tokens are read. */
  readonly rules: SessionRules
}

/** A way of finding out what a token says, and whether that is true. */
export interface TokenVerifier {
  /** Refuses what does not hold; throws nothing. */
  verify(token: string): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal>
  /**
   * Resolves when tokens can be verified.
   *
   * @throws {Error} where that cannot be had; its `cause` says why
   */
  ready(): Promise<void>
}
