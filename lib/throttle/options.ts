import { METHODS } from 'node:http'
import type { Request } from 'express'
import { type Clock, checkClock, systemClock } from '../http/clock'
import { type DenyOptions, checkDenyOptions } from '../http/answer/deny'
import { optionError } from '../http/help'
import { type Option, type OptionValues, checkedLater, flag, functionOption, oneOf } from '../http/option-table'
import { option, readOptions, wholeNumber } from '../http/option-table'
import { defined, optionType, shown, shownNames } from '../http/options'
import type { RouteEntry } from '../http/request/route-match'
import { IPV6_PREFIX } from '../http/request/network'
import { answeredAtOnce, isThenable } from '../http/callback'
import { warn, warnOnce } from '../http/warn-once'
import { storeMistake } from '../redis/store-mistake'
import { PLACES } from './budget/past'
import type { WaitRule } from './budget/hold'
import type { AccountStore, ThrottleStore } from './store/store'
import { OPTION_HINTS, WINDOW_HINTS, asWork } from './setup/options-of-other-limiters'
import type { SubjectFunction } from './subject'

/**
 * An amount of processing time for each window of real time, and what counts. Throttles over one store share the window
 * of a name; their limits, windows and `carryOvershoot` must be equal.
 */
export interface Policy {
  readonly name: string
  readonly limitMs: number | ((req: Request) => number)
  readonly windowMs: number
  readonly concurrency: number | ((req: Request) => number)
  /** Waits for slow clients that are excused. Undefined: twice the request's limit. */
  readonly clientWaitMs: number | undefined
  /** Time used beyond the limit is the next window's first use. */
  readonly carryOvershoot: boolean
  /** Handlers stop when their client has gone: the request ends then. */
  readonly endsWithClient: boolean | undefined
  /** Undefined: the time to the header for a GET, all of it for other methods. */
  readonly eventStreams: MeterOptions['eventStreams']
}

/** What counts as a request's time, and how far. */
export interface MeterOptions {
  /**
   * Waits for slow clients that are excused to a subject in a window, in milliseconds: whole, 0 to 86,400,000. More counts
   * while it passes. Use 0 behind a proxy that buffers. Default: twice the request's limit.
   */
  readonly clientWaitMs?: number | undefined
  /**
   * Measured time beyond the limit is the next window's first use. Default false: a throttled condition ends with its
   * window.
   */
  readonly carryOvershoot?: boolean | undefined
  /**
   * Handlers stop their work when the client disconnects, as most proxies, GraphQL servers and AI kits do: the request ends
   * at that moment. Default false: it counts on until its handler ends the response, or for as long as requests of its
   * route take.
   */
  readonly endsWithClient?: boolean | undefined
  /**
   * What a response of `text/event-stream` costs: the time to its `header`, or its `whole` time. Default: `header` for a
   * GET, which is what `EventSource` sends, and `whole` for other methods.
   */
  readonly eventStreams?: 'header' | 'whole' | undefined
}

/** The window of some routes. */
export interface RouteWindow extends MeterOptions {
  /** Processing time per window, in milliseconds: whole, 1 to 32 × `windowMs`; or a function of the request. */
  readonly limitMs: number | ((req: Request) => number)
  /** The window's length in milliseconds: whole, 10 to 2,678,400,000 (31 days). Default: the throttle's. */
  readonly windowMs?: number | undefined
  /** Requests of a subject that run at once: whole, 1 to 1,000; or a function of the request. Default: the throttle's. */
  readonly concurrency?: number | ((req: Request) => number) | undefined
  /** The window's name. Default: the entry's key. */
  readonly name?: string | undefined
}

/** When a process counts as overloaded. */
export interface OverloadOptions {
  /**
   * The event loop is late by more than this on average over 100 ms, in milliseconds: whole, 10 to 10,000. Default 100.
   */
  readonly loopDelayMs?: number | undefined
  /**
   * Whether the app is overloaded where the event loop does not show it: a pool of connections has a queue, a replica
   * lags. Called every 100 ms; returns true or false at once.
   */
  readonly isOverloaded?: (() => boolean) | undefined
}

