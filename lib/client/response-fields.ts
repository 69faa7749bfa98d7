/** What a response says of one window that its request was charged to. */
export interface ToldWindow {
  /** Empty where only the `X-THROTTLE-*` fields speak: they name no window. */
  readonly name: string
  readonly limitMs: number
  readonly leftMs: number
  /** Milliseconds until the window ends, at most. */
  readonly endsInMs: number | undefined
  readonly windowMs: number | undefined
}

/**
 * Whether a cache answered, and not the service (RFC 9111 §4.2.3, §5.1): what such a response says of a budget is old, and
 * may be of another user. Caches that write `Age: 0` on each response have asked the service just now.
 */
export function isCached(headers: Headers): boolean {
  return (whole(headers.get('age')) ?? 0) > 0
}

/** What a response says of the time it took, in whole milliseconds. */
export function processingMs(headers: Headers): number | undefined {
  return whole(headers.get('x-processing-time'))
}

/**
 * The windows that a response tells of: all of them where it has the fields of draft-ietf-httpapi-ratelimit-headers-10
 * with milliseconds as their unit, else the one of `X-THROTTLE-*`, else none.
 */
export function toldWindows(headers: Headers): ToldWindow[] {
  const policies = new Map(items(headers.get('ratelimit-policy')).map((item) => [item.name, item.parameters]))
  const told: ToldWindow[] = []
  for (const { name, parameters } of items(headers.get('ratelimit'))) {
    const policy = policies.get(name)
    const [limitMs, leftMs] = [whole(policy?.get('q')), whole(parameters.get('r'))]
    if (policy?.get('qu') !== '"milliseconds"' || limitMs === undefined || leftMs === undefined) continue
    const [ends, length] = [whole(parameters.get('t')), whole(policy.get('w'))]
    told.push({ name, limitMs, leftMs, endsInMs: seconds(ends), windowMs: seconds(length) })
  }
  if (told.length > 0) return told
  const [limitMs, leftMs] = [whole(headers.get('x-throttle-window-size')), whole(headers.get('x-throttle-millis-left'))]
  if (limitMs === undefined || leftMs === undefined) return []
  return [{ name: '', limitMs, leftMs, endsInMs: undefined, windowMs: undefined }]
}

/**
 * Milliseconds to wait by `Retry-After` (RFC 9110 §10.2.3), whole seconds or a date; undefined where it says nothing
 * that can be understood.
 *
 * @param date now, in milliseconds since 1970
 */
export function retryAfterMs(headers: Headers, date: number): number | undefined {
  const field = headers.get('retry-after')
  if (field === null) return undefined
  const given = whole(field)
  if (given !== undefined) return given * 1_000
  const at = /^[A-Z][a-z]{2,8},? /.test(field) ? Date.parse(field) : NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - date)
}

/** More windows than any service has for one request. What a service sends must not fill the client's memory. */
const MOST_ITEMS = 8
const LONGEST_NAME = 128
/** A quoted string, a parameter's key, and its value, each read from where the one before ended. */
const STRING = /"((?:[^"\\]|\\["\\])*)"/y
const KEY = / *; *([a-z*][a-z0-9_.*-]*)/y
const VALUE = /=("(?:[^"\\]|\\["\\])*"|[^",;\s]+)/y
const COMMA = /[ \t]*,[ \t]*/y

/**
 * The items `"name";key=value;key="value"` of a list (RFC 9651 §3.1), read once from left to right. A field that is no such
 * list is ignored as a whole (§4.2).
 */
function items(field: string | null): { name: string; parameters: Map<string, string> }[] {
  const found: { name: string; parameters: Map<string, string> }[] = []
  if (field === null) return found
  let at = 0
  const next = (token: RegExp): RegExpExecArray | null => {
    token.lastIndex = at
    const match = token.exec(field)
    if (match) at = token.lastIndex
    return match
  }
  while (found.length < MOST_ITEMS) {
    const name = next(STRING)?.[1]
    if (name === undefined || name.length > LONGEST_NAME) return []
    const parameters = new Map<string, string>()
    for (let key = next(KEY); key; key = next(KEY)) parameters.set(key[1] as string, next(VALUE)?.[1] ?? '?1')
    found.push({ name, parameters })
    if (at === field.length) return found
    if (!next(COMMA)) return []
  }
  return found
}

function whole(text: string | null | undefined): number | undefined {
  return text != null && /^\d{1,12}$/.test(text.trim()) ? Number(text) : undefined
}

function seconds(given: number | undefined): number | undefined {
  return given === undefined ? undefined : given * 1_000
}
