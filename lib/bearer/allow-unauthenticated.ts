import { METHODS } from 'node:http'
import type { Request, Response } from 'express'
import { dialectOf } from '../http/answer/dialect'
import { hasDotSegments } from '../http/request/dot-segments'
import { fullPath } from '../http/request/full-path'
import { optionError, usageError } from '../http/help'
import { Meter } from '../http/measure/meter'
import { type Middleware, middleware } from '../http/middleware'
import { isText, option, readOptions } from '../http/option-table'
import { routeMatcher } from '../http/request/route-match'
import { warnOnce } from '../http/warn-once'
import { bearerCheckOf, permitUnauthenticated } from './request-session'

const isListOf = (isOne: (one: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.length > 0 && value.every(isOne)
const isPath = (value: unknown) => isText(value) && value.startsWith('/')
const isMethod = (value: unknown) => METHODS.includes(value as string)
const TABLE = {
  paths: option<readonly string[]>('a list of paths that begin with a slash', isListOf(isPath)),
  methods: option<readonly string[]>('a list of HTTP methods in capitals', isListOf(isMethod), ['GET', 'HEAD']),
}

/**
 * Accepts tokens without a user (of an app alone) on the listed paths. It does not make a route public: a request without
 * a token still gets 401. Mount it before `requireBearer()`, which refuses such tokens everywhere else.
 *
 * Express's router matches the paths. A path with dot segments (`/places/../me`) is never allowed, because handlers and
 * proxies behind Express may resolve it.
 *
 * @example app.use(allowUnauthenticated({ paths: ['/platform/places', '/platform/dates'] }))
 * @example app.get('/places', allowUnauthenticated(), requireBearer(), places)
 * @throws {TypeError} in the factory, naming the option; for a request, without `paths` and outside of a route
 */
export function allowUnauthenticated(
  options: {
    /**
     * Full paths in Express's syntax: `['/platform/places']`. Each includes the paths below it, as in `app.use()`. Without
     * `paths`, mount the handler on one route; it applies to that route.
     */
    readonly paths?: readonly string[] | undefined
    /** HTTP methods, in capitals; with `paths` only. Default `['GET', 'HEAD']`. */
    readonly methods?: readonly string[] | undefined
  } = {},
): Middleware {
  const { paths, methods } = readOptions('allowUnauthenticated()', options, TABLE)
  if (paths === undefined && options.methods !== undefined) {
    throw optionError('methods is for paths: a route has its own')
  }
  const permits = paths === undefined ? () => true : matcher(paths, methods)

  return middleware(function allowUnauthenticated(req, res, next) {
    if (dialectOf(undefined, req) === 'familysearch') Meter.of(res)
    if (paths === undefined && !standsOn(req.route, allowUnauthenticated)) {
      throw usageError('allowUnauthenticated() without paths must stand on one route; give it paths')
    }
    checkOrder(req, res)
    permitUnauthenticated(req, permits)
    next()
  })
}

/**
 * Warns if `requireBearer()` runs only before this middleware: it has already refused the requests permitted here. A
 * second `requireBearer()` on the route corrects the order, so the check runs after the response.
 */
function checkOrder(req: Request, res: Response): void {
  const before = bearerCheckOf(req)
  if (before === undefined) return
  res.once('finish', () => {
    if (bearerCheckOf(req) !== before) return
    warnOnce(
      'TOLLGATE_UNAUTHENTICATED_ORDER',
      'allowUnauthenticated() ran after requireBearer(), which had already refused the sessions that it would permit; ' +
        'mount allowUnauthenticated() first',
    )
  })
}

/** Whether this handler is on the route. Express keeps the last route in `req.route`, so its presence proves nothing. */
function standsOn(route: unknown, handler: { readonly name: string }): boolean {
  const stack = (route as { stack: { name: unknown }[] } | undefined)?.stack
  // By its name: tracing agents wrap the handlers of a route and keep their names.
  return stack?.some((layer) => layer.name === handler.name) ?? false
}

function matcher(paths: readonly string[], methods: readonly string[]): (req: Request) => boolean {
  const set = new Set(methods)
  const entries = paths.map((path) => ({ path, methods: set, value: true }))
  const match = routeMatcher('paths', entries)
  return (req) => match(req) === true && !hasDotSegments(fullPath(req))
}