/** Which response fields a throttle sets. `Retry-After` is always set on a refusal. */
export interface ThrottleHeaders {
  /**
   * `X-THROTTLE-WINDOW-SIZE`, `-MILLIS-USED` and `-MILLIS-LEFT`, of the window with the least left. `true`: on all
   * responses but a 429, as recorded from the real service. `always`: on a 429, too. Default true.
   */
  readonly throttle?: boolean | 'always' | undefined
  /**
   * `RateLimit-Policy` and `RateLimit` of the IETF draft (-10), in milliseconds with the unit named, on a
   * 429, too. Default false.
   *
   * @experimental the draft may change
   */
  readonly rateLimit?: boolean | undefined
  /**
   * `X-PROCESSING-TIME`, the whole milliseconds that the response took. `false`: no response that passes this throttle has
   * it. Default true.
   */
  readonly processingTime?: boolean | undefined
}

/** Options of `throttle()`. */
export interface ThrottleOptions extends DenyOptions, MeterOptions {
  /**
   * Processing time per window, in milliseconds: whole, 1 to 32 × `windowMs`; or a function of the request, for plans.
   * Such a function may also return 0, which refuses the request, or `Infinity`: the request is measured, and neither
   * waits nor is refused. Default 18,000.
   */
  readonly limitMs?: number | ((req: Request) => number) | undefined
  /** The window's length in milliseconds: whole, 10 to 2,678,400,000 (31 days). Default 60,000. */
  readonly windowMs?: number | undefined
  /**
   * How many requests of a subject run at once, over all processes: whole, 1 to 1,000; or a function of the request, for
   * plans. Others wait, as `wait` says. Where little of the limit is left, fewer run at once. Below 32 a request whose client
   * has left keeps its place until its handler ends, for `limitMs` at most. Default 32.
   */
  readonly concurrency?: number | ((req: Request) => number) | undefined
  /** The window's name: throttles over one store share the windows of equal names. 1 to 128 printable ASCII characters without quotes. Default `default`. */
  readonly name?: string | undefined
  /**
   * Windows of their own for some routes, or `false` where nothing is throttled; the first match wins. A key is
   * `'[METHOD ]path'` in Express's syntax, and stands for what lies below it as in `app.use()`; `/` is the home page
   * alone. Keys are full paths.
   * A path that servers read differently (`//search`, `/sear%63h`, `/x/../search`) gets the strictest of all windows,
   * and is exempt from nothing.
   */
  readonly routes?: Readonly<Record<string, RouteWindow | false>> | undefined
  /** Where processes share their windows: `redisStore(…)`. Default: this throttle's own windows, in memory. */
  readonly store?: ThrottleStore | undefined
  /**
   * Who pays: a function from the request to a string; equal strings share one budget. `undefined` is the default payer,
   * `null` exempts the request. Default: the user, else the client app, else the client's IP address.
   */
  readonly subject?: ((req: Request) => string | null | undefined) | undefined
  /**
   * How many bits of an IPv6 address stand for a client, where an address pays: whole, 32 to 128. Default 56, since one
   * host can have all of a /56 to itself. A `subject` function passes it to `addressSubject(req, { ipv6Prefix })`.
   */
  readonly ipv6Prefix?: number | undefined
  /**
   * The queue of each subject. Running requests reserve their expected time. A request that does not fit in the rest of
   * the budget waits, and is not charged for it. `false`: it is refused at once. Default `{ maxMs: 5_000, perSubject: 64 }`.
   */
  readonly wait?:
    | {
        /** The longest wait in milliseconds: whole, 1 to 60,000. Default 5,000. */
        readonly maxMs?: number | undefined
        /** How many requests of one subject wait in this process: whole, 1 to 1,000. Default 64. */
        readonly perSubject?: number | undefined
      }
    | false
    | undefined
  /**
   * How many subjects a process tells apart in each window: whole, 1 to 10,000,000. Beyond that newcomers share a window
   * by network, and so do newcomers of a block of networks that has eight times as many as are left: forged addresses can neither fill the memory nor push a throttled subject out of it.
   * Default 250,000.
   */
  readonly maxSubjects?: number | undefined
  /**
   * While the store does not answer: each process decides by itself, within its share; or every request gets 503, also
   * one that has waited for its answer for 1 s. Default `local`.
   */
  readonly onOutage?: 'local' | 'closed' | undefined
  /**
   * Measures, charges and reports as usual, but refuses no request, has none wait, and sets no response field: clients see
   * nothing of it. Default false.
   */
  readonly dryRun?: boolean | undefined
  /**
   * Whether the users who ask for most are refused with 503 while the process is overloaded. `true`, or when it counts as
   * overloaded: `{ loopDelayMs: 100, isOverloaded: () => pool.waitingCount > 20 }`. Default false.
   *
   * @experimental
   */
  readonly overload?: boolean | OverloadOptions | undefined
  /**
   * Which response fields are set: `{ throttle: 'always', rateLimit: true, processingTime: false }`. `false`: none but
   * `Retry-After`. Default: `X-THROTTLE-*` except on a 429, and `X-PROCESSING-TIME`.
   */
  readonly headers?: ThrottleHeaders | false | undefined
  /** The clock, for tests. Default: the process's. */
  readonly clock?: Clock | undefined
}

