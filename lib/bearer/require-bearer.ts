import type { NextFunction, Request, Response } from 'express'
import { asError, isThenable } from '../http/callback'
import { denialError } from '../errors'
import { deny } from '../http/answer/deny'
import { dialectOf } from '../http/answer/dialect'
import { Meter } from '../http/measure/meter'
import { type Middleware, middleware } from '../http/middleware'
import { warnOnce } from '../http/warn-once'
import { optionNames, optionType } from '../http/options'
import { type Authenticated, type CheckOptions, authenticate, authenticateToken } from './authenticate'
import { bearerConfig } from './bearer-config'
import type { BearerOptions } from './bearer-options'
import { denialOf } from './challenge'
import { ExpressView } from './credentials/express-view'
import { bearerEvents, publish } from './diagnostics'
import type { KeyControl } from './issuers/token-verifier'
import type { Refusal } from './refusal/refusal'
import { isUnauthenticatedPermitted, recordSession } from './request-session'
import type { Session } from './session/session'

/** Middleware that {@link requireBearer} returns. */
export interface BearerHandler extends Middleware, KeyControl {
  /**
   * Checks a token outside of a request, by the same rules: of a WebSocket's handshake, a message of a queue, a gRPC call.
   * Tokens bound to a key (DPoP) and sessions without a user are refused, and so is no token, also with `optional: true`.
   *
   * @example io.use(async (socket, next) => { socket.data.auth = await bearer.check(socket.handshake.auth.token); next() })
   * @param token with or without `Bearer ` before it
   * @param options `resource`: one audience that the token must be for: `'https://api.example.org/orders'`; `ip`: the
   *   client's address, as calls to an issuer are shared fairly by block of addresses: `req.socket.remoteAddress`
   * @throws {UnauthorizedError|InsufficientScopeError|InvalidRequestError|UnavailableError} with `status`, `code`,
   *   `reason`, and `headers` for a response: `{ 'WWW-Authenticate': 'Bearer error="invalid_token", …' }`
   */
  readonly check: (token: unknown, options?: CheckOptions) => Promise<Session>
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
    const failed = (failure: unknown) => next(asError(failure)) // what a function of the app threw
    let outcome: ReturnType<typeof authenticate>
    try {
      if (dialectOf(config.deny.dialect, req) === 'familysearch') Meter.of(res)
      outcome = authenticate(new ExpressView(req), config)
    } catch (failure) {
      return failed(failure)
    }
    if (isThenable(outcome)) outcome.then((late) => settle(late, req, res, next)).then(undefined, failed)
    else settle(outcome, req, res, next)
  }

  function settle(outcome: Authenticated | Refusal, req: Request, res: Response, next: NextFunction): void {
    if ('refused' in outcome) return refused(outcome, req, res, next)
    const { session, headers } = outcome
    if (session.kind === 'unauthenticated' && !isUnauthenticatedPermitted(req)) {
      return refused({ refused: 'unauthenticated_session' }, req, res, next)
    }
    for (const name in headers) res.setHeader(name, headers[name] as string)
    letIn(session, req, next)
  }

  function refused(refusal: Refusal, req: Request, res: Response, next: NextFunction): void {
    const isBare = refusal.refused === 'no_token'
    if (config.optional && isBare) return letIn(undefined, req, next)
    publish(req, refusal)
    config.warn(refusal)
    if (isBare && options.warnings !== false) warnOfPublicRoute(req)
    deny(denialOf(refusal, config.challenge, req), config.deny, req, res, next)
  }

  function letIn(session: Session | undefined, req: Request, next: NextFunction): void {
    if (bearerEvents.hasSubscribers) publish(req, session) // most requests come here, and mostly nobody listens
    recordSession(req, session, config)
    const target: { auth?: unknown } = req // another package's types may say otherwise
    target.auth = session
    next()
  }

  async function check(token: unknown, options: CheckOptions = {}): Promise<Session> {
    optionNames('check()', options, ['resource', 'ip'])
    for (const name of ['resource', 'ip'] as const) optionType(name, options[name], 'string')
    const outcome = await authenticateToken(token, options, config).catch((failure: unknown) => {
      throw asError(failure)
    })
    if (bearerEvents.hasSubscribers) publish(undefined, 'refused' in outcome ? outcome : outcome.session)
    if (!('refused' in outcome)) return outcome.session
    config.warn(outcome)
    throw denialError(denialOf(outcome, config.challenge))
  }

  const { ready, reload, keys } = config.verifier
  return Object.assign(middleware(requireBearer), { check, ready, reload, keys })
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
