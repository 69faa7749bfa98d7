import type { Clock } from '../clock'
import { type JsonObject, isJsonObject } from '../json'
import { within } from '../deadline'

/**
 * A function that fetches documents: Node's own `fetch`, that of undici or node-fetch, or the app's. It takes less and
 * returns less than Node's, so that the types of each of these fit.
 */
export type FetchFunction = (
  url: string,
  init: {
    /** Default GET. */
    readonly method?: 'POST'
    readonly headers: Record<string, string>
    readonly body?: string
    readonly redirect: 'manual'
    /** Aborted after the deadline. */
    readonly signal: AbortSignal
  },
) => Promise<{
  readonly status: number
  readonly headers: {
    /** Value of a header, or null. */
    get(name: string): string | null
  }
  /** A stream of bytes that can be iterated over. */
  readonly body: object | null
}>

type FetchInit = Parameters<FetchFunction>[1]
type FetchedResponse = Awaited<ReturnType<FetchFunction>>

/** Bounds of one fetch. */
export interface FetchLimits {
  readonly clock: Clock
  /** For the whole fetch, in milliseconds. */
  readonly timeoutMs: number
  /** The largest body taken, in bytes. */
  readonly maxBytes: number
  /** Default: Node's own. */
  readonly fetch?: FetchFunction | undefined
}

/** A document could not be fetched. `status` is set if the server answered. */
export class FetchProblem extends Error {
  constructor(
    message: string,
    readonly status?: number,
    cause?: unknown,
  ) {
    super(message, { cause })
  }
}

/** A document and its freshness lifetime in milliseconds; undefined if the server does not state it. */
export interface Fetched {
  readonly body: JsonObject
  readonly freshMs: number | undefined
}

/**
 * Fetches a JSON object, within bounds of time and size. Follows no redirect: the address was configured, and only its
 * server is trusted.
 *
 * @throws {FetchProblem}
 */
export async function fetchJson(url: string, limits: FetchLimits, init: Partial<FetchInit> = {}): Promise<Fetched> {
  const { clock, timeoutMs } = limits
  try {
    return await within(timeoutMs, clock, (signal) => fetchWithin(url, limits, { ...init, signal }))
  } catch (cause) {
    if (cause instanceof FetchProblem) throw cause
    throw new FetchProblem(`${url} could not be fetched`, undefined, cause)
  }
}

async function fetchWithin(
  url: string,
  { clock, maxBytes, fetch = globalThis.fetch }: FetchLimits,
  init: Partial<FetchInit> & Pick<FetchInit, 'signal'>,
) {
  const headers = { accept: 'application/json', ...init.headers }
  const response = await fetch(url, { ...init, headers, redirect: 'manual' })
  if (response.status !== 200) {
    void discard(response)
    throw new FetchProblem(`${url} answered ${response.status}`, response.status)
  }
  const body = parsed(await readText(response, url, maxBytes))
  if (body === undefined) throw new FetchProblem(`${url} answered with something that is not JSON`, 200)
  if (!isJsonObject(body)) throw new FetchProblem(`${url} answered with something else than a JSON object`, 200)
  return { body, freshMs: freshness(response, clock) }
}

/** Frees the connection. Bodies of other libraries' `fetch` have no `cancel()`, and Node's may fail at it. */
async function discard({ body }: FetchedResponse): Promise<void> {
  try {
    await (body as ReadableStream | null)?.cancel()
  } catch {
    // nobody reads it
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, '')) // a byte order mark
  } catch {
    return undefined
  }
}

async function readText(response: FetchedResponse, url: string, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > maxBytes) throw new FetchProblem(`${url} is larger than ${maxBytes} bytes`, 200)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** What is left of `max-age` (RFC 9111 §5.2.2) after the time that the response spent in caches (§4.2.3). */
function freshness({ headers }: FetchedResponse, clock: Clock): number | undefined {
  const cacheControl = headers.get('cache-control')
  if (cacheControl === null) return undefined
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return 0
  const seconds = /\bmax-age="?(\d{1,9})/i.exec(cacheControl)?.[1]
  if (seconds === undefined) return undefined
  const sinceDate = clock.date() - Date.parse(headers.get('date') ?? '')
  const age = Number(/^\d{1,9}$/.exec(headers.get('age') ?? '')?.[0] ?? 0) * 1_000
  return Math.max(0, Number(seconds) * 1_000 - Math.max(age, sinceDate || 0))
}
