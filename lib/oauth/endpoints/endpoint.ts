import type { Request, RequestHandler, Response } from 'express'
import { callGuarded } from '../../http/callback'
import { Meter } from '../../http/measure/meter'
import { clientNetwork } from '../../http/request/client-network'
import { DirectoryBusyError } from '../directories/hash-slots'
import { type OAuthRefusedMessage, reportRefusal } from '../diagnostics'
import { OAuthError } from '../oauth-error'
import { requestNetwork } from '../request-network'
import type { PageRenderer, Stop } from '../pages/page-renderer'

/** Handles one method of one endpoint. */
export type EndpointHandler = (req: Request, res: Response) => Promise<void> | void

/** An endpoint of the server. */
export interface Endpoint {
  /** Its path below the issuer. */
  readonly path: string
  /** Its handlers by method; GET also answers HEAD. */
  readonly methods: Readonly<Partial<Record<'GET' | 'POST' | 'PUT' | 'DELETE', EndpointHandler>>>
  /** The form of its errors: JSON for programs, a page for people. */
  readonly errors: 'json' | 'page'
  /** Whether caches may store its responses. Default false. */
  readonly cacheable?: boolean
  /** Whether apps in browsers may call it from any origin, without cookies. Default false. */
  readonly anyOrigin?: boolean
}

/** Called with internal errors, which the client never sees; `report.id` is what stands on the error page. */
export type OnError = (err: unknown, req: Request, report: OAuthRefusedMessage) => unknown

/** An endpoint as it is served. */
export interface Served {
  readonly endpoint: Endpoint
  readonly pages: PageRenderer
  /** Receives a line per refused request. Undefined: no such log. */
  readonly log: ((line: string) => void) | undefined
  readonly onError: OnError
}

/** Seconds after which a client should retry while a store or directory is unreachable. */
const RETRY_AFTER_SEC = 5

/**
 * An endpoint's Express handler. It meters the request, forbids caching and answers every error. An error other than an
 * OAuthError comes from a failed store or directory and is answered 503.
 *
 * @param servedTo the endpoint in the dialect of the request. Throws a TypeError if the app's setting is not a dialect
 */
export function endpointHandler(servedTo: (req: Request) => Served): RequestHandler {
  return async function authorizationServer(req, res, next) {
    Meter.of(res)
    let served
    try {
      served = servedTo(req)
    } catch (err) {
      return next(err)
    }
    const { methods, cacheable, anyOrigin } = served.endpoint
    // Also where a middleware before has set another: a popup's redirects count, too.
    if (served.endpoint.errors === 'page') res.setHeader('Cross-Origin-Opener-Policy', served.pages.openerPolicy)
    if (!cacheable) res.setHeader('Cache-Control', 'no-store').setHeader('Pragma', 'no-cache')
    try {
      if (anyOrigin && allowAnyOrigin(served.endpoint, req, res)) return
      const handler = methods[req.method === 'HEAD' ? 'GET' : (req.method as keyof Endpoint['methods'])]
      if (!handler) throw methodNotAllowed(served.endpoint)
      await requestNetwork.run(clientNetwork(req), () => handler(req, res))
    } catch (err) {
      try {
        answerError(served, err, req, res)
      } catch (failure) {
        console.error('express-tollgate: an error could not be answered:', failure)
        if (res.headersSent) return void res.destroy()
        res.status(503).setHeader('Retry-After', String(RETRY_AFTER_SEC)).end()
      }
    }
  }
}

/**
 * Lets apps in browsers call the endpoint, unless the app's own CORS middleware has decided. Cookies count for nothing here,
 * so no origin is told from another. Answers a preflight, and tells whether it did.
 */
function allowAnyOrigin(endpoint: Endpoint, req: Request, res: Response): boolean {
  if (!res.hasHeader('Access-Control-Allow-Origin')) {
    res.setHeader('Access-Control-Allow-Origin', '*')
    res.setHeader('Access-Control-Expose-Headers', 'WWW-Authenticate, DPoP-Nonce, Retry-After')
  }
  if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return false
  res.setHeader('Access-Control-Allow-Methods', methodsOf(endpoint))
  res.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, DPoP, MCP-Protocol-Version, *')
  res.setHeader('Access-Control-Max-Age', '7200')
  res.status(204).end()
  return true
}

function answerError({ endpoint, pages, log, onError }: Served, err: unknown, req: Request, res: Response) {
  const isBusy = err instanceof DirectoryBusyError
  const isOurs = err instanceof OAuthError
  const known = isOurs ? err : new OAuthError('temporarily_unavailable', 'The server cannot answer just now.')
  const status = isOurs ? known.status : 503
  const headers = isOurs ? known.headers : { 'Retry-After': String(isBusy ? err.retryAfterSec : RETRY_AFTER_SEC) }
  const reason = isOurs ? (err.reason ?? err.message) : failureOf(err)
  // Of others onError is told. Those that have a code of ours name a mistake in the app's own functions.
  const isLogged = isOurs || reason !== FAILED
  const refusal = { endpoint: endpoint.path, code: known.code, status, reason }
  const report = reportRefusal(refusal, isLogged ? log : undefined)
  if (!isOurs && !isBusy) tell(onError, err, req, report)
  if (res.headersSent) return void res.destroy()
  if (endpoint.errors === 'json') {
    sendJson(res, status, { error: known.code, error_description: known.message }, headers)
  } else {
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
    pages.stop(res, status, STOPS[status] ?? 'badRequest', { report })
  }
}

/** The page of a status. */
const STOPS: Readonly<Record<number, Stop>> = { 403: 'forbidden', 429: 'tooMany', 503: 'unavailable' }

const FAILED = 'a store, a directory or a callback failed'

function failureOf(err: unknown): string {
  const { code, message } = (err ?? {}) as { code?: unknown; message?: unknown }
  return typeof code === 'string' && code.startsWith('TOLLGATE_') ? String(message) : FAILED
}

/** Calls the app's function, which may throw or reject: Express 4 would end the process over it. */
function tell(onError: OnError, err: unknown, req: Request, report: OAuthRefusedMessage): void {
  const failed = (failure: unknown) =>
    console.error(`express-tollgate ${report.id}: onError failed:`, failure, 'while it was told of', err)
  callGuarded(() => onError(err, req, report), failed)
}

/** Sends JSON (RFC 6749 §5). */
export function sendJson(
  res: Response,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body)
  res.status(status)
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  res.setHeader('Content-Type', 'application/json;charset=UTF-8')
  res.setHeader('X-Content-Type-Options', 'nosniff')
  res.setHeader('Content-Length', Buffer.byteLength(text))
  res.end(res.req.method === 'HEAD' ? undefined : text)
}

function methodNotAllowed(endpoint: Endpoint): OAuthError {
  const methods = methodsOf(endpoint)
  return new OAuthError('invalid_request', `This endpoint answers ${methods} only.`, 405, { Allow: methods })
}

function methodsOf({ methods }: Endpoint): string {
  return Object.keys(methods)
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ')
}
