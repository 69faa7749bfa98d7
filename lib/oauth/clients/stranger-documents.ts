import type { Request } from 'express'
import type { Clock } from '../../http/clock'
import { type FetchFunction, FetchProblem } from '../../http/fetch/fetch-json'
import type { JsonObject } from '../../http/json'
import { OwnedRecords } from '../../http/owners'
import { Places } from '../../http/places'
import { clientNetwork } from '../../http/request/client-network'
import { OAuthError } from '../oauth-error'
import type { Records } from '../records/records'
import { limitStrangers } from '../records/strangers'
import { fetchDocument } from './public-fetch'
import { knownUrl } from '../../http/url'

/** Documents that are remembered. */
const MOST_DOCUMENTS = 1_000
/** Bounds of the fetches under way. */
const FETCHES = { places: 16, leavesRoom: true, mostWaiting: 64, longestWaitMs: 2_000 }
const DAY_MS = 24 * 60 * 60_000
const [LEAST_FRESH_MS, FRESH_MS, MOST_FRESH_MS] = [60_000, 300_000, DAY_MS]
/** After a fetch that failed, until the next one. */
export const AGAIN_MS = 30_000
/** How long the last good copy counts beyond its freshness, while the document cannot be fetched (RFC 9111 §4.2.4). */
const STALE_MS = DAY_MS
const LIMITS = { name: 'document', perAddress: 60, refusal: 'Too many apps have been looked up.' }

/** A document as last read. */
interface Known {
  /** What was read from it, or why there is nothing. */
  readonly value: unknown
  readonly triedAtMs: number
  /** Nothing is fetched until then. */
  readonly untilMs: number
  /** The value counts until then. */
  readonly goodUntilMs: number
}

/**
 * Documents at addresses that strangers gave: see {@link fetchDocument}. Each process keeps one for as long as its
 * `Cache-Control` says, a minute to a day; five minutes without one. It is fetched once for all who wait for it. While it
 * cannot be fetched, the last good copy counts for a day.
 */
export class StrangerDocuments {
  /** By kind and URL. The owner is the document's host. */
  readonly #known = new OwnedRecords<Known>(MOST_DOCUMENTS)
  readonly #fetches: Places

  constructor(
    private readonly fetch: FetchFunction | undefined,
    private readonly records: Records,
    private readonly clock: Clock,
  ) {
    this.#fetches = new Places(FETCHES, clock)
  }

  /**
   * What `read` finds in the document. An OAuthError of `read` is kept and thrown; a FetchProblem says that this is not the
   * document.
   *
   * @param kind what `read` returns: `app`, `keys`
   * @param mostAgeMs an older copy is fetched again, though it is fresh
   * @throws {OAuthError} 503 temporarily_unavailable if it cannot be fetched and there is no good copy; 429 if too
   *   many are being fetched
   */
  async find<T>(
    kind: string,
    url: string,
    req: Request,
    read: (body: JsonObject) => Promise<T> | T,
    mostAgeMs = Infinity,
  ): Promise<T> {
    const name = `${kind} ${url}`
    const network = clientNetwork(req)
    const fetched = async () => {
      if (!this.#fetches.has(name)) await limitStrangers(this.records, req, LIMITS)
      const load = () => this.#load(name, url, network, read)
      const known = this.#fresh(name, mostAgeMs) ?? (await this.#fetches.run(network, load, name))
      if (known) return known
      throw new OAuthError('temporarily_unavailable', LIMITS.refusal, 429, { 'Retry-After': '5' })
    }
    const orGood = (err: unknown) => {
      const good = err instanceof OAuthError ? this.#good(name) : undefined
      if (good) return good
      throw err
    }
    const known = this.#fresh(name, mostAgeMs) ?? (await fetched().catch(orGood))
    if (known.value instanceof OAuthError) throw known.value
    return known.value as T
  }

  #fresh(name: string, mostAgeMs: number): Known | undefined {
    const known = this.#known.get(name)
    const now = this.clock.now()
    return known && known.untilMs > now && now - known.triedAtMs < mostAgeMs ? known : undefined
  }

  #good(name: string): Known | undefined {
    const known = this.#known.get(name)
    return known && known.goodUntilMs > this.clock.now() ? known : undefined
  }

  async #load<T>(
    name: string,
    url: string,
    network: string,
    read: (body: JsonObject) => Promise<T> | T,
  ): Promise<Known> {
    try {
      const { body, freshMs = FRESH_MS } = await fetchDocument(url, network, this.clock, this.fetch)
      const forMs = Math.min(MOST_FRESH_MS, Math.max(LEAST_FRESH_MS, freshMs))
      return this.#keep(name, url, await read(body), forMs, this.clock.now() + forMs + STALE_MS)
    } catch (err) {
      if (err instanceof OAuthError) return this.#keep(name, url, err, AGAIN_MS)
      if (!(err instanceof FetchProblem)) throw err
      const good = this.#good(name)
      return this.#keep(name, url, good ? good.value : awayError(err), AGAIN_MS, good?.goodUntilMs)
    }
  }

  #keep(name: string, url: string, value: unknown, forMs: number, goodUntilMs = 0): Known {
    const now = this.clock.now()
    const known = { value, triedAtMs: now, untilMs: now + forMs, goodUntilMs }
    this.#known.set(name, known, knownUrl(url).host)
    return known
  }
}

/** No `invalid_client`: upon that, MCP clients throw away what they know of the server and their tokens. */
function awayError({ message, cause }: FetchProblem): OAuthError {
  const headers = { 'Retry-After': String(AGAIN_MS / 1_000) }
  const text = 'A document of this app cannot be fetched just now.'
  const reason = cause instanceof Error ? `${message}: ${cause.message}` : message
  return new OAuthError('temporarily_unavailable', text, 503, headers).because(reason)
}
