import { type Refusal, refuse } from '../refusal/refusal'
import type { VerifyKey } from './verify-key'

/** Where the keys of one issuer come from. */
export interface KeySource {
  /**
   * The key that a token's header names, now if it is at hand. Refuses with `unknown_key`, `algorithm` or
   * `keys_unavailable`; throws nothing.
   */
  find(kid: string | undefined, algorithm: string): VerifyKey | Refusal | Promise<VerifyKey | Refusal>
  /**
   * Resolves when keys are at hand.
   *
   * @throws {Error} where they cannot be had; its `cause` says why
   */
  ready(): Promise<void>
  /**
   * Fetches the keys anew, however fresh they are; nothing where they were given.
   *
   * @throws {Error} as {@link ready} does
   */
  reload(): Promise<void>
  /** The keys at hand. */
  all(): readonly VerifyKey[]
  /** The keys are always the same, and so is what `find()` says. */
  readonly isFixed?: true | undefined
  /** The issuer's name as its own metadata writes it; undefined while that is not known, or is not asked. */
  readonly issuer?: string | undefined
  /** The type that the issuer's metadata say all of its access tokens have. */
  readonly typ?: 'at+jwt' | undefined
}

/** The keys known at one time, by `kid`. */
export interface KeySet {
  readonly byKid: ReadonlyMap<string, VerifyKey>
  readonly all: readonly VerifyKey[]
}

/** The keys by `kid`. A `kid` that stands on two keys names neither, so both are left out; `twice` hears of it. */
export function keySet(keys: readonly VerifyKey[], twice: (kid: string) => void): KeySet {
  const byKid = new Map<string, VerifyKey>()
  const repeated = new Set<string>()
  for (const key of keys) {
    if (key.kid === undefined) continue
    if (byKid.has(key.kid)) repeated.add(key.kid)
    byKid.set(key.kid, key)
  }
  for (const kid of repeated) {
    byKid.delete(kid)
    twice(kid)
  }
  return { byKid, all: keys.filter(({ kid }) => kid === undefined || byKid.has(kid)) }
}

/**
 * The key for a token: by its `kid` where it has one and the keys have theirs, else the only one of its algorithm. Keys
 * are never tried in turn. A key configured without `kid` (a PEM, a secret) takes tokens with any `kid` or none.
 */
export function findKey(set: KeySet, kid: string | undefined, algorithm: string): VerifyKey | Refusal {
  const named = kid === undefined ? undefined : set.byKid.get(kid)
  if (named) return takes(named, algorithm) ? named : refuse('algorithm')
  const candidates = set.all.filter((key) => kid === undefined || key.kid === undefined)
  const fitting = candidates.filter((key) => takes(key, algorithm))
  const only = fitting[0]
  if (only && fitting.length === 1) return only
  return refuse(candidates.length > 0 && fitting.length === 0 ? 'algorithm' : 'unknown_key')
}

function takes({ algorithms }: VerifyKey, algorithm: string): boolean {
  return (algorithms as readonly string[]).includes(algorithm)
}

/** Keys that were given at startup. */
export function staticKeys(set: KeySet): KeySource {
  return {
    find: (kid, algorithm) => findKey(set, kid, algorithm),
    ready: () => Promise.resolve(),
    reload: () => Promise.resolve(),
    all: () => set.all,
    isFixed: true,
  }
}
