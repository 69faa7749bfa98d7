import { METHODS } from 'node:http'
import type { Request } from 'express'
import { type Clock, checkClock } from '../http/clock'
import { type DenyOptions, checkDenyOptions } from '../http/deny'
import { optionNames, optionOneOf, optionRange, optionType, shown, shownNames } from '../http/options'
import type { RouteEntry } from '../http/route-match'
import type { ThrottleHeaders } from './request/response-headers'
import type { ThrottleStore } from './sync/store'
import type { WaitRule } from './window/decision'
import { type LimitMs, type WindowPolicy, windowPolicy } from './window-policy'

/** The window of some routes. */
export interface RouteWindow {
  /** Processing time per window, in milliseconds: whole, 1 to 86,400,000; or a function of the request. */
  readonly limitMs: LimitMs
  /** The window's length in milliseconds: whole, 10 to 2,592,000,000 (30 days). Default: the throttle's. */
  readonly windowMs?: number
  /** The window's name. Default: the entry's key. */
  readonly name?: string
}

/** How requests wait for room beside the running requests of their subject. Waiting is not charged. */
export interface WaitOptions {
  /** The longest wait in milliseconds: whole, 1 to 60,000. Default 5,000. */
  readonly maxMs?: number
  /** How many requests of one subject wait in this process: whole, 1 to 1,000. Default 64. */
  readonly perSubject?: number
}

/** Options of `throttle()`. */
export interface ThrottleOptions extends DenyOptions {
  /**
   * Processing time per window, in milliseconds: whole, 1 to 86,400,000; or a function of the request, for plans.
   * Default 18,000.
   */
  readonly limitMs?: LimitMs
  /** The window's length in milliseconds: whole, 10 to 2,592,000,000 (30 days). Default 60,000. */
  readonly windowMs?: number
  /** The window's name: throttles over one store share the windows of equal names. 1 to 128 printable ASCII characters without quotes. Default `default`. */
  readonly name?: string
  /**
   * Windows of their own for some routes, or `false` where nothing is throttled; the first match wins. A key is
   * `'[METHOD ]path'` in Express's syntax, and stands for what lies below it as in `app.use()`.
   * A path with dot segments is exempt from nothing: the strictest window that it may fall into counts.
   */
  readonly routes?: Readonly<Record<string, RouteWindow | false>>
  /** Where processes share their windows: `redisStore(…)`. Default: this throttle's own windows, in memory. */
  readonly store?: ThrottleStore
  /** Who pays; `null` exempts the request. Default: the user, else the client app, else the client's address. */
  readonly subject?: (req: Request) => string | null
  /** Sets expected time aside at admission, so that a burst cannot use more than is left. Default true. */
  readonly hold?: boolean
  /**
   * How a request waits that fits in what is left of the limit, but not beside the holds of its subject's running
   * requests. `false`: it is refused at once. Default `{ maxMs: 5_000, perSubject: 64 }`.
   */
  readonly wait?: WaitOptions | false
  /** How old the other processes' figures may be, in milliseconds: whole, 0 (ask every time) to 60,000. Default 250. */
  readonly maxStaleMs?: number
  /**
   * How many subjects a process tells apart in each window: whole, 1 to 10,000,000. Beyond that newcomers share a window
   * by network: forged addresses can neither fill the memory nor push a throttled subject out of it.
   * Default 1,000,000, which takes about 200 MB.
   */
  readonly maxSubjects?: number
  /** While the store does not answer: each process decides by itself, or every request gets 503. Default `local`. */
  readonly onOutage?: 'local' | 'closed'
  /** Measures, charges and reports as usual, but refuses no request. Default false. */
  readonly dryRun?: boolean
  /**
   * Who pays for the time in which a handler blocks the event loop for more than 20 ms. `full`: every request in flight,
   * all of it, as it is time for which each took longer. `shared`: the request whose handler blocked it, where that was
   * in the handler's first turn; else all requests in flight, an equal part each. Default `full`.
   */
  readonly stalls?: 'full' | 'shared'
  /** Which response fields are set. */
  readonly headers?: ThrottleHeaders
  /** The clock, for tests. Default: the process's. */
  readonly clock?: Clock
}

