import type { KeyObject, webcrypto } from 'node:crypto'

/**
 * A public key: a KeyObject, a PEM (of a key or a certificate), or a JWK of RFC 7517, also as `node:crypto` or jose exports
 * it: `{ kty: 'EC', crv: 'P-256', x, y, kid: '2026-11' }`.
 */
export type KeyMaterial =
  KeyObject | string | { readonly kty: string; readonly [member: string]: unknown } | Pick<webcrypto.JsonWebKey, 'kty'>

/** A public key of RFC 7517, as a JWK Set holds it: `{ kty: 'EC', crv: 'P-256', x, y, kid: '2026-11' }`. */
export type Jwk = { readonly kty: string; readonly [member: string]: unknown }

/**
 * Function that finds the key of a `kid`; undefined if there is none. Its second argument says whose token it is: for an
 * issuer with tenants `issuer` is that of the tenant, `https://login.example.org/acme`, and `tenant` its name.
 */
export type FindKey = (
  kid: string | undefined,
  about: { readonly issuer: string; readonly tenant: string | undefined; readonly algorithm: string },
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
  readonly secret?:
    KeyObject | Uint8Array | string | readonly (KeyObject | Uint8Array | string | undefined)[] | undefined
  /**
   * The address of the issuer's JWK Set: https, or http on this machine. With `secret`, it verifies the issuer's other
   * tokens, and the set may be empty.
   */
  readonly jwksUri?: string | undefined
}
