import type { Request } from 'express'
import { listenTo } from '../http/channel-listeners'
import { fullPath } from '../http/request/full-path'
import type { AdmittedMessage, ChargedMessage, RefusedMessage, SyncedMessage } from '../throttle/events'
import { RefusalRun } from '../throttle/refusals'
import { STEP_MS, Series } from '../throttle/series'
import { MOST_ROUTES, OTHER_ROUTES, routeAskedFor, routeName } from '../inspect/route-name'
import { RouteTimes } from './route-times'

/** Kinds of refusals told apart: by subject, route, window and reason. */
const MOST_REFUSALS = 1_000
/**
 * A refused request has not been routed, so its route is looked up in the app: at most this many layers of Express's
 * router are tried in a second, and few while nobody watches. A layer takes 0.5 µs, the first time 25 µs.
 */
const LAYERS_A_SECOND = 5_000
const LAYERS_A_SECOND_UNWATCHED = 200
/** Answers of look-ups that are kept, by method and path: a flood mostly asks for the same. */
const LOOK_UPS_KEPT = 500

/** What one route cost. */
export interface RouteActivity {
  readonly ms: Series
  readonly requests: Series
  readonly times: RouteTimes
}

/** Requests of one subject to one route that were refused by one window for one reason. */
export interface Refusals {
  /** As `req.throttle.subject`; undefined where they are of several. */
  readonly subject: string | undefined
  readonly route: string
  readonly window: string
  /** `spent`, `reserved`, `concurrency`, `queue`, `outage` or `overload`; undefined where the throttle does not say. */
  readonly reason: string | undefined
  /** Nobody was refused: the throttle is on a dry run. */
  readonly dryRun: boolean
  readonly count: Series
  readonly run: RefusalRun
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
  readonly #blockedMs = new Series()
  #stalledUs = 0
  readonly routes = new Map<string, RouteActivity>()
  readonly refusals = new Map<string, Refusals>()
  /** As of the last refusal. */
  isDryRun = false
  readonly #now: () => number
  readonly #isWatched: () => boolean
  readonly #stalls: { readonly stalledUs: number }
  /** Ends all subscriptions. */
  readonly close: () => void
  /** Routes by the method and path that were asked for. */
  readonly #lookedUp = new Map<string, string>()
  #lookUps = { second: -1, layers: 0 }
  /** When outdated routes and refusals were last dropped. */
  readonly #sweptAt = new Map<object, number>()

  /**
   * @param windows names of those that count
   * @param now in milliseconds
   * @param seen is told which subject asked for time in which window
   * @param isWatched whether somebody looks now
   * @param stalls how long the event loop has stood still
   */
  constructor(
    windows: ReadonlySet<string>,
    now: () => number,
    seen: (window: string, subject: string) => void,
    isWatched: () => boolean,
    stalls: { readonly stalledUs: number },
  ) {
    this.#now = now
    this.#isWatched = isWatched
    this.#stalls = stalls
    this.#stalledUs = stalls.stalledUs
    const ours = <M extends { readonly window: string }>(take: (message: M) => void) => {
      return (message: M) => void (windows.has(message.window) && take(message))
    }
    this.close = listenTo('throttleDashboard()', {
      'express-tollgate:admitted': ours<AdmittedMessage>(({ window, subject }) => {
        this.admitted.add(now(), 1)
        seen(window, subject)
      }),
      'express-tollgate:refused': ours<RefusedMessage>((message) => {
        this.refused.add(now(), 1)
        this.isDryRun = message.dryRun
        const refusals = this.#refusal(message)
        refusals.count.add(now(), 1)
        refusals.run.add(now(), message.retryAfterSec)
      }),
      'express-tollgate:charged': ours<ChargedMessage>(({ req, chargedMs, by }) => {
        const route = this.#route(
          (req as Request | undefined) === undefined ? OTHER_ROUTES : (routeName(req) ?? OTHER_ROUTES),
        )
        route.ms.add(now(), chargedMs)
        this.#noteStalls()
        if (by !== 'request') return
        route.requests.add(now(), 1)
        route.times.add(now(), chargedMs)
      }),
      'express-tollgate:synced': ours<SyncedMessage>(({ latencyMs }) => {
        this.synced.add(now(), 1)
        this.syncMs.add(now(), latencyMs)
      }),
    })
  }

  /** For how long handlers blocked the event loop in the last minute, in milliseconds. */
  blockedMs(): number {
    this.#noteStalls()
    return this.#blockedMs.aMinute(this.#now())
  }

  #noteStalls(): void {
    const { stalledUs } = this.#stalls
    if (stalledUs > this.#stalledUs) this.#blockedMs.add(this.#now(), (stalledUs - this.#stalledUs) / 1_000)
    this.#stalledUs = stalledUs
  }

  #route(name: string): RouteActivity {
    const known = this.routes.get(name)
    if (known !== undefined) return known
    if (this.routes.size >= MOST_ROUTES)
      this.#forget(this.routes, ({ requests, ms }, now) => requests.total(now) + ms.total(now))
    if (this.routes.size >= MOST_ROUTES) this.#dropLightest()
    const route = { ms: new Series(), requests: new Series(), times: new RouteTimes() }
    this.routes.set(name, route)
    return route
  }

  /** The route that took least makes room: odd methods of one client push out each other, and no route that takes time. */
  #dropLightest(): void {
    const now = this.#now()
    let [lightest, leastMs] = ['', Infinity]
    for (const [name, { ms }] of this.routes) {
      const total = ms.total(now)
      if (total < leastMs) [lightest, leastMs] = [name, total]
    }
    this.routes.delete(lightest)
  }

  #refusal(message: RefusedMessage & { readonly reason?: string }): Refusals {
    const { req, subject, window, reason, dryRun } = message
    const route = this.#lookUp(req) ?? OTHER_ROUTES
    const key = [window, reason, dryRun, route, subject].join('\n')
    const known = this.refusals.get(key)
    if (known !== undefined) return known
    if (this.refusals.size >= MOST_REFUSALS) this.#forget(this.refusals, ({ count }, now) => count.total(now))
    const others = this.refusals.size >= MOST_REFUSALS
    const made = { subject: others ? undefined : subject, route: others ? OTHER_ROUTES : route, window, reason, dryRun }
    const place = others ? [window, reason, dryRun].join('\n') : key
    const found = this.refusals.get(place) ?? { ...made, count: new Series(), run: new RefusalRun() }
    this.refusals.set(place, found)
    return found
  }

  #lookUp(req: Request): string | undefined {
    const asked = `${req.method} ${fullPath(req)}`
    const known = this.#lookedUp.get(asked)
    if (known !== undefined) return known
    const second = Math.floor(this.#now() / 1_000)
    if (this.#lookUps.second !== second) {
      this.#lookUps = { second, layers: this.#isWatched() ? LAYERS_A_SECOND : LAYERS_A_SECOND_UNWATCHED }
    }
    const route = routeAskedFor(req, this.#lookUps)
    if (route === undefined) return undefined
    if (this.#lookedUp.size >= LOOK_UPS_KEPT) this.#lookedUp.clear()
    this.#lookedUp.set(asked, route)
    return route
  }

  /** Drops what is older than the charts. A flood of new kinds does not make it search each time. */
  #forget<T>(kept: Map<string, T>, total: (each: T, now: number) => number): void {
    const now = this.#now()
    if (now - (this.#sweptAt.get(kept) ?? -Infinity) < STEP_MS) return
    this.#sweptAt.set(kept, now)
    for (const [key, each] of kept) if (total(each, now) === 0) kept.delete(key)
  }
}
