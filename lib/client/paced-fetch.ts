import { optionError } from '../http/help'
import { type ClientClock, systemClock } from './clock'
import { type Outcome, Pacer, type Passage } from './pacer'
import { isCached, processingMs, retryAfterMs, toldWindows } from './response-fields'

/** `fetch`, as browsers and Node have it. */
export type Fetch = typeof globalThis.fetch

/** Options of `pacedFetch()`. */
export interface PacedFetchOptions {
  /** What sends the requests. Default: the global `fetch`. */
  readonly fetch?: Fetch | undefined
  /** Requests in flight at once, at most: 1 to 1,000. Default 8. */
  readonly concurrency?: number | undefined
  /** How often a request that was answered 429 or 503 is sent again, at most: 0 to 100. Default 3. */
  readonly retries?: number | undefined
  /**
   * How long a request waits in all, for time that is left and to be sent again; milliseconds, 0 to 86,400,000. A longer
   * wait is not begun: the request is sent, and its 429 or 503 is returned. Default 120,000.
   */
  readonly maxWaitMs?: number | undefined
  /** Told of each request that was refused and will be sent again. What it throws, or rejects with, rejects the request. */
  readonly onRetry?: ((retry: Retry) => void) | undefined
  /** For tests. */
  readonly clock?: ClientClock | undefined
}

/** A request that will be sent again. */
export interface Retry {
  readonly url: string
  /** 429 or 503. */
  readonly status: number
  /** In how many milliseconds. */
  readonly waitMs: number
  /** 1 for the first. */
  readonly attempt: number
}

/** The first wait where a 503 does not say how long; doubled from there on. */
const BACK_OFF_MS = 500
/** The most that is added by chance to a pause that the service named, so that not everybody comes at once. */
const JITTER_MS = 50
/** Origins whose budgets are remembered. Those without a request under way make room, the one used longest ago first. */
const MOST_ORIGINS = 100
/** RFC 9110 §9.2.2. */
const IDEMPOTENT = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']

/**
 * A `fetch` for one user of an API behind `throttle()`. It reads `X-THROTTLE-*`, `X-PROCESSING-TIME` and, where the API
 * sends them (`headers: { rateLimit: true }`), the RateLimit fields, keeps the user's requests inside the processing
 * time that is left, and sends again what was answered 429 or 503, when `Retry-After` says.
 *
 * A 429 was not executed, so any method is sent again; a 503 may have been, so only methods that are idempotent
 * (RFC 9110 §9.2.2). `init.body` that is a stream is never sent again; a `Request` is, since its body is copied before
 * each time. Network errors are passed on. An aborted `signal` rejects also while the request waits.
 *
 * Nothing is learned of the budget from a cache (`Age` above 0), nor from another origin that a redirect led to, whose
 * response is returned as it is. A 429 of something beside the throttle, such as a counter, holds its own route only.
 *
 * @throws {RangeError} naming the option that is out of its range
 * @throws {TypeError} naming the option that is of another type or not known
 * @example
 * const fetch = pacedFetch()
 * const persons = await Promise.all(ids.map((id) => fetch(`https://api.example.org/platform/tree/persons/${id}`)))
 */
export function pacedFetch(options: PacedFetchOptions = {}): Fetch {
  const { send, concurrency, retries, maxWaitMs, onRetry, clock } = checked(options)
  const origins = new Map<string, Pacer>()

  return async (input, init) => {
    const { url, method, signal, again } = description(input, init)
    const origin = originOf(url)
    const pacer = origins.get(origin) ?? new Pacer(clock, concurrency)
    origins.delete(origin) // and to the end: the first is the one used longest ago
    origins.set(origin, pacer)
    if (origins.size > MOST_ORIGINS) forgetOne(origins)
    const route = `${method} ${url.split(/[?#]/, 1)[0]}`
    let mayWaitMs = maxWaitMs
    for (let attempt = 1; ; attempt++) {
      const cameAt = clock.now()
      const passage = await admission(pacer, route, mayWaitMs, signal)
      mayWaitMs -= passage.sentAt - cameAt
      let response: Response | undefined
      let isOwn = false
      try {
        response = await send(again && isRequest(input) ? input.clone() : input, init)
        isOwn = !response.url || originOf(response.url) === origin // without one: a mock's
      } finally {
        pacer.left(passage, response && isOwn ? outcome(response, clock) : undefined)
      }
      if (!isOwn || !again || attempt > retries || !repeatable(response.status, method)) return response
      const waitMs = pauseMs(response, attempt, clock)
      if (waitMs > mayWaitMs) return response
      mayWaitMs -= waitMs
      await (onRetry?.({ url, status: response.status, waitMs, attempt }) as unknown) // it may be async
      discard(response.body)
      await pause(waitMs, clock, signal)
    }
  }
}

/** What the loop above needs to know of the two arguments of `fetch`. */
function description(input: Parameters<Fetch>[0], init: Parameters<Fetch>[1]) {
  const request = isRequest(input) ? input : undefined
  return {
    url: request?.url ?? (input as string | URL).toString(),
    method: (init?.method ?? request?.method ?? 'GET').toUpperCase(),
    signal: init?.signal ?? request?.signal,
    again: !isStream(init?.body),
  }
}

