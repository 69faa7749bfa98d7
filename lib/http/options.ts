import { inspect } from 'node:util'
import { migrationGuide, optionError, usageError } from './help'

/** Options with all their defaults: none is absent or undefined. */
export type Complete<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> }

/** Options without those that are undefined, which count as absent. For `{ ...defaults, ...defined(options) }`. */
export function defined<Options extends object>(
  options: Options,
): { [Name in keyof Options]: Exclude<Options[Name], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
}

/** @throws {RangeError} naming the option, unless `value` is a whole number from `least` to `most` */
export function optionRange(option: string, value: unknown, least: number, most: number): void {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return
  throw optionError(
    `${option} must be a whole number from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}; ` +
      `received ${shown(value)}`,
    RangeError,
  )
}

/** @throws {TypeError} naming the option, unless `value` is one of the values given */
export function optionOneOf(option: string, value: unknown, values: readonly unknown[]): void {
  if (values.includes(value)) return
  throw optionError(`${option} must be ${values.map(shown).join(' or ')}; received ${shown(value)}`)
}

/** @throws {TypeError} naming the option, unless `value` is of the type or undefined */
export function optionType(option: string, value: unknown, type: 'function' | 'string' | 'boolean' | 'object'): void {
  if (value === undefined || (typeof value === type && value !== null)) return
  throw optionError(`${option} must be a${type === 'object' ? 'n' : ''} ${type}; received ${shown(value)}`)
}

/**
 * What to write in place of options that a factory does not have, by their names: `write issuer`; or a function of the
 * value received.
 */
export type Hints = Readonly<Record<string, string | ((value: unknown) => string)>>

/** One entry under several names: `same('write key', 'publicKey', 'certificate')`. */
export function same<Entry>(entry: Entry, ...names: readonly string[]): Record<string, Entry> {
  return Object.fromEntries(names.map((name) => [name, entry]))
}

/** The most options that one message names: those of a factory that received no object, or the wrong ones of a call. */
const FEW = 8

/**
 * @param factory name of the factory in errors: `throttle`, `requireBearer()`, `routes['/tree']`
 * @param hints what to write in place of options that the factory does not have, by their names
 * @throws {TypeError} naming the unknown keys of `options`, the first eight, each on a line of its own with the option that
 *   was probably meant
 */
export function optionNames(factory: string, options: unknown, known: readonly string[], hints: Hints = {}): void {
  if (isRequest(options)) throw uncalled(factory.replace(/\(\)$/, ''))
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const isIssuer = typeof options === 'string' && known.includes('issuer')
    const few = known.length <= FEW ? `: { ${known.join(', ')} }` : ''
    const line = `{ issuer: ${shown(options)}, … }`
    const which = isIssuer ? `: write ${factory.endsWith('()') ? factory.replace('()', `(${line})`) : line}` : few
    throw optionError(`${factory} takes an object of options${which}; received ${shown(options)}`)
  }
  const isWithin = /^[a-z]+$/.test(factory) // an option that is an object: `wait` is no peer's
  const wrong = Object.keys(options).filter((name) => !known.includes(name))
  if (wrong.length === 0) return
  let listed = ''
  let guided = ''
  const faults = wrong.slice(0, FEW).map((name) => {
    const hint = ownEntry(hints, name)
    const meant = nearest(name, known)
    const peer = isWithin ? undefined : ownEntry(PEERS, name)
    let text = JSON.stringify(name)
    if (hint !== undefined) {
      text += `: ${typeof hint === 'string' ? hint : hint((options as Record<string, unknown>)[name])}`
    } else if (meant !== undefined) text += `; did you mean ${JSON.stringify(meant)}?`
    else if (listed === '') text += listed = `; it has ${known.join(', ')}`
    if (peer !== undefined && peer !== guided)
      text += `. It is an option of ${(guided = peer)}: ${migrationGuide(peer)}`
    return text
  })
  throw optionError(`${factory} has no option ${faults.join('\n  nor ')}`)
}

/** Whether a factory received a request where its options should be: `app.use(throttle)` instead of `throttle()`. */
export function isRequest(value: unknown): boolean {
  const { method, url, headers } = (value ?? {}) as { method?: unknown; url?: unknown; headers?: unknown }
  return typeof method === 'string' && typeof url === 'string' && typeof headers === 'object'
}

/**
 * Error of a factory that was mounted without a call: `app.use(throttle)`.
 *
 * @param example arguments that show how to call it
 */
