import { shown } from '../../http/options'
import { type Refusal, refuse } from '../refusal/refusal'
import { type Algorithm, SYMMETRIC } from './algorithm'
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

/** The keys known at one time. */
export interface KeySet {
  /** All keys by `kid`; by undefined those without. */
  readonly byKid: ReadonlyMap<string | undefined, readonly VerifyKey[]>
  /** The keys that a token can name. */
  readonly all: readonly VerifyKey[]
  /** The keys that no token can name, and others that cannot be used. */
  readonly leftOut: readonly LeftOutKey[]
}

/** A key that is not used. */
export interface LeftOutKey {
  readonly kid: string | undefined
  /** `its use is not sig`. */
  readonly why: string
}

/**
 * The keys by `kid`. Several may have one `kid` if they are for different algorithms, or are the same key. Two that a
 * token cannot tell apart are left out.
 *
 * @param leftOut keys that are left out anyway
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

/** The algorithms of a key for which another key has the same `kid`, or has none either. */
export function sharedAlgorithms(key: VerifyKey, byKid: KeySet['byKid']): readonly Algorithm[] {
  const others = (byKid.get(key.kid) ?? []).filter((other) => !isSameKey(other, key))
  return key.algorithms.filter((algorithm) => others.some((other) => takes(other, algorithm)))
}

function isSameKey(one: VerifyKey, other: VerifyKey): boolean {
  return one === other || (one.issuer === other.issuer && one.key.equals(other.key))
}

/**
 * The key for a token: the one for its algorithm, of those with its `kid`, else of those without one, or of all where the
 * token has none. Keys are never tried in turn. A key without `kid` (a PEM, a secret) takes tokens with any `kid` or none.
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

/** The keys that are left out, with their reasons, as an error has them: a few, and how many more there are. */
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

/** A shared secret beside a JWK Set. The secret verifies HS256, HS384 or HS512 and nothing else; the set never does. */
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
