import cluster from 'node:cluster'
import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Request } from 'express'
import { bearerCheckOf } from '../../bearer/request-session'
import { shown } from '../../http/options'
import { fullPath } from '../../http/request/full-path'
import type { RouteEntry, RouteMatcher } from '../../http/request/route-match'
import { warnOnce } from '../../http/warn-once'
import { type SubjectFunction, addressSubject } from '../subject'

/** A request that an address pays for: what to look at when the response has ended. */
export interface OrderCheck {
  /** No `subject` was given. */
  readonly isAssumed: boolean
  /** The request may be the login itself. */
  readonly mayStillSignIn: boolean
}

/**
 * Undefined where addresses are meant to pay (`subject: addressSubject`).
 *
 * @param subject the option of the throttle
 */
export function orderCheck(req: IncomingMessage, subject: SubjectFunction | undefined): OrderCheck | undefined {
  if (subject === addressSubject) return undefined
  const { session } = req as SignedIn
  const mayStillSignIn = session !== undefined && session?.passport?.user === undefined
  return { isAssumed: subject === undefined, mayStillSignIn }
}

/** Warns where a user was signed in, and the address paid. */
export function checkOrder(req: IncomingMessage, { isAssumed, mayStillSignIn }: OrderCheck): void {
  if (isAssumed && bearerCheckOf(req)?.session !== undefined) return warnOfBearer()
  const { user, session } = req as SignedIn
  if (user === undefined || user === null) return
  const hasSignedIn = mayStillSignIn && session?.passport?.user !== undefined
  if (!hasSignedIn && hasCredentials(req)) warnOfUser(isAssumed)
}

/** Fields by which a request is known: `Authorization`, `X-Api-Key`, `X-Auth-Token`. */
const CREDENTIALS = /auth|api-?key|token/

/** A request that brings nothing to be known by, or a form, can be a login, also one that starts no session. */
function hasCredentials({ headers, method }: IncomingMessage): boolean {
  if (Object.keys(headers).some((name) => CREDENTIALS.test(name))) return true
  return headers.cookie !== undefined && (method === 'GET' || method === 'HEAD')
}

/** What Passport and its like leave on a request. */
interface SignedIn {
  readonly user?: unknown
  readonly session?: { readonly passport?: { readonly user?: unknown } } | null
}

function warnOfBearer(): void {
  warnOnce(
    'TOLLGATE_ORDER',
    'throttle() ran before requireBearer(), so the address paid and not the user; mount requireBearer() first, ' +
      'or give throttle() a subject of its own',
  )
}

function warnOfUser(isAssumed: boolean): void {
  const remedy = isAssumed ? 'give throttle() a subject that reads req.user, and mount it' : 'mount throttle()'
  warnOnce(
    'TOLLGATE_ORDER',
    'throttle() charged an address, and req.user was set when the response ended, so the address paid and not the ' +
      `user; ${remedy} after the middleware that sets req.user, such as passport.session(). If addresses are to pay, ` +
      'set subject: addressSubject',
    'TOLLGATE_ORDER: req.user',
  )
}

/** Warns of a route whose handlers do not end the responses of clients that have left. @param route such as `GET /search` */
export function warnOfLeft(route: string): void {
  warnOnce(
    'TOLLGATE_CLIENT_LEFT',
    `clients leave requests to ${shown(route)}, and nothing ends the responses, so each pays as if it had run to its end, ` +
      'and takes a place of its user; if its handlers stop when the client has gone, as proxies and GraphQL servers do, ' +
      'set endsWithClient: true for the route',
  )
}

/** Warns of a payer that several others share, mounted before them. @param outer its window, and the one waited for */
export function warnOfSharedPayer(outer: string, inner: string): void {
  warnOnce(
    'TOLLGATE_SHARED_PAYER',
    `requests wait in the window ${shown(inner)} and keep the time and places of the window ${shown(outer)}, whose subjects ` +
      "several others share: one of them makes all wait; mount the narrower payer first, the user's throttle before the team's",
  )
}

/** The text of a value that is not there: `user:${req.user?.id}` where nobody is signed in. */
const MISSING = /(?:^|:)(undefined|null|NaN|\[object Object\])$/

/** Groups of a client's own IPv6 address: global, or local to a site or a link (RFC 4291 §2.4, RFC 4193). */
const IPV6 = /(?<![0-9a-z])(?:[23][0-9a-f]{3}|f[cde][0-9a-f]{2}):[0-9a-f:]+/gi

