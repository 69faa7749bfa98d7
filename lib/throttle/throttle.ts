import type { Application, NextFunction, Request, RequestHandler, Response } from 'express'
import { systemClock } from '../http/clock'
import { Meter } from '../http/meter'
import { shown } from '../http/options'
import { routeMatcher } from '../http/route-match'
import { Admission } from './request/admission'
import { Estimates } from './request/estimates'
import { subjectKey } from './window/subject-id'
import { exposeForInspection } from './introspection'
import { WindowRegistry, openWindow } from './window-registry'
import { chargesOf } from './request/express-request'
import { RequestCharges } from './request/request-charges'
import type { SharedWindow } from './sync/shared-window'
import { StoreHealth } from './sync/store-health'
import { defaultSubject } from './subject'
import { type ThrottleOptions, checkOptions, routeEntries } from './throttle-options'
import { type Usage, usageOf } from './usage'
import { type WindowPolicy, limitUs, windowPolicy } from './window-policy'
import { checkTrustProxy } from './warnings'

/** The middleware, with what an operator wants to know and do. */
export interface Throttle extends RequestHandler {
  /**
   * What a subject has used of each window of this throttle, over all processes.
   *
   * @param subject as `req.throttle.subject` names it
   */
  usage(subject: string): Promise<Usage[]>
  /**
   * Gives a subject the whole of its present windows back, in every process.
   *
   * @throws {Error} where the store does not answer, or not yet: nothing was reset
   */
  reset(subject: string): Promise<void>
  /** Publishes what is not published yet and closes the store's connection. Safe to call twice. */
  close(): Promise<void>
}

/** One window with what belongs to it. */
interface Policy {
  readonly terms: WindowPolicy
  readonly estimates: Estimates
  window: SharedWindow
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
    maxStaleMs = 250,
    maxSubjects = 1_000_000,
    onOutage = 'local',
    dryRun = false,
    headers = {},
    clock = systemClock,
  } = options

  const rules = { hold, onOutage, dryRun, headers, deny: options, clock, assumed: subject === undefined }
  const shared = store && WindowRegistry.of(store)
  const policies: Policy[] = []
  const general = policy(windowPolicy('', { name, limitMs, windowMs }))
  const entries = routeEntries(routes, windowMs).map((entry) => ({
    ...entry,
    value: entry.value && policy(entry.value),
  }))
  const routed = routeMatcher('routes', entries)
  let boundTo: Application | undefined
  let closed: Promise<void> | undefined

  function throttle(req: Request, res: Response, next: NextFunction): void {
    const meter = Meter.of(res, clock)
    if (shared === undefined && boundTo !== req.app) bind(req.app)
    const chosen = entries.length === 0 ? general : (routed(req) ?? general)
    if (chosen === false) return next()
    const who = subjectOf(req)
    if (who === null) return next()

    const { window, estimates, terms } = chosen
    const standing = chargesOf(req) ?? new RequestCharges(meter, req)
    if (standing.has(window)) return next()
    const limit = limitUs(terms.limitMs, req)
    const estimate = estimates.of(req.method, req.baseUrl + req.path)
    const payer = window.place(subjectKey(who), maxSubjects, req)
    const asked = { window, estimate, limitUs: limit, subject: who, payer }
    new Admission(rules, asked, standing, req, res, next).ask()
  }

  function policy(terms: WindowPolicy): Policy {
    const open = () => openWindow(terms, maxStaleMs, clock, store)
    const made = { terms, estimates: new Estimates(), window: shared ? shared.open(terms, open) : open() }
    policies.push(made)
    return made
  }

  /** Without a store the windows are the app's: throttles of one app that name the same window share it. */
  function bind(app: Application): void {
    const windows = WindowRegistry.ofApp(app)
    for (const made of policies) made.window = windows.open(made.terms, () => made.window)
    boundTo = app
  }

  function subjectOf(req: Request): string | null {
    if (subject === undefined) {
      const who = defaultSubject(req)
      if (who.startsWith('address:')) checkTrustProxy(req)
      return who
    }
    const who: unknown = subject(req)
    if (typeof who === 'string' || who === null) return who
    throw new TypeError(`subject(req) must return a string, or null for nobody; it returned ${shown(who)}`)
  }

  async function usage(who: string): Promise<Usage[]> {
    return Promise.all(policies.map(({ terms, window }) => usageOf(terms, window, subjectKey(who), clock)))
  }

  async function reset(who: string): Promise<void> {
    await Promise.all(policies.map(({ window }) => window.reset(subjectKey(who))))
  }

  function close(): Promise<void> {
    return (closed ??= Promise.all(
      policies.map(({ terms, window }) => (shared ? shared.close(terms.name) : window.close())),
    ).then(() => undefined))
  }

  exposeForInspection(throttle, { windows: policies, link: store && StoreHealth.of(store, clock), clock })
  return Object.assign(throttle, { usage, reset, close }) as Throttle
}
