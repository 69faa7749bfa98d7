import type { KeyObject, webcrypto } from 'node:crypto'
import type { JsonObject } from '../../http/json'

/** A public key of RFC 7517, as a JWK Set holds it: `{ kty: 'EC', crv: 'P-256', x, y, kid: '2026-11' }`. */
export type Jwk = JsonObject & { readonly kty: string }

/** A public key: a KeyObject, a PEM (of a key or a certificate), or a JWK, also as `node:crypto` or jose exports it. */
export type KeyMaterial = KeyObject | string | Jwk | Pick<webcrypto.JsonWebKey, 'kty'>

/** What a token says beside its `kid`: whose it is, and how it is signed. */
export interface KeyAbout {
  /** The issuer; for one with tenants, that of the tenant: `https://login.example.org/acme`. */
  readonly issuer: string
  /** Undefined for an issuer without tenants. */
  readonly tenant: string | undefined
  readonly algorithm: string
}

/** Function that finds the key of a `kid`; undefined if there is none. */
export type FindKey = (
  kid: string | undefined,
  about: KeyAbout,
) => KeyMaterial | undefined | Promise<KeyMaterial | undefined>

/** A shared secret. */
export type Secret = KeyObject | Uint8Array | string

/**
 * Source of the issuer's keys: one of these options. Default: the issuer's metadata. Only `secret` and `jwksUri` can be
 * combined, for an issuer that changes from a shared secret to key pairs.
 */
export interface KeyOptions {
  /** The issuer's only key. */
  readonly key?: KeyMaterial | undefined
  /**
   * The issuer's keys. A token names its key by `kid`; without one, at most five keys are tried. A function finds the key
   * of a `kid`, at once or later, and is asked again after an hour: `async (kid, { issuer, algorithm }) => 'PEM or JWK'`.
   * With `tenants` it must look at the second argument's `tenant`: each tenant has keys of its own.
   */
  readonly keys?: readonly KeyMaterial[] | FindKey | undefined
  /**
   * A secret shared with the issuer, for HS256, HS384 or HS512; at least as long as the hash. A text is UTF-8. A list, for
   * the time in which it is changed: `[process.env.SECRET, process.env.SECRET_BEFORE]`; one of them may be undefined. An unset
   * variable alone counts as left out: the keys are then looked for in the issuer's metadata.
   */
  readonly secret?: Secret | readonly (Secret | undefined)[] | undefined
  /**
   * The address of the issuer's JWK Set: https, or http on this machine. With `secret`, it verifies the issuer's other
   * tokens, and the set may be empty.
   */
  readonly jwksUri?: string | undefined
}
