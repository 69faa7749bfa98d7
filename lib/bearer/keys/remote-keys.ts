import { type Clock, NEVER, momentOf, sinceMs } from '../../http/clock'
import { RemediedProblem, fetchFailure } from '../../http/fetch/fetch-failure'
import { type FetchFunction, fetchJson } from '../../http/fetch/fetch-json'
import { type Refusal, isRefusal } from '../refusal/refusal'
import type { Algorithm } from './algorithm'
import { type Jwks, readJwks } from './jwks'
import { Holdings } from '../../http/owners'
import { type Places, THE_APP } from '../../http/places'
import { blockOf } from '../../http/request/network'
import { type ClientRequest, clientNetwork } from '../../http/request/client-network'
import { type FoundKeys, type KeyNames, type KeySource, OTHER_KEYS, findKeys, leftOutKeys } from './key-source'
import type { VerifyKey } from './verify-key'

/** Address of a JWK Set, and rules for keeping its keys. */
export interface RemoteKeysOptions {
  /** Returns the address. `afterFailure`: the last fetch failed, so the issuer may have moved the set. */
  readonly locate: (afterFailure: boolean) => string | Promise<string>
  readonly algorithms: readonly Algorithm[]
  readonly clock: Clock
  /** Time for which the last good set serves beyond its lifetime, while the issuer does not answer, in milliseconds. */
  readonly lastGoodMs: number
  /** Accepts a set with no key at all: the issuer has a shared secret as well. Default false. */
  readonly mayBeEmpty?: boolean | undefined
  /** Random number from 0 to 1, which spreads the retries of many processes. */
  readonly random?: (() => number) | undefined
  /** Bounds the fetches of several sets at once. Default: no bound. */
  readonly calls?: Places | undefined
  /** Default: Node's own. */
  readonly fetch?: FetchFunction | undefined
}

/** Lifetime of a set without `Cache-Control`, and the bounds for `max-age`. */
const LIFE_MS = { default: 600_000, least: 60_000, most: 3_600_000 }
/** Part of its lifetime after which a set is refreshed in the background. */
const REFRESH_AHEAD = 0.8
/** Shortest interval between fetches for tokens that no key fits. */
const OTHER_KEYS_MS = 2_000
/** Requests of one block of addresses that wait for such a fetch, at most; an attacker could pile them up. */
const MOST_WAITING = 500
const BACK_OFF_MS = { first: 1_000, most: 60_000 }
const LIMITS = { timeoutMs: 5_000, maxBytes: 2_048 * 1_024 }
/** RFC 7517 §8.5. Kubernetes answers 406 to anything else; some servers know `application/json` only. */
const HEADERS = { accept: 'application/jwk-set+json, application/json' }
/** In place of a request: the app itself asks, by `ready()` or `reload()`. */
const APP = Symbol('the app')
const TOO_MANY = new Error('more unknown keys are asked for than are looked up at once')
/** Remedy for an empty set, which Supabase publishes while it signs with a shared secret. */
const NO_KEYS = 'correct the address; an issuer that signs with a shared secret (HS256) needs the option secret'

/**
 * Keys of an issuer's JWK Set (RFC 7517 §5), kept during its outages. One fetch runs at a time:
 *
 * - in the background, before the end of the set's lifetime
 * - for a token that no key fits or has signed, because the key may be new, at most every 2 s; a bounded number of
 *   requests of each block waits for it, and others get `keys_unavailable`
 * - after a failure, at growing intervals with jitter
 *
 * While the issuer does not answer, the last good set serves for `lastGoodMs` more. Without one, the refusal is
 * `keys_unavailable`, never `unknown_key`.
 */
