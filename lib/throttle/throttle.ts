import type { NextFunction, Request, Response } from 'express'
import { asError } from '../http/callback'
import { nowUs, systemClock } from '../http/clock'
import { hasDotSegments, pathReadings } from '../http/dot-segments'
import { Meter } from '../http/meter'
import type { Middleware } from '../http/middleware'
import { fullPath } from '../http/full-path'
import { routeMatcher } from '../http/route-match'
import { stayAlive } from '../http/stay-alive'
import { checkMountOrder } from './mount-order'
import { exposeForInspection } from './introspection'
import { PriceSharing } from './request/price-sharing'
import { RequestAdmission } from './request/request-admission'
import { RequestCharges } from './request/request-charges'
import { RouteTable } from './request/route-table'
import { StallSharing } from './request/stall-sharing'
import { isAddressSubject, subjectKey, subjectOf } from './subject'
import type { SharedWindow } from './sync/shared-window'
import { StoreHealth } from './sync/store-health'
import { NO_WAIT, type ThrottleOptions, checkOptions, routeEntries, waitRule } from './throttle-options'
import { type Usage, usageOf } from './usage'
import { orderCheck, warnOfMissingId } from './warnings'
import { type WindowPolicy, requestLimitUs, windowPolicy } from './window-policy'
import { WindowRegistry } from './window-registry'

/** What `throttle()` returns: the middleware, with what an operator needs. */
export interface Throttle extends Middleware {
  /**
   * What a subject has used of each window of this throttle, over all processes.
   *
   * @param subject as `req.throttle.subject` names it
   */
  usage(subject: string): Promise<Usage[]>
  /**
   * Resets a subject's usage of the windows open now, in every process.
   *
   * @throws {Error} where the store does not answer within two seconds: nothing was reset
   */
  reset(subject: string): Promise<void>
  /**
   * Resolves when the store answers; at once where there is none. For the start of a process that is not to serve
   * without it.
   *
   * @throws {Error} where the store does not answer within a second: which server, why, what happens meanwhile and what
   *   to do
   */
  ready(): Promise<void>
  /** Publishes the last charges and closes the store's connection. Safe to call twice. */
  close(): Promise<void>
}

/** How much of a window's length may be used. */
function shareOf({ limit, policy }: ThrottleWindow, req: Request): number {
  return (typeof limit === 'number' ? limit : requestLimitUs(limit, req)) / policy.windowMs
}

/** One window of a throttle. */
interface ThrottleWindow {
  readonly policy: WindowPolicy
  /** In microseconds; or the app's function, in milliseconds. */
  readonly limit: number | ((req: Request) => number)
  readonly routes: RouteTable
  readonly window: SharedWindow
  /** Undefined where prices stay in this process: there is no store, or it keeps none. */
  readonly sharing: PriceSharing | undefined
}

/**
 * Limits each subject's processing time: so many milliseconds of execution per window of real time, over all of a
 * user's sessions and apps. Over the limit it answers 429 with `Retry-After`.
 *
 * Sets `req.throttle`; and on responses `X-PROCESSING-TIME` and `X-THROTTLE-*`.
 *
 * @example
 * app.use(throttle())
 * app.use(throttle({ limitMs: 18_000, windowMs: 60_000, routes: { '/search': { limitMs: 5_000, windowMs: 10_000 } } }))
 * @throws {TypeError | RangeError} in the factory, naming the option that is wrong
 */
