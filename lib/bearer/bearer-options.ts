import type { KeyObject } from 'node:crypto'
import type { Clock } from '../http/clock'
import type { DenyOptions } from '../http/deny'
import type { Algorithm } from './keys/algorithm'
import type { VerifyToken } from './issuers/custom-verifier'
import type { Placement } from './credentials/credentials'
import type { DpopOptions } from './dpop/dpop-check'
import type { IntrospectionOptions } from './issuers/introspection'
import type { Revocations } from './revocation/revocations'
import type { ScopeNeeded } from './session/scope'
import type { Claims, SessionIdentity, UnauthenticatedMark } from './session/session'
import type { Jwk } from './keys/verify-key'

/** A public key: a KeyObject, a PEM (of a key or a certificate), or a JWK. */
export type KeyMaterial = KeyObject | string | Jwk

/** Where the issuer's keys come from: one of these, or none, and they are found through the issuer's metadata. */
export type KeyOptions =
  | { readonly key?: never; readonly keys?: never; readonly secret?: never; readonly jwksUri?: never }
  | {
      /** The issuer's only key. */
      readonly key: KeyMaterial
      readonly keys?: never
      readonly secret?: never
      readonly jwksUri?: never
    }
  | {
      /** The issuer's keys; tokens name theirs by `kid`, so more than one of an algorithm must be JWKs. */
      readonly keys: readonly KeyMaterial[]
      readonly key?: never
      readonly secret?: never
      readonly jwksUri?: never
    }
  | {
      /** A secret shared with the issuer, for HS256, HS384 or HS512; at least as long as the hash. A text is UTF-8. */
      readonly secret: KeyObject | Uint8Array | string
      readonly key?: never
      readonly keys?: never
      readonly jwksUri?: never
    }
  | {
      /** The address of the issuer's JWK Set: https, or http on this machine. */
      readonly jwksUri: string
      readonly key?: never
      readonly keys?: never
      readonly secret?: never
    }

/** Which tokens are accepted. */
export interface TokenOptions {
  /** The issuer, as its tokens' `iss` has it. Default: the environment's `ISSUER_BASE_URL`. */
  readonly issuer?: string | undefined
  /** Whom the tokens must be for: `aud` is, or holds, one of these. Default: the environment's `AUDIENCE`. */
  readonly audience?: string | readonly string[] | undefined
  /**
   * The algorithms accepted. Each key is pinned to one of them: the one its JWK names, else the first here that fits
   * it. Default: `['HS256']` with `secret`; else RS, PS and ES with 256, 384, 512, and EdDSA.
   */
  readonly algorithms?: readonly Algorithm[] | undefined
  /** How far the issuer's clock may be off: whole seconds, 0 to 300. Default 5. */
  readonly clockToleranceSec?: number | undefined
  /** How long ago a token may have been issued: whole seconds, 1 to 31,536,000. Default: until it expires. */
  readonly maxAgeSec?: number | undefined
  /**
   * How long fetched keys serve past their life while the issuer does not answer: whole seconds, 0 to 86,400. After
   * that, 503. Default 3,600.
   */
  readonly lastGoodSec?: number | undefined
  /**
   * The type of token, in its header: `'at+jwt'` takes access tokens only (RFC 9068 §4), as this package's own server
   * issues them; where its metadata are discovered, it says so itself. Default: `at+jwt`, `JWT` or none.
   */
  readonly typ?: 'at+jwt' | undefined
  /** Claims that must be there, whatever they say: `['jti']`. Default none beyond those checked anyway. */
  readonly requiredClaims?: readonly string[] | undefined
  /** Takes http addresses of other machines too, for a test network. Default false. */
  readonly allowHttp?: boolean | undefined
}

/** How opaque tokens are checked, in place of keys. */
export type OpaqueOptions =
  | {
      /** Asks the issuer about each token (RFC 7662). */
      readonly introspection: IntrospectionOptions
      readonly verify?: never
    }
  | {
      /** Asks a function of the app: the token's claims, or undefined for one that does not hold. Throws: 503. */
      readonly verify: VerifyToken
      readonly introspection?: never
    }

/** One issuer of several. */
export type IssuerOptions = TokenOptions & KeyOptions

type KeyOption = 'key' | 'keys' | 'secret' | 'jwksUri'

/** One issuer, or several: each with its own keys, algorithms and rules. */
export type IssuersOptions =
  | (IssuerOptions & { readonly issuers?: never; readonly introspection?: never; readonly verify?: never })
  | (TokenOptions & OpaqueOptions & { readonly [name in KeyOption | 'issuers']?: never })
  | ({
      /** The issuers whose tokens are accepted. No token is ever checked with another issuer's key. */
      readonly issuers: readonly IssuerOptions[]
      /** Whom the tokens of issuers without an `audience` of their own must be for. Default: `AUDIENCE`. */
      readonly audience?: string | readonly string[] | undefined
      readonly issuer?: never
      readonly introspection?: never
      readonly verify?: never
    } & { readonly [name in KeyOption]?: never })

/** Options of `requireBearer()`. */
export type BearerOptions = IssuersOptions &
  DenyOptions & {
    /** The scopes that every request needs: `'read write'` or a list for all, `{ any: [...] }` for one. Default none. */
    readonly scope?: ScopeNeeded | undefined
    /**
     * Says whether a token's claims are acceptable beyond what is checked anyway. False, or an error thrown: 401
     * `invalid_token`.
     */
    readonly checkClaims?: ((claims: Claims) => boolean) | undefined
    /** Lets in requests without a token, with `req.auth` undefined. A bad token is refused all the same. Default false. */
    readonly optional?: boolean | undefined
    /**
     * Remembers for how many tokens the signature held: `{ maxTokens }`, 1 to 1,000,000, default 5,000; false: none.
     * Time, audience, scope and the rest are checked for every request.
     */
    readonly cache?: { readonly maxTokens: number } | false | undefined
    /**
     * Takes tokens in other places too, for older clients: `['form']` in a form-encoded body (RFC 6750 §2.2), that a
     * parser before this has read, and not with GET; `['query']` as `?access_token=` (§2.3), where logs and browser
     * histories keep it; its answers get `Cache-Control: private`. One token in a request: with two, 400. Default none.
     */
    readonly tokenFrom?: readonly Placement[] | undefined
    /** Takes tokens bound to a key, with a proof (RFC 9449). Default false: such tokens are refused. */
    readonly dpop?: DpopOptions | boolean | undefined
    /** Knows which tokens are revoked: `redisRevocations(redis)`. Default: nothing is. */
    readonly revocation?: Revocations | undefined
    /** The `realm` of challenges. Default none. */
    readonly realm?: string | undefined
    /** The address of the protected resource's metadata, for challenges (RFC 9728 §5.1). Default none. */
    readonly resourceMetadata?: string | undefined
    /** The claim that marks a session with nobody signed in. Default `session_kind` with the value `unauthenticated`. */
    readonly unauthenticated?: UnauthenticatedMark | undefined
    /** Says whose session a token's claims describe, where the default does not fit. Throws to refuse the token. */
    readonly session?: ((claims: Claims) => SessionIdentity) | undefined
    /** For tests: `manualClock()`. Default: the machine's. */
    readonly clock?: Clock | undefined
  }
