import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Request } from 'express'
import type { AdmittedMessage, ChargedMessage, RefusedMessage, SyncedMessage } from '../throttle/diagnostics'
import { folded } from '../throttle/request/route-table'
import { Series } from './series'

/** Routes told apart; what comes later shares a line. */
const MOST_ROUTES = 200
const LONGEST_ROUTE = 200
const OTHER_ROUTES = 'other routes'

/** What one route cost. */
export interface RouteActivity {
  readonly ms: Series
  readonly requests: Series
}

/**
 * What this process did lately, told by `node:diagnostics_channel`: requests, refusals, processing time by route, and
 * how long the store took. Bounded, whoever asks for what.
 */
export class Activity {
  readonly admitted = new Series()
  readonly refused = new Series()
  readonly synced = new Series()
  readonly syncMs = new Series()
  readonly routes = new Map<string, RouteActivity>()
  readonly #listeners: Record<string, ChannelListener>

  /**
   * @param windows names of those that count
   * @param now in milliseconds
   * @param seen is told who asked for time in which window
   */
  constructor(windows: ReadonlySet<string>, now: () => number, seen: (window: string, subject: string) => void) {
    const ours = <M extends { readonly window: string }>(take: (message: M) => void): ChannelListener => {
      return (message) => void (windows.has((message as M).window) && take(message as M))
    }
    this.#listeners = {
      'express-tollgate:admitted': ours<AdmittedMessage>(({ window, subject }) => {
        this.admitted.add(now(), 1)
        seen(window, subject)
      }),
      'express-tollgate:refused': ours<RefusedMessage>(({ window, subject }) => {
        this.refused.add(now(), 1)
        seen(window, subject)
      }),
      'express-tollgate:charged': ours<ChargedMessage>(({ req, ms, by }) => {
        const route = this.#route(routeOf(req))
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
}

/** The route as the app wrote it, where there was one: `GET /persons/:id`. A path as it was asked for may be personal. */
function routeOf(req: Request | undefined): string {
  const path = (req?.route as { path?: unknown } | undefined)?.path
  if (req === undefined || typeof path !== 'string') return OTHER_ROUTES
  return `${req.method} ${folded(req.baseUrl)}${path}`.slice(0, LONGEST_ROUTE)
}
