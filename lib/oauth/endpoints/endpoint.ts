import type { Request, RequestHandler, Response } from 'express'
import { callGuarded } from '../../http/callback'
import { Meter } from '../../http/meter'
import { DirectoryBusyError } from '../directories/directory-busy-error'
import type { ServerContext } from '../server-context'
import { type OAuthRefusedMessage, reportRefusal } from '../diagnostics'
import { OAuthError, invalidRequest } from '../oauth-error'

/** Handles one method of one endpoint. */
export type EndpointHandler = (ctx: ServerContext, req: Request, res: Response) => Promise<void> | void

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
}

/** Called with internal errors, which the client never sees; `report.id` is what stands on the error page. */
export type OnError = (err: unknown, req: Request, report: OAuthRefusedMessage) => unknown

/**
 * The server's context in the dialect of a request.
 *
 * @throws {TypeError} if the app's setting is not a dialect
 */
export type ContextOf = (req: Request) => ServerContext

/** Seconds after which a client should retry while a store or directory is unreachable. */
const RETRY_AFTER_SEC = 5

/**
 * An endpoint's Express handler. It meters the request, forbids caching and answers every error. An error other than an
 * OAuthError comes from a failed store or directory and is answered 503.
 */
export function endpointHandler(contextOf: ContextOf, endpoint: Endpoint, onError: OnError): RequestHandler {
  return async function authorizationServer(req, res, next) {
    Meter.of(res)
    let ctx
    try {
      ctx = contextOf(req)
    } catch (err) {
      return next(err)
    }
    if (!endpoint.cacheable) res.setHeader('Cache-Control', 'no-store').setHeader('Pragma', 'no-cache')
    try {
      const handler = endpoint.methods[req.method === 'HEAD' ? 'GET' : (req.method as keyof Endpoint['methods'])]
      if (!handler) throw methodNotAllowed(endpoint)
      await handler(ctx, req, res)
    } catch (err) {
      try {
        answerError(ctx, endpoint, err, req, res, onError)
      } catch (failure) {
        console.error('express-tollgate: an error could not be answered:', failure)
        if (res.headersSent) return void res.destroy()
        res.status(503).setHeader('Retry-After', String(RETRY_AFTER_SEC)).end()
      }
    }
  }
}

function answerError(
  ctx: ServerContext,
  endpoint: Endpoint,
  err: unknown,
  req: Request,
  res: Response,
  onError: OnError,
) {
  const isBusy = err instanceof DirectoryBusyError
  const known =
    err instanceof OAuthError ? err : new OAuthError('temporarily_unavailable', 'The server cannot answer just now.')
  const status = err instanceof OAuthError ? known.status : 503
  const headers =
    err instanceof OAuthError ? known.headers : { 'Retry-After': String(isBusy ? err.retryAfterSec : RETRY_AFTER_SEC) }
  const reason = err instanceof OAuthError ? (err.reason ?? err.message) : 'a store, a directory or a callback failed'
  const log = err instanceof OAuthError ? ctx.log : undefined // others are onError's to log
  const report = reportRefusal({ endpoint: endpoint.path, code: known.code, status, reason }, log)
  if (!(err instanceof OAuthError) && !isBusy) tell(onError, err, req, report)
  if (res.headersSent) return void res.destroy()
  if (endpoint.errors === 'json') {
    sendJson(res, status, { error: known.code, error_description: known.message }, headers)
  } else ctx.pages.error(res, status, report, headers)
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
  const methods = Object.keys(endpoint.methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const { code, message } = invalidRequest(`This endpoint answers ${methods.join(', ')} only.`)
  return new OAuthError(code, message, 405, { Allow: methods.join(', ') })
}
