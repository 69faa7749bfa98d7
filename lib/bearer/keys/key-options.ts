import type { KeyObject } from 'node:crypto'
import type { Jwk } from './verify-key'

/** A public key: a KeyObject, a PEM (of a key or a certificate), or a JWK. */
export type KeyMaterial = KeyObject | string | Jwk

/**
 * Source of the issuer's keys: one of these options. Default: the issuer's metadata. Only `secret` and `jwksUri` can be
 * combined, for an issuer that changes from a shared secret to key pairs.
 */
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
      /** The issuer's keys. Two keys for one algorithm must be JWKs with a `kid`, which tokens name. */
      readonly keys: readonly KeyMaterial[]
      readonly key?: never
      readonly secret?: never
      readonly jwksUri?: never
    }
  | {
      /** A secret shared with the issuer, for HS256, HS384 or HS512; at least as long as the hash. A text is UTF-8. */
      readonly secret: KeyObject | Uint8Array | string
      /** The address of the JWK Set that verifies the issuer's other tokens. The set may be empty. Default none. */
      readonly jwksUri?: string
      readonly key?: never
      readonly keys?: never
    }
  | {
      /** The address of the issuer's JWK Set: https, or http on this machine. */
      readonly jwksUri: string
      readonly key?: never
      readonly keys?: never
      readonly secret?: never
    }
