import type { ClaimPolicy } from '../claims/claims'
import type { Jws } from '../credentials/jws'
import type { KeySource } from '../keys/key-source'
import type { VerifyKey } from '../keys/verify-key'
import type { VerifiedToken } from './token-verifier'

/** A token taken apart, with what it is checked by. */
export interface PresentedToken {
  readonly jws: Jws
  readonly policy: ClaimPolicy
  readonly keys: KeySource
  /** Where its issuer has many. */
  readonly tenant: string | undefined
}

/** A token found good, and what that rests on. */
export interface KnownToken extends PresentedToken {
  readonly key: VerifyKey
  /** What the issuer's metadata said of its tokens. */
  readonly issuer: string | undefined
  readonly typ: string | undefined
  /** Its times hold from here on, in seconds since 1970, and end before `untilSec`. */
  readonly fromSec: number
  readonly untilSec: number
  readonly verified: VerifiedToken
}

/**
 * A token is looked up by its end, which is of its signature, and then compared: to hash all of it, at each request anew,
 * takes longer than all else that is done for a token that is known.
 */
const LOOKED_UP_BY = 43

/**
 * Remembers tokens that were found good, by all of their text: one with another signature, be it as valid, is another.
 * Bounded: where the younger half is full, it takes the place of the older one, which held what was used longest ago.
 */
export class KnownTokens {
  #recent = new Map<string, KnownToken>()
  #earlier = new Map<string, KnownToken>()
  /** What was looked up last: it is asked for twice in a request. */
  #latest: KnownToken | undefined

  /** @param maxTokens how many tokens it holds; 0: none */
  constructor(readonly maxTokens: number) {}

  get size(): number {
    return this.#recent.size + this.#earlier.size
  }

  /** What is known of a token; the caller sees to it that it still holds. */
  get(token: string): KnownToken | undefined {
    if (this.#latest?.jws.token === token) return this.#latest
    return (this.#latest = this.#find(token))
  }

  #find(token: string): KnownToken | undefined {
    const end = token.slice(-LOOKED_UP_BY)
    const recent = this.#recent.get(end)
    if (recent?.jws.token === token) return recent
    const known = this.#earlier.get(end)
    if (known?.jws.token !== token) return undefined
    this.add(known)
    return known
  }

  add(known: KnownToken): void {
    if (this.maxTokens === 0) return
    this.#latest = undefined
    const end = known.jws.token.slice(-LOOKED_UP_BY)
    this.#earlier.delete(end)
    if (this.#recent.size >= this.maxTokens / 2 && !this.#recent.has(end)) {
      this.#earlier = this.maxTokens === 1 ? new Map<string, KnownToken>() : this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(end, known)
  }
}
