import { hash } from 'node:crypto'
import type { Jws } from '../credentials/jws'
import type { VerifyKey } from './verify-key'

/** A token whose signature held, and the key it held with. */
interface Verified {
  readonly jws: Jws
  readonly key: VerifyKey
}

/** What is kept of it: not the token, whose name says as much in a tenth of the bytes. */
type Entry = Omit<Jws, 'token'> & { readonly key: VerifyKey }

/**
 * Remembers that signatures held, and nothing else: what depends on the time, the route or a revocation is decided
 * anew for every request. A token is known by the SHA-256 of all of it, so that a hit means the very same token; one
 * with another signature, be it as valid, is another. Bounded; the least recently used makes room.
 */
export class VerifiedCache {
  readonly #entries = new Map<string, Entry>()

  /** @param maxTokens how many tokens it holds; 0: none */
  constructor(readonly maxTokens: number) {}

  get size(): number {
    return this.#entries.size
  }

  /** What is known of a token; the caller sees to it that the key is still in use. */
  get(token: string): Verified | undefined {
    if (this.maxTokens === 0) return undefined
    const name = nameOf(token)
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    const { key, ...jws } = entry
    return { jws: { token, ...jws }, key }
  }

  set({ token, ...jws }: Jws, key: VerifyKey): void {
    if (this.maxTokens === 0) return
    if (this.#entries.size >= this.maxTokens) {
      const [oldest] = this.#entries.keys()
      this.#entries.delete(oldest as string)
    }
    this.#entries.set(nameOf(token), { ...jws, key })
  }

  /** Forgets all that was verified with keys no longer in use. */
  drop(keys: ReadonlySet<VerifyKey>): void {
    for (const [name, { key }] of this.#entries) if (keys.has(key)) this.#entries.delete(name)
  }
}

function nameOf(token: string): string {
  return hash('sha256', token, 'base64')
}