/** What a request may be excused at most: a day. */
const MOST_EXCUSED_MS = 86_400_000
const LONGEST_WINDOW_MS = 31 * 86_400_000
const MOST_AT_ONCE = 1_000
/** A number, or a function of the request. */
const orFunction = (of: Option<number | undefined>, must = of.must) => ({
  ...of,
  must: `${must}, or a function of the request`,
  is: (value: unknown) => typeof value === 'function' || of.is(value),
  fallback: undefined as Policy['limitMs'] | undefined,
})
const isName = (value: unknown) =>
  typeof value === 'string' && /^[\x20-\x7e]{1,128}$/.test(value) && !/["\\]/.test(value)

/** The options of a window: the throttle's own, or one of `routes`. */
const WINDOW_TABLE = {
  limitMs: orFunction(wholeNumber(1, PLACES * LONGEST_WINDOW_MS), 'a whole number from 1 to 32 × windowMs'),
  windowMs: wholeNumber(10, LONGEST_WINDOW_MS),
  concurrency: orFunction(wholeNumber(1, MOST_AT_ONCE)),
  name: option<string>('1 to 128 printable ASCII characters without quotes and backslashes', isName),
  clientWaitMs: wholeNumber(0, MOST_EXCUSED_MS),
  carryOvershoot: oneOf([true, false]),
  endsWithClient: oneOf([true, false]),
  eventStreams: oneOf<'header' | 'whole'>(['header', 'whole']),
}

/** The options of {@link ThrottleOptions}. */
const TABLE = {
  ...WINDOW_TABLE,
  routes: checkedLater<ThrottleOptions['routes']>(),
  store: checkedLater<AccountStore>(),
  ipv6Prefix: wholeNumber(32, 128, IPV6_PREFIX),
  subject: functionOption<SubjectFunction>(),
  wait: checkedLater<Exclude<ThrottleOptions['wait'], undefined>>({}),
  maxSubjects: wholeNumber(1, 10_000_000, 250_000),
  onOutage: oneOf<'local' | 'closed'>(['local', 'closed'], 'local'),
  dryRun: flag(),
  overload: checkedLater<boolean | OverloadOptions>(false),
  headers: checkedLater<ThrottleHeaders | false>({}),
  onDenied: checkedLater<DenyOptions['onDenied']>(),
  errorFormat: checkedLater<DenyOptions['errorFormat']>(),
  dialect: checkedLater<DenyOptions['dialect']>(),
  clock: checkedLater<Clock>(systemClock),
}

const WAIT_TABLE = { maxMs: wholeNumber(1, 60_000, 5_000), perSubject: wholeNumber(1, 1_000, 64) }
const OVERLOAD_TABLE = { loopDelayMs: wholeNumber(10, 10_000, 100), isOverloaded: functionOption<() => boolean>() }
const HEADERS_TABLE = {
  throttle: oneOf<boolean | 'always'>([true, false, 'always'], true),
  rateLimit: flag(),
  processingTime: flag(true),
}
const NO_HEADERS = { throttle: false, rateLimit: false, processingTime: false } as const
const STORE_METHODS = ['serverOf', 'watch', 'close'] as const

/** When a process counts as overloaded, with the defaults. */
export type OverloadRule = OptionValues<typeof OVERLOAD_TABLE>

/** Which response fields are set, with the defaults. */
export type HeaderRule = OptionValues<typeof HEADERS_TABLE>

/** Values of the options, with their defaults. */
export interface ThrottleValues extends Omit<OptionValues<typeof TABLE>, 'wait' | 'overload' | 'headers'> {
  readonly wait: OptionValues<typeof WAIT_TABLE> | false
  readonly overload: OverloadRule | undefined
  readonly headers: HeaderRule
}

/** @throws {TypeError | RangeError} naming the option and what it received */
export function throttleOptions(options: ThrottleOptions): ThrottleValues {
  const values = readOptions('throttle()', options, TABLE, OPTION_HINTS)
  const { store, wait, overload, onOutage } = values
  if (store !== undefined && !STORE_METHODS.every((name) => typeof store?.[name] === 'function')) {
    const mistake = storeMistake('redisStore', store) ?? `${shownNames(store)}: write store: redisStore('redis://…')`
    throw optionError(`store must be a store of redisStore(); received ${mistake}`)
  }
  checkDenyOptions(options)
  checkClock(values.clock)
  if (store === undefined && onOutage === 'closed') {
    throw optionError('onOutage: "closed" needs a store: this process\'s memory has no outage')
  }
  return {
    ...values,
    wait: wait !== false && readOptions('wait', wait, WAIT_TABLE),
    overload:
      overload === false ? undefined : readOptions('overload', overload === true ? {} : overload, OVERLOAD_TABLE),
    headers: values.headers === false ? NO_HEADERS : readOptions('headers', values.headers, HEADERS_TABLE),
  }
}

const NO_WAIT = { maxUs: 0, perSubject: 0 }

/** How requests wait, in the engine's units. */
export function waitRule({ wait, onOutage, dryRun }: ThrottleValues): WaitRule {
  const needsStore = onOutage === 'closed' && !dryRun
  if (wait === false || dryRun) return { ...NO_WAIT, needsStore }
  return { maxUs: wait.maxMs * 1_000, perSubject: wait.perSubject, needsStore }
}

/** A callback that fails is warned of at most so often. */
const WARNED_EVERY_MS = 60_000

/** What says whether the app is overloaded. Where the app's function fails, it says no and warns. */
export function guardedOverload(isOverloaded: () => boolean, clock: Clock): () => boolean {
  let warnedAt = -Infinity
  return () => {
    let fault: string
    try {
      const answer: unknown = isOverloaded()
      if (typeof answer === 'boolean') return answer
      if (isThenable(answer)) answer.then(undefined, () => undefined) // its failure would end the process
      fault = `returned ${isThenable(answer) ? 'a promise' : shown(answer)}`
    } catch (err) {
      fault = `failed with ${shown(String(err))}`
    }
    if (clock.now() - warnedAt < WARNED_EVERY_MS) return false
    warnedAt = clock.now()
    const remedy = 'it must return true or false at once; until then it counts as false'
    warn('TOLLGATE_OVERLOAD_CALLBACK', `overload.isOverloaded() ${fault}: ${remedy}`)
    return false
  }
}

/** The general policy of a throttle. */
export function generalPolicy(values: ThrottleValues): Policy {
  const { limitMs = 18_000, windowMs = 60_000, name = 'default', concurrency = PLACES } = values
  const { clientWaitMs, carryOvershoot = false, endsWithClient, eventStreams } = values
  return checkedPolicy('', {
    limitMs,
    windowMs,
    name,
    concurrency,
    clientWaitMs,
    carryOvershoot,
    endsWithClient,
    eventStreams,
  })
}

/**
 * The entries of `routes`, in their order, with the methods and paths of their keys taken apart.
 *
 * @param general has the terms that an entry does not state
 */
export function routeEntries(routes: ThrottleOptions['routes'] = {}, general: Policy): RouteEntry<Policy | false>[] {
  optionType('routes', routes, 'object')
  return Object.entries(routes).map(([key, route]) => {
    const [, method, path] = /^(?:([A-Z-]+) )?(\/.*)$/.exec(key) ?? []
    if (path === undefined || (method !== undefined && !METHODS.includes(method))) {
      throw optionError(`routes: a key is '/path' or 'METHOD /path'; received ${shown(key)}`)
    }
    const entry = `routes[${shown(key)}]`
    const methods = method === undefined ? {} : { methods: new Set([method]) }
    if (route === false) return { path, value: false, ...methods }
    const { limitMs, ...terms } = readOptions(entry, route, WINDOW_TABLE, WINDOW_HINTS)
    if (limitMs === undefined)
      throw optionError(`${entry}: limitMs is missing: it must be ${WINDOW_TABLE.limitMs.must}`)
    return {
      path,
      value: checkedPolicy(`${entry}: `, { ...general, ...defined({ ...terms, name: terms.name ?? key }), limitMs }),
      ...methods,
    }
  })
}

const DEFAULT_CLIENT_WAIT_LIMITS = 2

/** A key of `routes` is the name of its window, too. */
function checkedPolicy(option: string, policy: Policy): Policy {
  const { limitMs, windowMs, name } = policy
  if (!isName(name)) throw optionError(`${option}name must be ${WINDOW_TABLE.name.must}; received ${shown(name)}`)
  if (windowMs < 1_000) warnOfShortWindow(option, windowMs)
  if (typeof limitMs === 'number' && limitMs > mostLimitMs(windowMs)) {
    const most = mostLimitMs(windowMs).toLocaleString('en')
    throw optionError(
      `${option}limitMs must be ${WINDOW_TABLE.limitMs.must}: at most ${most} with windowMs: ${windowMs}; received ${shown(limitMs)}`,
      RangeError,
    )
  }
  if (typeof limitMs === 'number' && limitMs > 0 && limitMs < 1_000 && windowMs >= 60_000)
    warnOfLowLimit(option, limitMs, windowMs)
  return policy
}

/** Other packages count in seconds. */
function warnOfShortWindow(option: string, windowMs: number): void {
  warnOnce(
    'TOLLGATE_WINDOW',
    `${option}windowMs: ${windowMs} is a window of ${windowMs} milliseconds; ${windowMs} seconds are ` +
      `windowMs: ${(windowMs * 1_000).toLocaleString('en').replaceAll(',', '_')}`,
  )
}

/** Other packages count requests. */
function warnOfLowLimit(option: string, limitMs: number, windowMs: number): void {
  warnOnce(
    'TOLLGATE_LIMIT',
    `${option}limitMs: ${limitMs} lets each user work for ${limitMs} milliseconds in ${windowMs / 1_000} s: ${asWork(limitMs)}`,
  )
}

/** So much a subject's requests can use in a window where 32 run at once. */
export function mostLimitMs(windowMs: number): number {
  return PLACES * windowMs
}

/**
 * The limit of a request, in microseconds. A limit beyond the most that can be used counts as that, see `decide()`.
 *
 * @throws {TypeError | RangeError} where the app's function returns no number, or one below 0
 */
export function requestLimitUs({ limitMs, windowMs }: Policy, req: Request): number {
  if (typeof limitMs === 'number') return limitMs * 1_000
  const limit: unknown = answeredAtOnce('limitMs', limitMs(req))
  if (!(typeof limit === 'number' && limit >= 0)) throw badResult('limitMs(req)', 'a number from 0 to Infinity', limit)
  return Math.round(Math.min(limit, mostLimitMs(windowMs)) * 1_000)
}

/**
 * How many requests of the subject may run at once.
 *
 * @throws {TypeError | RangeError} where the app's function returns no whole number from 1 to 1,000
 */
export function requestConcurrency({ concurrency }: Policy, req: Request): number {
  if (typeof concurrency === 'number') return concurrency
  const most: unknown = answeredAtOnce('concurrency', concurrency(req))
  const { is, must } = wholeNumber(1, MOST_AT_ONCE)
  if (!is(most)) throw badResult('concurrency(req)', must, most)
  return most as number
}

function badResult(call: string, must: string, result: unknown): Error {
  const message = `${call} must return ${must}; it returned ${shown(result)}`
  return optionError(message, typeof result === 'number' ? RangeError : TypeError)
}

/** Client waits that are excused to a subject in a window, in microseconds. */
export function clientWaitUs({ clientWaitMs }: Policy, limitUs: number): number {
  return clientWaitMs === undefined ? limitUs * DEFAULT_CLIENT_WAIT_LIMITS : clientWaitMs * 1_000
}
