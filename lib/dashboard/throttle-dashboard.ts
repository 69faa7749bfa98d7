import type { NextFunction, Request, RequestHandler, Response, Router as ExpressRouter } from 'express'
import { Router, urlencoded } from '../http/express'
import { optionError } from '../http/help'
import { isRequest, optionNames, optionType, shown, uncalled } from '../http/options'
import { type RedisClient, checkRedis } from '../redis/redis-client'
import { type ThrottleIntrospection, introspectionOf } from '../throttle/introspection'
import { HOURS_KEPT } from '../advisor/hourly'
import { StoreDownError } from '../throttle/usage'
import type { Throttle } from '../throttle/throttle'
import { Activity } from './activity'
import { AllProcesses } from './all-processes'
import { dashboardJs, pageHtml, styleCss } from './assets'
import { csrfToken, isOwnRequest } from './own-request'
import { overview } from './snapshot'
import { Spenders } from './spenders'
import { Viewers } from './viewers'

/**
 * Options of {@link throttleDashboard}.
 *
 * @experimental these options may change in a minor release
 */
export interface DashboardOptions {
  /**
   * Who may see it, and reset subjects: the app's own authorization, as middleware. It calls `next()` for those who may,
   * and answers all others. Required: there is no dashboard without it.
   */
  readonly guard: RequestHandler | readonly RequestHandler[]
  /**
   * The Redis of the throttle's store: what `redisStore()` takes, or a URL of any node of a Cluster. Subjects and holds
   * are then those of all processes. The connection is its own, and only reads. Default: what this process knows.
   */
  readonly redis?: RedisClient | string | undefined
  /** That of `redisStore()`. Default `tollgate:`. */
  readonly prefix?: string | undefined
  /**
   * The name that the page shows for a subject, given as `req.throttle.subject`: `(subject) => subject` shows it as it is.
   * Subjects that only other processes have served are named where `redisStore(url, { keepSubjects: true })` keeps their text,
   * which may be shortened; others are shown by their hashes. So is one for whom it throws, or returns anything but text.
   * At most 200 characters are shown. Default: the text that the store keeps, and that of subjects whom this process has
   * refused in the last five minutes; all others are hashes.
   */
  readonly label?: ((subject: string) => string | undefined) | undefined
  /** The app's name, for the page's title and heading. Default: the host that the page is opened at. */
  readonly title?: string | undefined
}

/** The dashboard, to be mounted: `app.use('/admin/throttle', dashboard)`. */
export interface ThrottleDashboard extends ExpressRouter {
  /** Ends the streams and closes the connection to Redis. Safe to call twice. */
  close(): Promise<void>
  /** As `close()`: `await using dashboard = throttleDashboard(throttled, { guard })`. */
  [Symbol.asyncDispose](): Promise<void>
}

const LONGEST_NAME = 200
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join('; ')
const OWN_HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/**
 * A page that shows, as it happens, who spends processing time, what is on hold, who is refused where and why, what each
 * route costs and whether the store answers; and that resets a subject's usage.
 *
 * Requests, refusals, routes and the store's answer time are this process's own; subjects and holds are all processes'
 * where `redis` says where to read them.
 *
 * @example app.use('/admin/throttle', throttleDashboard(throttled, { guard: requireAdmin, redis: process.env.REDIS_URL }))
 * @param throttle what `throttle()` returned
 * @throws {TypeError} where there is no guard, or an option is wrong
 */
