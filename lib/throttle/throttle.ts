import type { Application, NextFunction, Request, RequestHandler, Response } from 'express'
import type { Denial } from '../errors'
import { nowUs, systemClock } from '../http/clock'
import { deny } from '../http/deny'
import { Meter } from '../http/meter'
import { shown } from '../http/options'
import { routeMatcher } from '../http/route-match'
import { type AdmittedMessage, type RefusedMessage, channels } from './diagnostics'
import { Estimates } from './estimates'
import { wholeSeconds } from './fields'
import { subjectKey } from './identify'
import { NamedWindows, type WindowTerms, openWindow } from './named-windows'
import { RequestStanding } from './request-standing'
import type { SharedWindow } from './shared-window'
import type { Decision } from './standing'
import { defaultSubject, networkSubject } from './subject'
import { type ThrottleOptions, checkOptions, limitUs, routeEntries, windowTerms } from './throttle-options'
import { type Usage, usageOf } from './usage'
import { checkTrustProxy } from './warnings'

/** Retry-After while the store does not answer and `onOutage` is `closed`. */
const OUTAGE_RETRY_SEC = 5

/** The middleware, with what an operator wants to know and do. */
export interface Throttle extends RequestHandler {
  /**
   * What a subject has used of each window of this throttle, over all processes.
   *
   * @param subject as `req.throttle.subject` names it
   */
  usage(subject: string): Promise<Usage[]>
  /** Gives a subject the whole of its present windows back, in every process. */
  reset(subject: string): Promise<void>
  /** Publishes what is not published yet and closes the store's connection. Safe to call twice. */
  close(): Promise<void>
}

/** One window with what belongs to it. */
interface Policy {
  readonly terms: WindowTerms
  readonly estimates: Estimates
  window: SharedWindow
}

type Throttled = Request & { throttle?: RequestStanding }

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

  const shared = store && NamedWindows.of(store)
  const policies: Policy[] = []
  const general = policy(windowTerms('', { name, limitMs, windowMs }))
  const entries = routeEntries(routes).map((entry) => ({ ...entry, value: entry.value && policy(entry.value) }))
  const routed = routeMatcher('routes', entries)
  let boundTo: Application | undefined
  let closed: Promise<void> | undefined

  function throttle(req: Throttled, res: Response, next: NextFunction): void {
    const meter = Meter.of(res, clock)
    if (shared === undefined && boundTo !== req.app) bind(req.app)
    const chosen = entries.length === 0 ? general : (routed(req) ?? general)
    if (chosen === false) return next()
    const who = subjectOf(req)
    if (who === null) return next()

    const { window, estimates, terms } = chosen
    const standing = (req.throttle ??= new RequestStanding(meter, req))
    if (standing.has(window)) return next()
    const estimate = estimates.of(req.method, req.baseUrl + req.path)
    const limit = limitUs(terms.limitMs, req)
    const asked = nowUs(clock)
    const payer = window.place(subjectKey(who), maxSubjects, () => networkSubject(req))
    const decision = window.admit(payer, hold ? estimate.us : 0, limit, (decided) => {
      standing.waited(nowUs(clock) - asked)
      try {
        proceed(decided)
      } catch (err) {
        next(err) // nobody else is there to catch what an app's onDenied throws
      }
    })
    if (decision !== undefined) proceed(decision)

    function proceed(decided: Decision): void {
      if (onOutage === 'closed' && window.degraded) return unavailable(decided)
      if ('refusal' in decided && !dryRun) return refuse(decided.refusal.retryAfterUs)
      if ('refusal' in decided) tellRefused(429, wholeSeconds(decided.refusal.retryAfterUs))
      const ticket = 'ticket' in decided ? decided.ticket : window.begin(decided.refusal.standing)
      const { standing: s } = ticket
      standing.enter({
        subject: who as string,
        assumed: subject === undefined,
        window,
        limitUs: limit,
        estimate,
        headers,
        standing: s,
        ticket,
        tookUs: 0,
      })
      // The client may have gone away while the store was asked: then nothing runs, and nothing is charged.
      if (res.closed) return void standing.refuse()
      tellAdmitted(ticket.cost)
      next()
    }

    function refuse(retryAfterUs: number): void {
      const longestUs = Math.max(retryAfterUs, standing.refuse())
      denied(429, 'throttled', 'Too Many Requests', wholeSeconds(longestUs))
    }

    function unavailable(decided: Decision): void {
      if ('ticket' in decided) window.release(decided.ticket)
      standing.refuse()
      denied(503, 'unavailable', 'Service Unavailable', OUTAGE_RETRY_SEC)
    }

    function denied(status: 429 | 503, code: string, message: string, retryAfterSec: number): void {
      tellRefused(status, retryAfterSec)
      const denial: Denial = { status, code, message, headers: { 'Retry-After': String(retryAfterSec) } }
      deny(denial, options, req, res, next)
    }

    function tellAdmitted(holdUs: number): void {
      if (!channels.admitted.hasSubscribers) return
      const { name: named, degraded } = window
      const told = { req, subject: who as string, window: named, holdMs: holdUs / 1_000, degraded }
      channels.admitted.publish(told satisfies AdmittedMessage)
    }

    function tellRefused(status: 429 | 503, retryAfterSec: number): void {
      if (!channels.refused.hasSubscribers) return
      const told = { req, subject: who as string, window: window.name, status, retryAfterSec, dryRun }
      channels.refused.publish(told satisfies RefusedMessage)
    }
  }

  function policy(terms: WindowTerms): Policy {
    const open = () => openWindow(terms, maxStaleMs, clock, store)
    const made = { terms, estimates: new Estimates(), window: shared ? shared.open(terms, open) : open() }
    policies.push(made)
    return made
  }

  /** Without a store the windows are the app's: throttles of one app that name the same window share it. */
  function bind(app: Application): void {
    const windows = NamedWindows.ofApp(app)
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

  return Object.assign(throttle, { usage, reset, close }) as Throttle
}
