import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestHandler } from 'express'

/**
 * Middleware for Express, Connect, Vite and `node:http`. In front of an Express handler it leaves the types of its route
 * parameters as they are inferred.
 *
 * @example app.get('/persons/:id', throttle(), (req, res) => res.send(req.params.id))
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as Express types it: any function may be given
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: (err?: any) => void) => void

/** Middleware whose function reads Express's properties of a request, if they exist. */
export function middleware(handler: RequestHandler): Middleware {
  return handler as Middleware
}