export function throttleDashboard(throttle: Throttle, options: DashboardOptions): ThrottleDashboard {
  const { inside, guard, redis, prefix = 'tollgate:', label, title = '' } = checked(throttle, options)
  const spenders = new Spenders(inside)
  const hashOf = spenders.hashOf.bind(spenders)
  const windows = new Set(inside.windows.map(({ policy }) => policy.name))
  const activity = new Activity(
    windows,
    () => inside.clock.now(),
    (window, name) => spenders.saw(window, name),
    () => viewers.areThere,
    inside.stalls,
  )
  const all =
    redis === undefined
      ? undefined
      : new AllProcesses(
          redis,
          prefix,
          inside.windows.map(({ policy }) => policy),
          hashOf,
        )
  const guardedLabel = label && guardedLabelOf(label)
  const viewers: Viewers = new Viewers(inside.clock, hashOf, async (finds) =>
    overview(inside, activity, spenders, await all?.read(finds), guardedLabel),
  )

  const isUsageShared = inside.windows.every(({ accounts }) => accounts.usage.isShared)

  const router = Router()
  router.use(...guard.map(guarded), setOwnHeaders)
  router.get('/', (req, res) => {
    // What the page asks for is beside it, wherever a proxy has put it.
    if (!/^[^?]*\/(\?|$)/.test(req.originalUrl)) return res.redirect(302, `./${req.baseUrl.split('/').pop()}/`)
    const token = csrfToken(req, res)
    res.type('html').send(pageHtml.replace('{{csrf}}', token).replace('{{title}}', () => escaped(title)))
  })
  router.get('/dashboard.js', (_req, res) => void res.type('text/javascript').send(dashboardJs))
  router.get('/style.css', (_req, res) => void res.type('css').send(styleCss))
  router.get('/events', (req, res) => viewers.add(req, res))
  router.get('/advice', (req, res) => {
    throttle.advise({ hours: hoursIn(req.originalUrl) }).then(
      (advice) => void res.json({ advice, source: isUsageShared ? 'redis' : 'process' }),
      (err: Error) => answer(res, 503, err.message),
    )
  })
  router.post('/reset', urlencoded({ extended: false, limit: '4kb' }), (req, res, next) => {
    reset(req, res).catch(next)
  })

  async function reset(req: Request, res: Response): Promise<void> {
    if (!isOwnRequest(req)) return answer(res, 403, 'Only the dashboard itself may ask for that. Load it again.')
    const { id, name } = (req.body ?? {}) as { id?: unknown; name?: unknown }
    const who = typeof id === 'string' ? await subjectOf(id) : name
    if (typeof id === 'string' && who === undefined)
      return answer(res, 404, 'Neither this process nor Redis knows whom the hash stands for. Reset the subject by its name.') // prettier-ignore
    if (typeof who !== 'string' || who === '') return answer(res, 400, 'Say which subject, by id or by name.')
    try {
      await throttle.reset(who)
    } catch (err) {
      if (err instanceof StoreDownError) return answer(res, 503, 'The store does not answer, so nothing was reset.')
      throw err
    }
    await viewers.refresh()
    answer(res, 200, 'The usage of the subject was reset.')
  }

  /** The subject of a hash: as this process knows it, or the name that the store keeps, if it is whole. */
  async function subjectOf(id: string): Promise<string | undefined> {
    const own = spenders.all().find(({ subject }) => subject === id)
    if (own !== undefined) return own.name
    const stored = (await all?.of(id))?.find(({ name }) => name !== undefined)?.name
    return stored !== undefined && spenders.hashOf(stored) === id ? stored : undefined
  }

  function close(): Promise<void> {
    activity.close()
    viewers.close()
    all?.close()
    return Promise.resolve()
  }

  return Object.assign(router, { close, [Symbol.asyncDispose]: close })
}

function checked(throttle: Throttle, options: DashboardOptions) {
  const inside: ThrottleIntrospection | undefined = introspectionOf(throttle)
  if (isRequest(throttle)) throw uncalled('throttleDashboard', 'throttled, { guard }')
  if (inside === undefined)
    throw optionError(`throttleDashboard takes what throttle() returned; received ${shown(throttle)}`)
  optionNames('throttleDashboard', options ?? {}, ['guard', 'redis', 'prefix', 'label', 'title'])
  const { redis, prefix, label, title } = options ?? {}
  const given: unknown = options?.guard
  const guard = (Array.isArray(given) ? given : [given]) as RequestHandler[]
  // Express takes a function of four parameters for an error handler, and passes it by.
  if (guard.length === 0 || !guard.every((each) => typeof each === 'function' && each.length <= 3)) {
    throw optionError(
      'throttleDashboard needs a guard: middleware that lets in those who may see it, and answers all others; ' +
        `received ${typeof given === 'string' ? 'a string' : shown(given)}`,
    )
  }
  optionType('prefix', prefix, 'string')
  optionType('label', label, 'function')
  optionType('title', title, 'string')
  if (redis !== undefined) checkRedis('throttleDashboard({ redis })', redis)
  return { ...options, inside, guard }
}

/** Express 4 does not look after a guard's promise: one that rejects would end the process. */
function guarded(guard: RequestHandler): RequestHandler {
  return (req, res, next) => {
    Promise.resolve(guard(req, res, next)).catch(next)
  }
}

/** The app's label of a subject. The subject is text that a client may have chosen, so a label that cannot be made is left out. */
function guardedLabelOf(label: (subject: string) => string | undefined): (subject: string) => string | undefined {
  return (subject) => {
    try {
      const name: unknown = label(subject)
      if (typeof name === 'string') return name.slice(0, LONGEST_NAME)
      Promise.resolve(name).catch(() => undefined)
    } catch {
      // shown by its hash
    }
    return undefined
  }
}

/** How many hours back the advisor is to look. */
function hoursIn(url: string): number {
  const asked = Number(new URLSearchParams(url.split('?', 2)[1]).get('hours'))
  return asked === 24 || asked === HOURS_KEPT ? asked : 1
}

/** An app's cors() is not for this page. */
function setOwnHeaders(_req: Request, res: Response, next: NextFunction): void {
  res.removeHeader('Access-Control-Allow-Origin')
  res.removeHeader('Access-Control-Allow-Credentials')
  res.set(OWN_HEADERS)
  next()
}

function answer(res: Response, status: number, message: string): void {
  res.status(status).json({ message })
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
}