export function uncalled(factory: string, example = ''): TypeError {
  return usageError(`app.use(${factory}) mounts the factory itself; call it: app.use(${factory}(${example}))`)
}

/** Options of other packages, with ours of the same purpose. One is suggested only if the factory has it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  handler: 'onDenied',
  message: 'onDenied',
  statusCode: 'onDenied',
  maxAgeSec: 'maxProofAgeSec',
  acrValues: 'acr',
  acr_values: 'acr',
}

/** Packages that have a migration guide, by their options. */
const PEERS: Readonly<Record<string, string>> = {
  ...same('express-rate-limit', 'max', 'limit', 'keyGenerator', 'skip', 'handler', 'message', 'statusCode'),
  ...same('express-rate-limit', 'standardHeaders', 'legacyHeaders', 'validate', 'skipFailedRequests'),
  ...same('express-rate-limit', 'skipSuccessfulRequests', 'requestWasSuccessful', 'requestPropertyName', 'identifier'),
  ...same('express-rate-limit', 'passOnStoreError', 'ipv6Subnet', 'onLimitReached'),
  ...same('rate-limiter-flexible', 'points', 'duration', 'blockDuration', 'keyPrefix', 'storeClient'),
  ...same('rate-limiter-flexible', 'insuranceLimiter', 'rejectIfRedisNotReady', 'useRedisPackage', 'storeType'),
  ...same('rate-limiter-flexible', 'execEvenly', 'execEvenlyMinDelayMs', 'inMemoryBlockOnConsumed'),
  ...same('rate-limiter-flexible', 'inMemoryBlockDuration'),
  ...same('express-oauth2-jwt-bearer', 'issuerBaseURL', 'tokenSigningAlg', 'maxTokenAge', 'authRequired', 'strict'),
  ...same('express-oauth2-jwt-bearer', 'validators', 'cooldownDuration', 'cacheMaxAge', 'timeoutDuration', 'mcd'),
  ...same('express-jwt', 'credentialsRequired', 'isRevoked', 'getToken', 'requestProperty', 'onExpired'),
}

function ownEntry<Entry>(table: Readonly<Record<string, Entry>>, name: string): Entry | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** The option that a wrong name probably means; undefined if no name is similar. */
function nearest(wrong: string, known: readonly string[]): string | undefined {
  const elsewhere = ownEntry(ELSEWHERE, wrong)
  if (elsewhere !== undefined && known.includes(elsewhere)) return elsewhere
  const near = known
    .map((name) => ({ name, distance: editDistance(plain(wrong), plain(name)) }))
    .sort((a, b) => a.distance - b.distance)[0]
  return near !== undefined && near.distance <= Math.max(1, near.name.length / 3) ? near.name : undefined
}

/** A name without its style: `max_age` and `maxAge` are one. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '')
}

/** Levenshtein distance: letters to insert, delete or replace to turn one text into another. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const exchanged = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(exchanged, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}

/** A value for an error message: short, on one line, a URL without user and password. */
export function shown(value: unknown): string {
  const text = typeof value === 'string' ? withoutUserInfo(value) : value
  const depth = isInstance(text) ? -1 : 0 // of a client or a store its class, nothing of its inside
  const all = inspect(text, { depth, breakLength: Infinity, maxStringLength: 80, maxArrayLength: 3 })
  return withoutCutUrls(withoutUserInfo(all))
}

function isInstance(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype !== null && Object.getPrototypeOf(prototype) !== null // also of another realm
}

/** As {@link shown}, for a value that may contain a password: the names of an object, nothing of a string. */
export function shownNames(value: unknown): string {
  if (typeof value === 'string') return 'a string'
  if (typeof value !== 'object' || value === null) return shown(value)
  const names = Object.keys(value).slice(0, 5)
  return names.length === 0 ? 'an object without names' : `an object with ${names.join(', ')}`
}

function withoutUserInfo(text: string): string {
  const [from, at] = [text.indexOf('://'), text.lastIndexOf('@')]
  return from < 0 || at < from ? text : `${text.slice(0, from)}://…${text.slice(at)}`
}

/** Hides the URLs in texts that `inspect()` has cut: a password may stand before the cut. */
function withoutCutUrls(text: string): string {
  const parts = text.split(/(['"`])/) // a text, its quote, a text, …
  const isCut = (i: number) => parts[i + 2]?.startsWith('... ') ?? false
  return parts.map((part, i) => (isCut(i) ? part.replace(/:\/\/.*/s, '://…') : part)).join('')
}