export function throttle(options: ThrottleOptions = {}): Throttle {
  checkOptions(options)
  const { limitMs = 18_000, windowMs = 60_000, name = 'default', routes, store, subject, hold = true } = options
  const {
    wait,
    maxStaleMs = 250,
    maxSubjects = 1_000_000,
    onOutage = 'local',
    dryRun = false,
    stalls,
    headers = {},
    clock = systemClock,
  } = options

  const rules = {
    hold,
    wait: dryRun || !hold ? NO_WAIT : waitRule(wait),
    isHoldRefused: wait === false,
    onOutage,
    dryRun,
    stalls: stalls === 'shared' ? StallSharing.forClock(clock) : undefined,
    headers,
    deny: options,
    clock,
  }
  const registry = WindowRegistry.of(store)
  const windows: ThrottleWindow[] = []
  const general = open(windowPolicy('', { name, limitMs, windowMs }))
  const entries = routeEntries(routes, windowMs).map((entry) => ({
    ...entry,
    value: entry.value && open(entry.value),
  }))
  const routed = routeMatcher('routes', entries)
  let closed: Promise<void> | undefined
  /** Whether the throttle's place among the routes has been looked at, at the first request. */
  let isPlaced = false

  function throttle(req: Request, res: Response, next: NextFunction): void {
    if (!isPlaced) checkMountOrder(throttle, req, res)
    isPlaced = true
    const now = nowUs(clock)
    const meter = Meter.of(res, clock, now)
    let asked: ReturnType<typeof ask>
    try {
      asked = ask(req, meter)
    } catch (err) {
      return next(asError(err)) // a host that is not Express would let the process end
    }
    if (asked === undefined) return next()
    const { asks, charges } = asked
    new RequestAdmission(rules, asks, charges, req, res, next).ask(now)
  }

  /** What a request asks of its window; undefined where it is not throttled, or charged to this window already. */
  function ask(req: Request, meter: Meter) {
    const chosen = entries.length === 0 ? general : windowFor(req)
    if (chosen === false) return undefined
    const who = subjectOf(req, subject)
    if (who === null) return undefined
    if (subject !== undefined) warnOfMissingId(who, subject)

    const { window, routes, limit } = chosen
    const charges = RequestCharges.of(meter) ?? new RequestCharges(meter, req)
    if (charges.has(window)) return undefined
    const limitUs = typeof limit === 'number' ? limit : requestLimitUs(limit, req)
    const route = routes.of(req.method, fullPath(req))
    const keptAs = window.keptAs(subjectKey(who), maxSubjects, req)
    const checkOrder = isAddressSubject(who) ? orderCheck(req, subject) : undefined
    return { asks: { window, route, limitUs, subject: who, keptAs, checkOrder }, charges }
  }

  /** A path with dot segments may be taken for another: then nothing is exempt, and the strictest window counts. */
  function windowFor(req: Request): ThrottleWindow | false {
    const path = fullPath(req)
    if (!hasDotSegments(path)) return routed(req, path) ?? general
    let strictest = general
    for (const reading of pathReadings(path)) {
      const found = routed(req, reading)
      if (found && shareOf(found, req) < shareOf(strictest, req)) strictest = found
    }
    return strictest
  }

  function open(policy: WindowPolicy): ThrottleWindow {
    const window = registry.open(policy, maxStaleMs, clock)
    const limit = typeof policy.limitMs === 'number' ? policy.limitMs * 1_000 : policy.limitMs
    const routes = new RouteTable()
    const { health } = window
    const isShared = hold && health?.store.sharePrices !== undefined
    const sharing = isShared ? new PriceSharing(policy.name, routes, health, clock) : undefined
    const opened = { policy, limit, routes, window, sharing }
    windows.push(opened)
    return opened
  }

  async function usage(who: string): Promise<Usage[]> {
    return Promise.all(windows.map(({ policy, window }) => usageOf(policy, window, subjectKey(who), clock)))
  }

  async function reset(who: string): Promise<void> {
    await Promise.all(windows.map(({ window }) => window.reset(subjectKey(who))))
  }

  function close(): Promise<void> {
    return (closed ??= stayAlive(Promise.all(windows.map(closeWindow)).then(() => undefined)))
  }

  async function closeWindow({ policy, sharing }: ThrottleWindow): Promise<void> {
    await Promise.all([registry.close(policy.name), sharing?.close()])
  }

  const health = store && StoreHealth.of(store, clock).note(onOutage)
  exposeForInspection(throttle, { windows, health, clock })
  return Object.assign(throttle, {
    usage: (who: string) => stayAlive(usage(who)),
    reset: (who: string) => stayAlive(reset(who)),
    ready: () => stayAlive(health?.ready() ?? Promise.resolve()),
    close,
  }) as Throttle
}
