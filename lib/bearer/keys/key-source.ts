import { shown } from '../../http/options'
import { type Refusal, refuse } from '../refusal/refusal'
import { type Algorithm, SYMMETRIC } from './algorithm'
import type { VerifyKey } from './verify-key'

/** Source of one issuer's keys. */
export interface KeySource {
  /**
   * The key that a token's header names, at once if it is loaded. Refuses with `unknown_key`, `algorithm` or
   * `keys_unavailable`; never throws.
   */
  find(kid: string | undefined, algorithm: string): VerifyKey | Refusal | Promise<VerifyKey | Refusal>
  /**
   * Resolves when keys are loaded.
   *
   * @throws {Error} if they cannot be loaded; its `cause` says why
   */
  ready(): Promise<void>
  /**
   * Fetches the keys again, even if they are fresh. Does nothing if they were given as options.
   *
   * @throws {Error} as {@link ready} does
   */
  reload(): Promise<void>
  /** Keys loaded so far. */
  all(): readonly VerifyKey[]
  /** True if the keys, and so the results of `find()`, never change. */
  readonly isFixed?: true | undefined
  /** Name of the issuer in its metadata; undefined without metadata, or before they are fetched. */
  readonly issuer?: string | undefined
  /** Type of all the issuer's access tokens, by its metadata. */
  readonly typ?: 'at+jwt' | undefined
}

/** A set of keys. */
export interface KeySet {
  /** All keys by `kid`; those without a `kid` by undefined. */
  readonly byKid: ReadonlyMap<string | undefined, readonly VerifyKey[]>
  /** Keys that a token can name. */
  readonly all: readonly VerifyKey[]
  /** Keys that no token can name, and keys that cannot be used. */
  readonly leftOut: readonly LeftOutKey[]
}

/** A key that is not used. */
export interface LeftOutKey {
  readonly kid: string | undefined
  /** Reason, as text for a message: `its use is not sig`. */
  readonly why: string
}

/**
 * Makes a key set. Several keys may have one `kid` if they are for different algorithms, or are the same key. Two keys
 * that a token cannot tell apart are left out.
 *
 * @param leftOut keys that are already left out
 */
export function keySet(keys: readonly VerifyKey[], leftOut: readonly LeftOutKey[] = []): KeySet {
  const byKid = new Map<string | undefined, VerifyKey[]>()
  for (const key of keys) byKid.set(key.kid, [...(byKid.get(key.kid) ?? []), key])
  const isUsable = (key: VerifyKey) => sharedAlgorithms(key, byKid).length < key.algorithms.length
  const ambiguous = keys
    .filter((key) => !isUsable(key))
    .map(({ kid, algorithms }) => {
      const named = kid === undefined ? 'has no kid either' : 'has its kid'
      return { kid, why: `another key for ${algorithms[0]} ${named}` }
    })
  return { byKid, all: keys.filter(isUsable), leftOut: [...leftOut, ...ambiguous] }
}

/** Algorithms of a key that another key with the same `kid` also has; two keys without `kid` count as the same. */
export function sharedAlgorithms(key: VerifyKey, byKid: KeySet['byKid']): readonly Algorithm[] {
  const others = (byKid.get(key.kid) ?? []).filter((other) => !isSameKey(other, key))
  return key.algorithms.filter((algorithm) => others.some((other) => takes(other, algorithm)))
}

function isSameKey(one: VerifyKey, other: VerifyKey): boolean {
  return one === other || (one.issuer === other.issuer && one.key.equals(other.key))
}

/**
 * The key of a token, by `kid` and algorithm. If no key has the token's `kid`, a key without `kid` (a PEM, a secret) is
 * used. A token without `kid` may use any key. If several different keys match, none is tried.
 */
export function findKey(set: KeySet, kid: string | undefined, algorithm: string): VerifyKey | Refusal {
  const { byKid } = set
  const named = kid === undefined ? [...byKid.values()].flat() : (byKid.get(kid) ?? byKid.get(undefined) ?? [])
  const [key, ...more] = named.filter((one) => takes(one, algorithm))
  if (key && more.every((other) => isSameKey(other, key))) return key
  const leftOut = kid === undefined ? undefined : set.leftOut.find((one) => one.kid === kid)
  if (leftOut) return { refused: 'unknown_key', cause: new Error(leftOutKeys([leftOut])) }
  return refuse(named.length > 0 && !key ? 'algorithm' : 'unknown_key')
}

/** Text for an error: the first keys that are left out, with their reasons, and the number of the others. */
export function leftOutKeys(keys: readonly LeftOutKey[]): string {
  const nameOf = ({ kid }: LeftOutKey) => (kid === undefined ? 'a key without kid' : `the key ${shown(kid)}`)
  const named = keys.slice(0, MOST_NAMED).map((key) => `${nameOf(key)} is left out: ${key.why}`)
  const more = keys.length - named.length
  return [...named, ...(more > 0 ? [`${more} more are left out`] : [])].join('; ')
}

const MOST_NAMED = 3

function takes({ algorithms }: VerifyKey, algorithm: string): boolean {
  return (algorithms as readonly string[]).includes(algorithm)
}

/** Key source of keys given as options. */
export function staticKeys(set: KeySet): KeySource {
  return {
    find: (kid, algorithm) => findKey(set, kid, algorithm),
    ready: () => Promise.resolve(),
    reload: () => Promise.resolve(),
    all: () => set.all,
    isFixed: true,
  }
}

/** A shared secret beside a JWK Set. Only the secret verifies HS256, HS384 and HS512, and it verifies nothing else. */
export function secretBeside(secret: KeySource, jwks: KeySource): KeySource {
  return {
    ...jwks,
    find: (kid, algorithm) => (isSymmetric(algorithm) ? secret : jwks).find(kid, algorithm),
    all: () => [...jwks.all(), ...secret.all()],
  }
}

function isSymmetric(algorithm: string): boolean {
  return (SYMMETRIC as readonly string[]).includes(algorithm)
}
