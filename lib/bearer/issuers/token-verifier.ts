import type { JsonObject } from '../../http/json'
import type { Algorithm } from '../keys/algorithm'
import type { Refusal } from '../refusal/refusal'
import type { Claims, Session, SessionRules } from '../session/session'

/** A token whose claims are known to be its issuer's, and to hold now. */
export interface VerifiedToken {
  readonly token: string
  readonly issuer: string
  readonly claims: Claims
  /** The header of a signed token; undefined for an opaque one. */
  readonly header: JsonObject | undefined
  /** How its issuer's tokens are read. */
  readonly rules: SessionRules
  /** Whose session it is and that its scope is enough, where the claims alone decide that: made once for a token. */
  session?: Session
}

/** A way of finding out what a token says, and whether that is true. */
export interface TokenVerifier {
  /** Refuses what does not hold; throws nothing. */
  verify(token: string): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal>
  /** Whether this text was found to be a good token before: then it is well-formed, whatever else holds now. */
  readonly knows?: (text: string) => boolean
  /**
   * Resolves when tokens can be verified.
   *
   * @throws {Error} where that cannot be had; its `cause` says why
   */
  ready(): Promise<void>
  /**
   * Fetches the keys of all issuers anew.
   *
   * @throws {Error} as {@link ready} does
   */
  reload(): Promise<void>
  /** The keys at hand, by issuer. */
  keys(): readonly IssuerKey[]
}

/** A key that tokens are checked with. */
export interface IssuerKey {
  /** The issuer, as the options name it; where each of its tenants has keys of its own, the tenant's name of it. */
  readonly issuer: string
  /** Undefined for a key that was given without. */
  readonly kid: string | undefined
  /** The algorithms that it is for. */
  readonly algorithms: readonly Algorithm[]
}

/** Of a verifier that has no keys: it is ready at once, and there is nothing to fetch. */
export const WITHOUT_KEYS: Omit<TokenVerifier, 'verify'> = {
  ready: () => Promise.resolve(),
  reload: () => Promise.resolve(),
  keys: () => [],
}