export function remoteKeys(options: RemoteKeysOptions): KeySource {
  const { locate, algorithms, clock, lastGoodMs, mayBeEmpty, random = Math.random, fetch, calls } = options
  let set: Jwks | undefined
  let fetchedAt = NEVER
  let lifeMs = 0
  let flight: Promise<void> | undefined
  let startedAt = NEVER
  let failures = 0
  let retryAt = -Infinity
  let problem: unknown
  /** Requests that wait for the next fetch, by block. */
  const waiting = new Holdings<object>()
  let pause: Promise<void> | undefined

  return { find, findOther, has, ready, reload, all: () => set?.all ?? [] }

  function find(token: KeyNames, from?: ClientRequest): FoundKeys | Promise<FoundKeys> {
    const current = serving()
    if (!current) return findLater(token, from)
    const found = findKeys(current, token)
    if (!isRefusal(found) || !(algorithms as readonly string[]).includes(token.algorithm)) return found
    return findLater(token, from)
  }

  async function findOther(
    token: KeyNames,
    tried: readonly VerifyKey[],
    from?: ClientRequest,
  ): Promise<FoundKeys | undefined> {
    const found = await findLater(token, from)
    // A flood of forged tokens gets 401, as each of them would: a key under a known name hardly ever changes.
    if (isRefusal(found) && found.cause === TOO_MANY && token.kid !== undefined) return undefined
    if (isRefusal(found) || found.some((key) => !tried.includes(key))) return found
    return failures > 0 && token.kid === undefined ? unavailable() : undefined // it may name a key that is not known yet
  }

  function has(key: VerifyKey): boolean {
    return serving()?.all.includes(key) ?? false
  }

  /** The set that requests are served from at once, if it may be; begins to fetch the next one in time. */
  function serving(): Jwks | undefined {
    const age = sinceMs(clock, fetchedAt)
    // After a failure, requests that the last good set can serve do not wait for the issuer.
    if (age > lifeMs && !(failures > 0 && isUsable())) return undefined
    if (age > lifeMs * REFRESH_AHEAD) void refresh()
    return set
  }

  /** Finds keys after the current fetch, or after the next one that may begin. */
  async function findLater(token: KeyNames, from: ClientRequest | undefined): Promise<FoundKeys> {
    const [block, place] = [blockOf(clientNetwork(from)), {}]
    if (waiting.of(block) >= MOST_WAITING) return { refused: 'keys_unavailable', retryAfterSec: 2, cause: TOO_MANY }
    waiting.add(block, place)
    if (!flight && failures === 0) await paused() // after a failure refresh() knows when to ask again
    await refresh(from)
    waiting.remove(block, place)
    return isUsable() ? settle(findKeys(set as Jwks, token)) : unavailable()
  }

  /** Resolves when tokens that no key fits may cause the next fetch. */
  function paused(): Promise<void> {
    const leftMs = OTHER_KEYS_MS - sinceMs(clock, startedAt)
    if (leftMs <= 0) return Promise.resolve()
    pause ??= new Promise<void>((resolve) => clock.after(leftMs, resolve)).then(() => (pause = undefined))
    return pause
  }

  async function ready(): Promise<void> {
    if (!isUsable() || isEmpty() || sinceMs(clock, fetchedAt) > lifeMs) await refresh(APP)
    if (!isUsable() || isEmpty()) throw notLoaded()
  }

  async function reload(): Promise<void> {
    await flight
    retryAt = -Infinity
    await refresh(APP)
    if (failures > 0 || isEmpty()) throw notLoaded()
  }

  function notLoaded(): Error {
    const cause = problem ?? noKey()
    const { why, remedy } = fetchFailure(cause, 'documents')
    return new Error(`the keys of the issuer cannot be loaded: ${why}: ${remedy}`, { cause })
  }

  /** Whether the set, once fetched, has no usable key where it needs one. */
  function isEmpty(): boolean {
    const { all, leftOut } = set as Jwks
    return all.length === 0 && !(mayBeEmpty && leftOut.length === 0)
  }

  function noKey(): Error {
    const { leftOut } = set as Jwks
    if (leftOut.length === 0) return new RemediedProblem('its JWK Set has no key', NO_KEYS)
    return new RemediedProblem(`its JWK Set has no key that can be used: ${leftOutKeys(leftOut)}`, OTHER_KEYS)
  }

  function isUsable(): boolean {
    return set !== undefined && sinceMs(clock, fetchedAt) <= lifeMs + lastGoodMs
  }

  /** Turns `unknown_key` into `keys_unavailable` while the issuer fails or publishes no key: the key may exist. */
  function settle(found: FoundKeys): FoundKeys {
    if (!isRefusal(found) || found.refused !== 'unknown_key') return found
    return failures > 0 || isEmpty() ? unavailable() : found
  }

  function unavailable(): Refusal {
    const retryAfterSec = Math.max(1, Math.ceil((retryAt - clock.now()) / 1_000))
    return { refused: 'keys_unavailable', retryAfterSec, cause: problem ?? (set ? noKey() : TOO_MANY) }
  }

  /** Resolves when the current or next allowed fetch ends; never rejects. @param from the request that needs it */
  function refresh(from?: ClientRequest | typeof APP): Promise<void> {
    if (!flight && clock.now() >= retryAt) {
      startedAt = momentOf(clock)
      flight = inTurn(from).finally(() => (flight = undefined))
    } else if (flight && calls) void inTurn(from)
    return flight ?? Promise.resolve()
  }

  /** Begins a fetch in its turn, or joins the one that waits: with a place no worse than this request's own. */
  function inTurn(from: ClientRequest | typeof APP | undefined): Promise<void> {
    return calls ? calls.run(from === APP ? THE_APP : clientNetwork(from), load) : load()
  }

  async function load(): Promise<void> {
    try {
      const url = await locate(failures > 0)
      const { body, freshMs } = await fetchJson(url, { ...LIMITS, clock, fetch }, { headers: HEADERS })
      set = readJwks(body, algorithms, set?.byJwk, url)
      fetchedAt = startedAt
      lifeMs = Math.min(Math.max(freshMs ?? LIFE_MS.default, LIFE_MS.least), LIFE_MS.most)
      failures = 0
      problem = undefined
    } catch (cause) {
      problem = cause
      const pause = Math.min(BACK_OFF_MS.first * 2 ** failures++, BACK_OFF_MS.most)
      retryAt = clock.now() + pause * (0.5 + random() / 2)
    }
  }
}
