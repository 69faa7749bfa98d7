import type { Refusal } from '../refusal'
import type { Claims } from '../session/session'

/** A token whose claims are known to be its issuer's, and to hold now. */
export interface Proven {
  readonly token: string
  readonly issuer: string
  readonly claims: Claims
}

/** A way of finding out what a token says, and whether that is true. */
export interface TokenVerifier {
  /** Refuses what does not hold; throws nothing. */
  verify(token: string): Proven | Refusal | Promise<Proven | Refusal>
  /**
   * Resolves when tokens can be verified.
   *
   * @throws {Error} where that cannot be had; its `cause` says why
   */
  ready(): Promise<void>
}