/** Warns of a subject that names nobody, or a host's whole address: all share one budget, or one host has millions. */
export function warnOfSubject(who: string, subject: { readonly name: string }): void {
  const name =
    subject.name === 'subject' ? 'subject(req)' : `subject, the function ${subject.name || 'without a name'},`
  const missing = MISSING.exec(who)?.[1]
  if (missing !== undefined) {
    warnOnce(
      'TOLLGATE_SUBJECT',
      `${name} returned a string that ends in "${missing}": all such requests share one budget; return ` +
        'undefined where there is no id, for the default payer, or null to exempt the request',
    )
  } else if (who.includes(':') && who.match(IPV6)?.some(isHostAddress)) {
    warnOnce(
      'TOLLGATE_SUBJECT',
      `${name} returned a whole IPv6 address: one host has 2^64 of them and more, and each has a budget of its own, so ` +
        'nobody is refused; return addressSubject(req) in place of req.ip, which takes the /56',
      'TOLLGATE_SUBJECT: IPv6',
    )
  }
}

/** Not a network's address, whose last 64 bits are 0. */
function isHostAddress(text: string): boolean {
  const address = text.replace(/(?<!:):$/, '')
  if (!isIPv6(address)) return false
  const [head = '', tail] = address.split('::')
  const groups = (tail === undefined ? head.split(':').slice(4) : tail.split(':')).join('')
  return /[1-9a-f]/i.test(groups)
}

/** Throttles made for one request each, before a warning. Some apps make one for each tenant, and keep it. */
const MADE_FOR_ONE = 5

interface ServedApp {
  readonly since: number
  /** Throttles that were made since, by their names, and have seen one request. */
  readonly seenOnce: Map<string, number>
}

/** By the app, or by the server where there is none. */
const servedApps = new WeakMap<object, ServedApp>()

/**
 * Warns where an app makes a throttle for each request: each has windows of its own, and refuses nobody.
 *
 * @param madeAt when the throttle was made, by `performance.now()`
 * @param requests how many it has seen: 1 or 2
 */
export function checkReuse(req: Request, name: string, madeAt: number, requests: 1 | 2): void {
  const app = (req.app as object | undefined) ?? (req.socket as { server?: object } | undefined)?.server
  if (app === undefined) return
  const served = servedApps.get(app)
  if (served === undefined) return void servedApps.set(app, { since: performance.now(), seenOnce: new Map() })
  if (madeAt < served.since || served.seenOnce.size > MADE_FOR_ONE) return // names of their own: they are kept
  const seenOnce = (served.seenOnce.get(name) ?? 0) + (requests === 1 ? 1 : -1)
  served.seenOnce.set(name, seenOnce)
  if (seenOnce < MADE_FOR_ONE) return
  warnOnce(
    'TOLLGATE_PER_REQUEST',
    'throttle() is called for each request: each call makes a throttle with windows of its own, so nobody is refused; ' +
      'call it once, outside of the handler, and let limitMs be a function of the request: limitMs: (req) => planOf(req)',
  )
}

/**
 * Warns of a key of `routes` that would match below the throttle's mount path: keys are full paths.
 *
 * @param keys the path of each key
 */
export function warnOfMountedKey(req: Request, keys: readonly RouteEntry<string>[], find: RouteMatcher<string>): void {
  const { baseUrl } = req
  if (keys.every(({ path }) => path.startsWith(baseUrl))) return
  const full = fullPath(req)
  for (const mount of mountsIn(baseUrl)) {
    const path = find(req, full.slice(mount.length) || '/')
    if (path === undefined || path.startsWith(baseUrl)) continue
    warnOnce(
      'TOLLGATE_ROUTES',
      `the key ${shown(path)} of routes does not match ${shown(full)}: keys are full paths, also where throttle() ` +
        `is mounted below one; write ${shown(mount + (path === '/' ? '' : path))}`,
      `TOLLGATE_ROUTES: ${path}`,
    )
  }
}

/** The mount path, and those that it may be below: `/a/b`, `/a`. */
function mountsIn(baseUrl: string): string[] {
  const ends = [...baseUrl.matchAll(/\//g)].map(({ index }) => index).slice(1)
  return [baseUrl, ...ends.reverse().map((end) => baseUrl.slice(0, end))]
}

/** Warns of several processes without a store: each has windows of its own, so a user gets the limit in each. */
export function warnOfProcesses(env = process.env, worker = cluster.worker?.id): void {
  const isPm2 = env.pm_id !== undefined
  const isOneOfMany = isPm2
    ? Number(env.NODE_APP_INSTANCE) > 0 || Number(env.instances) > 1
    : worker !== undefined && worker > 1
  if (!isOneOfMany) return
  warnOnce(
    'TOLLGATE_PROCESSES',
    `throttle() has no store, and this is one of several processes (${isPm2 ? 'PM2' : 'node:cluster'}): each has windows ` +
      "of its own, so a user gets the limit once in each; set store: redisStore('redis://localhost:6379')",
  )
}

/** Warns of a request that passes throttles of two stores that keep the same accounts. @param window its name in both */
export function warnOfTwoStores(window: string): void {
  warnOnce(
    'TOLLGATE_TWO_STORES',
    `a request passes two throttles with a window named ${shown(window)}, each with a redisStore() of its own for ` +
      'the same server: the first alone charges the request; give both the same store, or one of the windows another name',
  )
}
