import { RemediedProblem } from '../../http/fetch/fetch-failure'
import { shown } from '../../http/options'
import type { ClientRequest } from '../../http/request/client-network'
import type { JwsHead } from '../credentials/jws'
import { type Refusal, refuse } from '../refusal/refusal'
import { isSymmetric } from './algorithm'
import type { VerifyKey } from './verify-key'

/** Keys that may have signed a token, at most {@link MOST_TRIED}; or `unknown_key`, `algorithm` or `keys_unavailable`. */
export type FoundKeys = readonly VerifyKey[] | Refusal

/** The parts of a token that its key is found by. */
export type KeyNames = Pick<JwsHead, 'algorithm' | 'kid' | 'header'>

/** Source of one issuer's keys. Finding keys never throws. `from`: the request that needs them, for fair shares of calls. */
export interface KeySource {
  /** Keys that may have signed a token, at once if they are loaded. */
  find(token: KeyNames, from?: ClientRequest): FoundKeys | Promise<FoundKeys>
  /** Those after one more fetch, for a token that none of `tried` has signed; undefined if there are no others. */
  findOther(
    token: KeyNames,
    tried: readonly VerifyKey[],
    from?: ClientRequest,
  ): Promise<FoundKeys | undefined> | undefined
  /** Whether a key that was found before is still one of the issuer's. */
  has(key: VerifyKey): boolean
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
  /** Name of the issuer in its metadata; undefined without metadata, or before they are fetched. */
  readonly issuer?: string | undefined
  /** Type of all the issuer's access tokens, by its metadata. */
  readonly typ?: 'at+jwt' | undefined
}

/** A set of keys. */
export interface KeySet {
  /** All keys, those that are checked fastest first. */
  readonly all: readonly VerifyKey[]
  /** Keys by `kid`; those without a `kid` by undefined. */
  readonly byKid: ReadonlyMap<string | undefined, readonly VerifyKey[]>
  /** Keys that cannot be used. */
  readonly leftOut: readonly LeftOutKey[]
}

/** A key that is not used. */
export interface LeftOutKey {
  readonly kid: string | undefined
  /** Reason, as text for a message: `its use is not sig`. */
  readonly why: string
}

/** Remedy where no key of an issuer can be used. */
export const OTHER_KEYS = 'have the issuer sign with another key, or set algorithms'

/** Most keys that are tried for one token: a check takes up to 0.2 ms, and anybody can send tokens. */
export const MOST_TRIED = 5

/** Makes a key set. */
export function keySet(keys: readonly VerifyKey[], leftOut: readonly LeftOutKey[] = []): KeySet {
  const all = keys.toSorted((one, other) => one.cost - other.cost)
  const byKid = new Map<string | undefined, VerifyKey[]>()
  for (const key of all) byKid.set(key.kid, [...(byKid.get(key.kid) ?? []), key])
  return { all, byKid, leftOut }
}

/**
 * The keys that may have signed a token: those with its `kid`, else those of its certificate (`x5t`), else all that fit
 * its algorithm, as `kid` is optional (RFC 7515 §4.1.4). A `kid` that no key has may be that of a key without one.
 */
export function findKeys({ all, byKid, leftOut }: KeySet, { kid, algorithm, header }: KeyNames): FoundKeys {
  const thumbprint = header['x5t#S256'] ?? header.x5t
  const certified = thumbprint === undefined ? [] : all.filter(({ thumbprints }) => thumbprints.includes(thumbprint))
  const unnamed = kid === undefined ? all : (byKid.get(undefined) ?? [])
  const named = (kid === undefined ? undefined : byKid.get(kid)) ?? (certified.length > 0 ? certified : unnamed)
  const fitting = named.filter(({ algorithms }) => (algorithms as readonly string[]).includes(algorithm))
  if (kid !== undefined && fitting.some((key) => key.kid === kid && !isSameKey(key, fitting[0] as VerifyKey))) {
    return leftOutRefusal({ kid, why: `another key for ${algorithm} has its kid` }) // RFC 7517 §4.5
  }
  if (fitting.length > 0) return fitting.slice(0, MOST_TRIED)
  const unusable = kid === undefined ? undefined : leftOut.find((one) => one.kid === kid)
  if (unusable) return leftOutRefusal(unusable)
  return refuse(named.length > 0 ? 'algorithm' : 'unknown_key')
}

function leftOutRefusal(key: LeftOutKey): Refusal {
  return { refused: 'unknown_key', cause: new RemediedProblem(leftOutKeys([key]), OTHER_KEYS) }
}

function isSameKey(one: VerifyKey, other: VerifyKey): boolean {
  return one === other || (one.issuer === other.issuer && one.key.equals(other.key))
}

/** Text for an error: the first keys that are left out, with their reasons, and the number of the others. */
export function leftOutKeys(keys: readonly LeftOutKey[]): string {
  const nameOf = ({ kid }: LeftOutKey) => (kid === undefined ? 'a key without kid' : `the key ${shown(kid)}`)
  const named = keys.slice(0, MOST_NAMED).map((key) => `${nameOf(key)} is left out: ${key.why}`)
  const more = keys.length - named.length
  return [...named, ...(more > 0 ? [`${more} more are left out`] : [])].join('; ')
}

const MOST_NAMED = 3

/** Key source of keys given as options. */
export function staticKeys(keys: readonly VerifyKey[]): KeySource {
  const set = keySet(keys)
  return {
    find: (token) => findKeys(set, token),
    findOther: () => undefined,
    has: () => true,
    ready: () => Promise.resolve(),
    reload: () => Promise.resolve(),
    all: () => set.all,
  }
}

/** Shared secrets beside a JWK Set. Only the secrets verify HS256, HS384 and HS512, and they verify nothing else. */
export function secretsBeside(secrets: KeySource, jwks: KeySource): KeySource {
  const sourceFor = ({ algorithm }: KeyNames) => (isSymmetric(algorithm) ? secrets : jwks)
  return {
    ...jwks,
    find: (token, from) => sourceFor(token).find(token, from),
    findOther: (token, tried, from) => sourceFor(token).findOther(token, tried, from),
    has: (key) => key.key.type === 'secret' || jwks.has(key),
    all: () => [...jwks.all(), ...secrets.all()],
  }
}
