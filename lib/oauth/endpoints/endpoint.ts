import type { Request, RequestHandler, Response } from 'express'
import { Meter } from '../../http/meter'
import type { Context } from '../context'
import { OAuthError, invalidRequest } from '../oauth-error'

/** Answers one method of one endpoint. */
export type EndpointHandler = (ctx: Context, req: Request, res: Response) => Promise<void> | void

/** An endpoint: what the router knows of it. */
export interface Endpoint {
  /** Its path below the issuer. */
  readonly path: string
  /** Its handlers by method; GET also answers HEAD. */
  readonly methods: Readonly<Partial<Record<'GET' | 'POST', EndpointHandler>>>
  /** How its errors look: JSON for programs, a page for people. */
  readonly errors: 'json' | 'page'
  /** Whether its answers may be kept by caches. Default false. */
  readonly cacheable?: boolean
}

/** Hears of what went wrong inside; its client learns nothing of it. */
export type OnError = (err: unknown, req: Request) => void

/** A client should come back after so many seconds when a store or a directory was not reachable. */
const RETRY_AFTER_SEC = 5

/**
 * An endpoint as Express takes it: metered, uncached, every failure answered. What is not an OAuth error comes from a
 * store or a directory that is down; nothing passes then, and the client is asked to come back.
 */
export function endpointHandler(ctx: Context, endpoint: Endpoint, onError: OnError): RequestHandler {
  return async function authorizationServer(req, res) {
    Meter.of(res)
    if (!endpoint.cacheable) res.setHeader('Cache-Control', 'no-store').setHeader('Pragma', 'no-cache')
    try {
      const handler = endpoint.methods[req.method === 'HEAD' ? 'GET' : (req.method as 'GET' | 'POST')]
      if (!handler) throw methodNotAllowed(endpoint)
      await handler(ctx, req, res)
    } catch (err) {
      answerError(ctx, endpoint, err, req, res, onError)
    }
  }
}

function answerError(ctx: Context, endpoint: Endpoint, err: unknown, req: Request, res: Response, onError: OnError) {
  if (!(err instanceof OAuthError)) onError(err, req)
  if (res.headersSent) return void res.destroy()
  const known =
    err instanceof OAuthError ? err : new OAuthError('temporarily_unavailable', 'The server cannot answer just now.')
  const status = err instanceof OAuthError ? known.status : 503
  const headers = err instanceof OAuthError ? known.headers : { 'Retry-After': String(RETRY_AFTER_SEC) }
  if (endpoint.errors === 'json') {
    sendJson(res, status, { error: known.code, error_description: known.message }, headers)
  } else ctx.pages.error(res, status, status === 503 ? 'unavailable' : 'badRequest', headers)
}

/** Sends JSON as RFC 6749 §5 has it. */
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
