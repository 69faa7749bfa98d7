import type { Application, Request } from 'express'
import { fullPath } from '../http/request/full-path'
import { rootApp } from '../http/request/root-app'

/** Routes that figures tell apart; the rest shares one line. */
export const MOST_ROUTES = 200
export const OTHER_ROUTES = 'other routes'
const LONGEST = 200
/** A longer path is not looked up: each layer of the router would read all of it. */
const LONGEST_PATH = 1_000

/** What is looked at of a layer of Express's router, 4 or 5. */
interface Layer {
  readonly handle?: { readonly stack?: readonly Layer[] }
  readonly route?: { readonly path?: unknown; readonly methods?: Readonly<Record<string, boolean>> }
  /** True where the match is left on the layer (Express 4), or the match itself. */
  match(path: string): boolean | Match
  readonly params?: Match['params']
  readonly path?: string
}

interface Match {
  readonly params: Readonly<Record<string, string | readonly string[]>>
  readonly path: string
}

/**
 * The route of a request as the app wrote it, mounts included: `GET /users/:id/tree`. A path as it was asked for may be
 * personal, so what is not known to be written by the app is shown as `…`.
 *
 * @returns undefined where no route was reached
 */
export function routeName(req: Request): string | undefined {
  const route = req.route as Layer['route']
  if (route === undefined || typeof route.path !== 'string') return undefined
  return `${methodName(req, route)} ${mountPattern(req, route)}${route.path}`.slice(0, LONGEST)
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Thirty other methods reach a route of `app.all()`: those that the app did not write are one. */
function methodName({ method }: Request, route: NonNullable<Layer['route']>): string {
  return METHODS.includes(method) || route.methods?.[method.toLowerCase()] ? method : 'OTHER'
}

/** How many layers of Express's router may be tried yet. */
export interface LookUp {
  layers: number
}

/**
 * The route that a request would have reached, named as {@link routeName} does: it was refused before it was routed.
 *
 * @param lookUp is counted down by the layers tried
 * @returns undefined where the app has no such route, or `lookUp.layers` of them did not reach it
 */
export function routeAskedFor(req: Request, lookUp: LookUp): string | undefined {
  const path = fullPath(req)
  if (lookUp.layers <= 0 || path.length > LONGEST_PATH) return undefined
  const method = req.method === 'HEAD' ? 'get' : req.method.toLowerCase()
  const found = routeFor(method, stackOf(req.app), path, lookUp)
  return found && `${methodName(req, found.route)} ${found.pattern}`.slice(0, LONGEST)
}

interface FoundRoute {
  readonly route: NonNullable<Layer['route']>
  readonly pattern: string
}

function routeFor(method: string, stack: readonly Layer[], path: string, lookUp: LookUp): FoundRoute | undefined {
  for (const layer of stack) {
    if (lookUp.layers-- <= 0) return undefined
    const { route, handle } = layer
    if (route === undefined && handle?.stack === undefined) continue
    const match = matched(layer, path)
    if (match === undefined) continue
    if (route !== undefined) {
      const { path: pattern, methods } = route
      if (typeof pattern === 'string' && (methods?.[method] || methods?._all)) return { route, pattern }
      continue
    }
    const rest = routeFor(method, handle?.stack ?? [], path.slice(match.path.length), lookUp)
    if (rest !== undefined) return { ...rest, pattern: patternOf(match) + rest.pattern }
  }
  return undefined
}

/** Found once for each route; again where the same router is mounted in another place. */
const patterns = new WeakMap<object, string>()

function mountPattern(req: Request, route: object): string {
  const { baseUrl } = req
  if (baseUrl === '') return ''
  const known = patterns.get(route)
  if (known !== undefined && covers(known, baseUrl)) return known
  const found = patternTo(route, stackOf(req.app), baseUrl) ?? baseUrl.replace(/[^/]+/g, '…')
  patterns.set(route, found)
  return found
}

/** Follows the mounts that lead to the route. Express has no public way to ask for their patterns. */
function patternTo(route: object, stack: readonly Layer[], path: string): string | undefined {
  for (const layer of stack) {
    if (layer.route === route) return path === '' ? '' : undefined
    const inner = layer.handle?.stack
    if (inner === undefined) continue
    const match = matched(layer, path)
    const rest = match && patternTo(route, inner, path.slice(match.path.length))
    if (match && rest !== undefined) return patternOf(match) + rest
  }
  return undefined
}

function matched(layer: Layer, path: string): Match | undefined {
  try {
    const match = layer.match(path === '' ? '/' : path)
    if (typeof match === 'object') return path === '' ? { ...match, path: '' } : match
    return match ? { params: layer.params ?? {}, path: path === '' ? '' : (layer.path ?? '') } : undefined
  } catch {
    return undefined // a path that cannot be decoded
  }
}

/**
 * The part of the path that a mount took, with the names of parameters in the place of their values; in lower case, since
 * a client may write it in any.
 */
function patternOf({ path, params }: Match): string {
  const names = new Map(Object.entries(params).map(([name, value]) => [String(value), name]))
  const segments = path.split('/').map((segment) => {
    const name = names.get(decoded(segment))
    return name === undefined ? segment.toLowerCase() : `:${name}`
  })
  // A parameter that is a part of a segment, or several of them: nothing of it is shown.
  const left = segments.filter((segment) => !segment.startsWith(':'))
  const leaks = [...names.keys()].some(
    (value) => value !== '' && left.some((segment) => decoded(segment).includes(value)),
  )
  return leaks ? path.replace(/[^/]+/g, '…') : segments.join('/')
}

/** Whether a pattern found before stands for this mount, too. */
function covers(pattern: string, baseUrl: string): boolean {
  const [wanted, given] = [pattern.split('/'), baseUrl.split('/')]
  if (wanted.length !== given.length) return false
  return wanted.every((segment, i) => segment.startsWith(':') || segment === '…' || segment === given[i]?.toLowerCase())
}

/** None in a router without an app. */
function stackOf(app: Application | undefined): readonly Layer[] {
  const root = (app === undefined ? {} : rootApp(app)) as Record<'router' | '_router', { stack?: Layer[] } | undefined>
  return (root._router ?? root.router)?.stack ?? []
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
