import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Request } from 'express'
import type { AdmittedMessage, ChargedMessage, RefusedMessage, SyncedMessage } from '../throttle/diagnostics'
import { routeAskedFor, routeName } from './route-name'
import { Series } from './series'

/** Routes told apart; what comes later shares a line. */
const MOST_ROUTES = 200
const OTHER_ROUTES = 'other routes'
/** Kinds of refusals told apart: by subject, route, window and reason. */
const MOST_REFUSALS = 1_000
/** Refused requests are not routed. Their routes are looked up, but not for every request of a flood. */
const LOOK_UPS_A_SECOND = 200

/** What one route cost. */
export interface RouteActivity {
  readonly ms: Series
  readonly requests: Series
}

/** Requests of one subject to one route that were refused by one window for one reason. */
export interface Refusals {
  /** As `req.throttle.subject`; undefined where they are of several. */
  readonly subject: string | undefined
  readonly route: string
  readonly window: string
  /** `spent`, `hold`, `places` or `outage`; undefined where the throttle does not say. */
  readonly reason: string | undefined
  /** Nobody was refused: the throttle is on a dry run. */
  readonly dryRun: boolean
  readonly count: Series
}

/**
 * What this process did in the last five minutes, heard from `node:diagnostics_channel`: requests, refusals, processing
 * time by route, and how long the store took. Bounded, whatever is asked for.
 */
export class Activity {
  readonly admitted = new Series()
  readonly refused = new Series()
  readonly synced = new Series()
  readonly syncMs = new Series()
  readonly routes = new Map<string, RouteActivity>()
  readonly refusals = new Map<string, Refusals>()
  readonly #now: () => number
  readonly #listeners: Record<string, ChannelListener>
  #lookUps = { second: -1, left: 0 }

  /**
   * @param windows names of those that count
   * @param now in milliseconds
   * @param seen is told which subject asked for time in which window
   */
  constructor(windows: ReadonlySet<string>, now: () => number, seen: (window: string, subject: string) => void) {
    this.#now = now
    const ours = <M extends { readonly window: string }>(take: (message: M) => void): ChannelListener => {
      return (message) => void (windows.has((message as M).window) && take(message as M))
    }
    this.#listeners = {
      'express-tollgate:admitted': ours<AdmittedMessage>(({ window, subject }) => {
        this.admitted.add(now(), 1)
        seen(window, subject)
      }),
      'express-tollgate:refused': ours<RefusedMessage>((message) => {
        this.refused.add(now(), 1)
        this.#refusal(message).count.add(now(), 1)
      }),
      'express-tollgate:charged': ours<ChargedMessage>(({ req, ms, by }) => {
        const route = this.#route(
          (req as Request | undefined) === undefined ? OTHER_ROUTES : (routeName(req) ?? OTHER_ROUTES),
        )
        route.ms.add(now(), ms)
        if (by === 'request') route.requests.add(now(), 1)
      }),
      'express-tollgate:synced': ours<SyncedMessage>(({ latencyMs }) => {
        this.synced.add(now(), 1)
        this.syncMs.add(now(), latencyMs)
      }),
    }
    for (const [name, listener] of Object.entries(this.#listeners)) subscribe(name, listener)
  }

  close(): void {
    for (const [name, listener] of Object.entries(this.#listeners)) unsubscribe(name, listener)
  }

  #route(name: string): RouteActivity {
    const known = this.routes.get(name)
    if (known !== undefined) return known
    if (this.routes.size >= MOST_ROUTES && name !== OTHER_ROUTES) return this.#route(OTHER_ROUTES)
    const route = { ms: new Series(), requests: new Series() }
    this.routes.set(name, route)
    return route
  }

  #refusal(message: RefusedMessage & { readonly reason?: string }): Refusals {
    const { req, subject, window, reason, dryRun } = message
    const route = this.#lookUp(req) ?? OTHER_ROUTES
    const key = [window, reason, dryRun, route, subject].join('\n')
    const known = this.refusals.get(key)
    if (known !== undefined) return known
    if (this.refusals.size >= MOST_REFUSALS) this.#forgetRefusals()
    const others = this.refusals.size >= MOST_REFUSALS
    const made = { subject: others ? undefined : subject, route: others ? OTHER_ROUTES : route, window, reason, dryRun }
    const place = others ? [window, reason, dryRun].join('\n') : key
    const found = this.refusals.get(place) ?? { ...made, count: new Series() }
    this.refusals.set(place, found)
    return found
  }

  #lookUp(req: Request): string | undefined {
    const second = Math.floor(this.#now() / 1_000)
    if (this.#lookUps.second !== second) this.#lookUps = { second, left: LOOK_UPS_A_SECOND }
    if (this.#lookUps.left-- <= 0) return undefined
    return routeName(req) ?? routeAskedFor(req)
  }

  /** Lets those go that are older than the charts. */
  #forgetRefusals(): void {
    const now = this.#now()
    for (const [key, { count }] of this.refusals) if (count.total(now) === 0) this.refusals.delete(key)
  }
}