const NAMES: (keyof ThrottleOptions)[] = [
  ...([
    'limitMs',
    'windowMs',
    'name',
    'routes',
    'store',
    'subject',
    'hold',
    'wait',
    'maxStaleMs',
    'maxSubjects',
  ] as const),
  ...(['onOutage', 'dryRun', 'stalls', 'headers', 'onDenied', 'errorFormat', 'dialect', 'clock'] as const),
]
const ROUTE_NAMES: (keyof RouteWindow)[] = ['limitMs', 'windowMs', 'name']
const STORE_METHODS = ['shardOf', 'watch', 'close'] as const

/** @throws {TypeError | RangeError} naming the option and what it received */
export function checkOptions(options: ThrottleOptions): void {
  optionNames('throttle', options, NAMES)
  const { store, subject, hold, maxStaleMs = 250, maxSubjects = 1_000_000 } = options
  const { onOutage = 'local', dryRun, headers, clock } = options
  if (store !== undefined && !STORE_METHODS.every((name) => typeof store?.[name] === 'function')) {
    throw new TypeError(`store must be a store, such as redisStore(client); received ${shownNames(store)}`)
  }
  optionType('subject', subject, 'function')
  optionType('hold', hold, 'boolean')
  checkWait(options.wait)
  optionRange('maxStaleMs', maxStaleMs, 0, 60_000)
  optionRange('maxSubjects', maxSubjects, 1, 10_000_000)
  optionOneOf('onOutage', onOutage, ['local', 'closed'])
  optionType('dryRun', dryRun, 'boolean')
  optionOneOf('stalls', options.stalls ?? 'full', ['full', 'shared'])
  checkDenyOptions(options)
  checkClock(clock)
  if (headers !== undefined) {
    optionNames('headers', headers, ['throttle', 'throttleOnRefusal', 'rateLimit'])
    optionType('headers.throttleOnRefusal', headers.throttleOnRefusal, 'boolean')
    optionType('headers.throttle', headers.throttle, 'boolean')
    optionType('headers.rateLimit', headers.rateLimit, 'boolean')
  }
  if (store === undefined && options.onOutage === 'closed') {
    throw new TypeError('onOutage: "closed" needs a store: this process\'s memory has no outage')
  }
}

/** Requests do not wait. */
export const NO_WAIT: WaitRule = { maxUs: 0, perSubject: 0 }

/** How requests wait, in the engine's units. */
export function waitRule(wait: ThrottleOptions['wait'] = {}): WaitRule {
  if (wait === false) return NO_WAIT
  const { maxMs = 5_000, perSubject = 64 } = wait
  return { maxUs: maxMs * 1_000, perSubject }
}

function checkWait(wait: ThrottleOptions['wait']): void {
  if (wait === undefined || wait === false) return
  optionNames('wait', wait, ['maxMs', 'perSubject'])
  const { maxMs = 5_000, perSubject = 64 } = wait
  optionRange('wait.maxMs', maxMs, 1, 60_000)
  optionRange('wait.perSubject', perSubject, 1, 1_000)
}

/**
 * The entries of `routes`, in their order, with the methods and paths of their keys taken apart.
 *
 * @param windowMs the throttle's: for entries without one of their own
 */
export function routeEntries(
  routes: ThrottleOptions['routes'] = {},
  windowMs: number,
): RouteEntry<WindowPolicy | false>[] {
  optionType('routes', routes, 'object')
  return Object.entries(routes).map(([key, route]) => {
    const [, method, path] = /^(?:([A-Z-]+) )?(\/.*)$/.exec(key) ?? []
    if (path === undefined || (method !== undefined && !METHODS.includes(method))) {
      throw new TypeError(`routes: a key is '/path' or 'METHOD /path'; received ${shown(key)}`)
    }
    const option = `routes[${shown(key)}]`
    const methods = method === undefined ? {} : { methods: new Set([method]) }
    if (route === false) return { path, value: false, ...methods }
    optionNames(option, route, ROUTE_NAMES)
    const terms = { ...route, windowMs: route.windowMs ?? windowMs, name: route.name ?? key }
    return { path, value: windowPolicy(`${option}.`, terms), ...methods }
  })
}
