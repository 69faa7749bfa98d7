import type { TLSSocket } from 'node:tls'
import type { NextFunction, Request, Response } from 'express'
import { asError } from '../http/callback'
import { deny } from '../http/deny'
import { Meter } from '../http/meter'
import { type Middleware, middleware } from '../http/middleware'
import { warnOnce } from '../http/warn-once'
import { type Authenticated, authenticate } from './authenticate'
import { bearerConfig } from './bearer-config'
import type { BearerOptions } from './bearer-options'
import { denialOf } from './challenge'
import type { AppRequestView } from './credentials/token-sources'
import { bearerEvents, publish } from './diagnostics'
import type { IssuerKey } from './issuers/token-verifier'
import type { Refusal } from './refusal/refusal'
import { isUnauthenticatedPermitted, recordSession } from './request-session'
import type { Session } from './session/session'

/** Middleware that {@link requireBearer} returns. */
export interface BearerHandler extends Middleware {
  /**
   * Resolves when the issuers' keys are loaded; at once if they were given as options. Call it at startup. With a list
   * in `tenants`, it loads the keys of all; with a function, those of tenants whose tokens were received.
   *
   * @throws {Error} if keys cannot be loaded; the message says why, and requests try again
   */
  ready(): Promise<void>
  /**
   * Fetches the issuers' keys again, even if they are fresh: for a rotation that must take effect at once.
   *
   * @throws {Error} as `ready()` does; the previous keys remain valid
   */
  reload(): Promise<void>
  /**
   * Keys loaded so far: `[{ issuer: 'https://ident.example.org', kid: '2026-11', algorithms: ['RS256'] }]`. Where each
   * tenant has its own, `issuer` is the tenant's.
   */
  keys(): readonly IssuerKey[]
}

/**
 * Lets in requests with a valid access token (RFC 6750) and sets `req.auth` to its session:
 * `{ kind: 'user', issuer, sub, userId, clientId, scope, claims }`. The token is a signed JWT in the `Authorization`
 * field (RFC 9068), unless options say otherwise.
 *
 * Other requests are refused as in RFC 6750 §3. No token: 401 with a bare challenge. Malformed request: 400
 * `invalid_request`. Invalid token: 401 `invalid_token`. Missing scope: 403 `insufficient_scope`. Keys of the issuer
 * unavailable: 503 with `Retry-After`. Sessions without a user are let in only on paths of `allowUnauthenticated()`.
 *
 * @example app.use(requireBearer({ issuer: 'https://ident.example.org', audience: 'https://api.example.org' }))
 * @throws {TypeError|RangeError} in the factory, naming the option that is missing, unknown, contradictory or wrong
 */
export function requireBearer(options: BearerOptions = {}): BearerHandler {
  const config = bearerConfig(options, process.env)

  function requireBearer(req: Request, res: Response, next: NextFunction): void {
    Meter.of(res)
    const failed = (failure: unknown) => next(asError(failure)) // what a function of the app threw
    let outcome: ReturnType<typeof authenticate>
    try {
      outcome = authenticate(new ExpressRequestView(req), config)
    } catch (failure) {
      return failed(failure)
    }
    if (outcome instanceof Promise) outcome.then((late) => settle(late, req, res, next)).catch(failed)
    else settle(outcome, req, res, next)
  }

  function settle(outcome: Authenticated | Refusal, req: Request, res: Response, next: NextFunction): void {
    const authenticated = 'refused' in outcome ? outcome : permitted(outcome, req)
    if ('refused' in authenticated) {
      if (config.optional && authenticated.refused === 'no_token') return letIn(undefined, req, next)
      publish(req, authenticated)
      config.warn(authenticated)
      if (authenticated.refused === 'no_token' && options.warnings !== false) warnOfPublicRoute(req)
      return deny(denialOf(authenticated, config.challenge), config.deny, req, res, next)
    }
    const { session, headers } = authenticated
    for (const name in headers) res.setHeader(name, headers[name] as string)
    letIn(session, req, next)
  }

  function letIn(session: Session | undefined, req: Request, next: NextFunction): void {
    if (bearerEvents.hasSubscribers) publish(req, session) // most requests come here, and mostly nobody listens
    recordSession(req, session, config)
    const target: { auth?: unknown } = req // another package's types may say otherwise
    target.auth = session
    next()
  }

  const { verifier } = config
  const issuerKeys = { ready: () => verifier.ready(), reload: () => verifier.reload(), keys: () => verifier.keys() }
  return Object.assign(middleware(requireBearer), issuerKeys)
}

/** Warns once if a request without a token was refused on a path that `allowUnauthenticated()` lists. */
function warnOfPublicRoute(req: Request): void {
  if (!isUnauthenticatedPermitted(req)) return
  warnOnce(
    'TOLLGATE_NOT_PUBLIC',
    `${req.method} ${req.baseUrl}${req.path} without a token got 401, although allowUnauthenticated() lists the path: ` +
      'it accepts tokens without a user, and does not make a route public. To make it public, mount the route before ' +
      'requireBearer()',
  )
}

/** View of a request for the check. A class, because an object literal takes 15 µs to make its accessors. */
class ExpressRequestView implements AppRequestView {
  readonly method: string
  readonly target: string
  readonly rawHeaders: readonly string[] | undefined
  readonly headers: Request['headers']

  constructor(readonly request: Request) {
    const hosted: Partial<Request> = request // outside Express it has less
    this.method = request.method
    this.target = hosted.originalUrl ?? request.url
    this.rawHeaders = request.rawHeaders // an adapter's or a test's request may have none
    this.headers = request.headers
  }

  get origin(): string {
    const { host } = this.headers // RFC 9112 §3.2: HTTP/1.0 need not say it, and then no proof is for it
    const { protocol, socket } = this.request as Partial<Request>
    return host ? `${protocol ?? ((socket as Partial<TLSSocket>).encrypted ? 'https' : 'http')}://${host}` : ''
  }

  get form(): object | undefined {
    const body: unknown = this.request.body
    return typeof body === 'object' && body !== null && isForm(this.request) ? body : undefined
  }
}

function isForm(req: Request): boolean {
  return /^application\/x-www-form-urlencoded *(?:;|$)/i.test(req.headers['content-type'] ?? '')
}

function permitted(authenticated: Authenticated, req: Request): Authenticated | Refusal {
  if (authenticated.session.kind !== 'unauthenticated' || isUnauthenticatedPermitted(req)) return authenticated
  return { refused: 'unauthenticated_session' }
}
