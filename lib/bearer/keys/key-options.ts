import type { KeyObject } from 'node:crypto'
import type { Jwk } from './verify-key'

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
