import type { Clock } from './clock'
import { type JsonObject, isJsonObject } from './json'

/** What documents are fetched with: Node's own `fetch`, or one that goes by a proxy. */
export type Fetch = typeof globalThis.fetch

/** Bounds of one fetch. */
export interface FetchLimits {
  readonly clock: Clock
  /** For the whole fetch, in milliseconds. */
  readonly timeoutMs: number
  /** The largest body taken, in bytes. */
  readonly maxBytes: number
  /** Default: Node's own. */
  readonly fetch?: Fetch | undefined
}

/** A document could not be fetched. `status` is set where a server answered. */
export class FetchProblem extends Error {
  constructor(
    message: string,
    readonly status?: number,
    cause?: unknown,
  ) {
    super(message, { cause })
  }
}

/** A document, and how long its server says it is fresh, in milliseconds; undefined where it does not say. */
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
export async function fetchJson(url: string, limits: FetchLimits, init: RequestInit = {}): Promise<Fetched> {
  const { clock, timeoutMs, maxBytes, fetch = globalThis.fetch } = limits
  const aborter = new AbortController()
  const cancel = clock.after(timeoutMs, () => aborter.abort(new Error(`no answer within ${timeoutMs} ms`)))
  try {
    const headers = { accept: 'application/json', ...(init.headers as Record<string, string>) }
    const response = await fetch(url, { ...init, headers, redirect: 'manual', signal: aborter.signal })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new FetchProblem(`${url} answered ${response.status}`, response.status)
    }
    const body: unknown = JSON.parse(await readText(response, maxBytes))
    if (!isJsonObject(body)) throw new FetchProblem(`${url} answered with something else than a JSON object`, 200)
    return { body, freshMs: freshness(response.headers.get('cache-control')) }
  } catch (cause) {
    if (cause instanceof FetchProblem) throw cause
    throw new FetchProblem(`${url} could not be fetched`, undefined, cause)
  } finally {
    cancel()
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > maxBytes) throw new FetchProblem(`${response.url} is larger than ${maxBytes} bytes`, 200)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** RFC 9111 §5.2.2. */
function freshness(cacheControl: string | null): number | undefined {
  if (cacheControl === null) return undefined
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return 0
  const seconds = /\bmax-age="?(\d{1,9})/i.exec(cacheControl)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1_000
}
