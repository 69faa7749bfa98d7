import type { JsonObject } from '../../http/json'
import type { ClientRequest } from '../../http/request/client-network'
import type { Algorithm } from '../keys/algorithm'
import type { Refusal } from '../refusal/refusal'
import type { Claims, Session, SessionRules } from '../session/session'

/** A token whose claims are authentic and valid now. */
export interface VerifiedToken {
  readonly token: string
  readonly issuer: string
  readonly claims: Claims
  /** The header of a signed token; undefined for an opaque one. */
  readonly header: JsonObject | undefined
  /** When the token's times stop to hold, in seconds since 1970. */
  readonly untilSec: number
  /** Rules for reading the session of the issuer's tokens. */
  readonly rules: SessionRules
  /** Session with a sufficient scope, made once for a token; undefined if functions of the app take part. */
  session?: Session
}

/**
 * Verifies a token; never throws.
 *
 * @param from the request that the token came with, for fair shares of calls to an issuer; undefined if there is none
 * @param isPadded whether the parts of a JWT may end in `=`
 */
export type Verify = (
  token: string,
  from?: ClientRequest,
  isPadded?: boolean,
) => VerifiedToken | Refusal | Promise<VerifiedToken | Refusal>

/** Verifier of tokens: by keys, by introspection, or by a function of the app. */
export interface TokenVerifier extends KeyControl {
  readonly verify: Verify
}

/** Keys of the issuers, for an app's start and for its operator. */
export interface KeyControl {
  /**
   * Resolves when the issuers' keys are loaded; at once if they were given as options. Call it at startup. With a list
   * in `tenants`, it loads the keys of all; with a function, those of tenants whose tokens were received.
   *
   * @throws {Error} if keys cannot be loaded; the message says why, and requests try again
   */
  readonly ready: () => Promise<void>
  /**
   * Fetches the issuers' keys again, even if they are fresh: for a rotation that must take effect at once.
   *
   * @param issuer only this one's. With a function in `issuers` it is asked about the issuer again, too
   * @throws {Error} as `ready()` does; the previous keys remain valid
   */
  readonly reload: (issuer?: string) => Promise<void>
  /**
   * Keys loaded so far: `[{ issuer: 'https://ident.example.org', kid: '2026-11', algorithms: ['RS256'] }]`. Where each
   * tenant has its own, `issuer` is the tenant's.
   */
  readonly keys: () => readonly {
    /** Name of the issuer in the options; for keys of a tenant, the tenant's issuer. */
    readonly issuer: string
    /** Undefined for a key without `kid`. */
    readonly kid: string | undefined
    /** Algorithms of the key. */
    readonly algorithms: readonly Algorithm[]
  }[]
}