/** A `Request` of any realm or package (undici, node-fetch, jsdom), of which there are as many classes. */
function isRequest(input: Parameters<Fetch>[0]): input is Request {
  const { url, method, clone } = (input ?? {}) as Partial<Request>
  return typeof url === 'string' && typeof method === 'string' && typeof clone === 'function'
}

/** A stream of the web or of Node, or an async iterable: it can be read once. */
function isStream(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  const { getReader, pipe } = body as { getReader?: unknown; pipe?: unknown }
  return typeof getReader === 'function' || typeof pipe === 'function' || Symbol.asyncIterator in body
}

/** Lets go of a body that nobody will read: a stream of the web, or of Node where `fetch` is node-fetch. */
function discard(body: unknown): void {
  const { cancel, destroy, on } = (body ?? {}) as Record<'cancel' | 'destroy' | 'on', unknown>
  // Not waited for: the body may be cut off, or belong to a mock whose cancellation never ends.
  if (typeof cancel === 'function')
    return void Promise.resolve(body)
      .then(cancel.call.bind(cancel))
      .catch(() => undefined)
  if (typeof on === 'function') Reflect.apply(on, body, ['error', () => undefined])
  if (typeof destroy === 'function') Reflect.apply(destroy, body, [])
}

/** Of a relative URL, as a browser takes one, the page's own. */
function originOf(url: string): string {
  const page = (globalThis as { location?: { href?: string } }).location?.href
  /* eslint-disable no-restricted-syntax -- the app's own URL, of whatever length */
  if (!URL.canParse(url, page)) return ''
  const { protocol, host } = new URL(url, page)
  /* eslint-enable no-restricted-syntax */
  return `${protocol}//${host}`
}

function forgetOne(origins: Map<string, Pacer>): void {
  for (const [origin, pacer] of origins) {
    if (pacer.isIdle) return void origins.delete(origin)
  }
}

function admission(
  pacer: Pacer,
  route: string,
  maxWaitMs: number,
  signal: AbortSignal | null | undefined,
): Promise<Passage> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal))
    const abort = () => {
      leave()
      reject(abortReason(signal))
    }
    let leave = () => {}
    signal?.addEventListener('abort', abort, { once: true })
    leave = pacer.enter(route, maxWaitMs, (passage) => {
      signal?.removeEventListener('abort', abort)
      resolve(passage)
    })
  })
}

/** The signals of older packages have no reason. */
function abortReason(signal: AbortSignal | null | undefined): Error {
  return (signal?.reason as Error | undefined) ?? new DOMException('This operation was aborted', 'AbortError')
}

/** Undefined where a cache answered, which knows nothing of the user's budget. */
function outcome({ status, headers }: Response, clock: ClientClock): Outcome | undefined {
  if (isCached(headers)) return undefined
  return {
    tookMs: processingMs(headers),
    windows: toldWindows(headers),
    refusedForMs: status === 429 ? (retryAfterMs(headers, clock.date()) ?? 1_000) : undefined,
  }
}

function repeatable(status: number, method: string): boolean {
  return status === 429 || (status === 503 && IDEMPOTENT.includes(method))
}

function pauseMs({ headers }: Response, attempt: number, clock: ClientClock): number {
  const named = retryAfterMs(headers, clock.date())
  if (named !== undefined) return named + Math.random() * JITTER_MS
  return BACK_OFF_MS * 2 ** (attempt - 1) * (0.5 + Math.random())
}

function pause(ms: number, clock: ClientClock, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal))
    const abort = () => {
      cancel()
      reject(abortReason(signal))
    }
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
    signal?.addEventListener('abort', abort, { once: true })
  })
}

function checked(options: PacedFetchOptions) {
  const names = ['fetch', 'concurrency', 'retries', 'maxWaitMs', 'onRetry', 'clock']
  if (typeof options !== 'object' || (options as object | null) === null) {
    throw optionError(
      `pacedFetch() takes an object of options: { ${names.join(', ')} }; received ${options === null ? 'null' : typeof options}`,
    )
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    throw optionError(`pacedFetch() has no option ${JSON.stringify(unknown)}; it has ${names.join(', ')}`)
  }
  for (const name of ['fetch', 'onRetry'] as const) {
    if (!['undefined', 'function'].includes(typeof options[name])) throw optionError(`${name} must be a function`)
  }
  return {
    send: options.fetch ?? ((...args: Parameters<Fetch>) => globalThis.fetch(...args)),
    concurrency: range('concurrency', options.concurrency, 8, 1, 1_000),
    retries: range('retries', options.retries, 3, 0, 100),
    maxWaitMs: range('maxWaitMs', options.maxWaitMs, 120_000, 0, 86_400_000),
    onRetry: options.onRetry,
    clock: options.clock ?? systemClock,
  }
}

function range(option: string, value: number | undefined, byDefault: number, least: number, most: number): number {
  if (value === undefined) return byDefault
  if (Number.isInteger(value) && value >= least && value <= most) return value
  throw optionError(`${option} must be a whole number from ${least} to ${most}; received ${String(value)}`, RangeError)
}
