import type { Jws } from '../credentials/jws'
import type { KeySource } from '../keys/key-source'
import type { VerifyKey } from '../keys/verify-key'
import type { TrustedIssuer } from './trusted-issuer'
import type { VerifiedToken } from './token-verifier'

/** A token taken apart, with its issuer and that issuer's keys. */
export interface PresentedToken {
  readonly jws: Jws
  readonly issuer: TrustedIssuer
  readonly keys: KeySource
  /** Tenant of the issuer; undefined if the issuer has none. */
  readonly tenant: string | undefined
}

/** A verified token, with the facts that its verification depends on. */
export interface KnownToken extends PresentedToken {
  readonly key: VerifyKey
  /** Name and token type in the issuer's metadata at that time. */
  readonly metadata: { readonly issuer: string | undefined; readonly typ: string | undefined }
  /** When the token's times begin to hold, in seconds since 1970. */
  readonly fromSec: number
  readonly verified: VerifiedToken
}

/**
 * Characters of the key of a token in the maps: its last ones, part of the signature. Hashing the whole token at each
 * request would take longer than the rest of the check of a known token.
 */
const LOOKED_UP_BY = 43

/** Memory of a token beside its text and its claims, in bytes. */
const TOKEN_BYTES = 1_600
/** Memory of a token's text and claims, for each of its characters: measured with tokens of 350 to 11,000. */
const CHARACTER_BYTES = 2.3

/**
 * Cache of verified tokens, compared by their whole text: a second valid signature of the same claims is another token.
 * Bounded: when the recent half is full, it replaces the earlier half, which holds the least recently used tokens.
 */
export class KnownTokens {
  #recent = new Map<string, KnownToken>()
  #earlier = new Map<string, KnownToken>()
  /** Memory of the recent half, in bytes. */
  #bytes = 0

  /** @param maxBytes size of the cache; 0: no cache */
  constructor(readonly maxBytes: number) {}

  /** Cached entry of a token; the caller checks its times and its key. */
  get(token: string): KnownToken | undefined {
    const end = token.slice(-LOOKED_UP_BY)
    const recent = this.#recent.get(end)
    if (recent?.jws.token === token) return recent
    const known = this.#earlier.get(end)
    if (known?.jws.token !== token) return undefined
    this.add(known)
    return known
  }

  add(known: KnownToken): void {
    const { token } = known.jws
    const end = token.slice(-LOOKED_UP_BY)
    this.#earlier.delete(end)
    if (!this.#recent.has(end)) {
      const bytes = TOKEN_BYTES + CHARACTER_BYTES * token.length
      if (bytes > this.maxBytes / 2) return
      if (this.#bytes + bytes > this.maxBytes / 2) {
        this.#earlier = this.#recent
        this.#recent = new Map()
        this.#bytes = 0
      }
      this.#bytes += bytes
    }
    this.#recent.set(end, known)
  }
}
