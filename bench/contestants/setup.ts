import type { RequestListener } from 'node:http'
import { type Express, type Request, type RequestHandler, type Response, default as express } from 'express'

/** What a server is told at its start. */
export interface Setup {
  readonly redisUrl: string
  readonly issuer: string
  readonly audience: string
  readonly jwksUri: string
  readonly publicPem: string
  readonly privatePem: string
  /** Signed by the key above. */
  readonly tokens: readonly string[]
}

/** A server to be measured: what it serves, or work that it does of itself until so many milliseconds are over. */
export type Contestant = (setup: Setup) => RequestListener | Promise<RequestListener>

/** The same small JSON in every app, behind what is measured. */
export function appWith(...handlers: readonly RequestHandler[]): Express {
  const app = express()
  for (const handler of handlers) app.use(handler)
  app.use(answer)
  return app
}

export function answer(_req: Request, res: Response): void {
  res.json({ id: 'KWQS-BBQ', name: 'Ada Lovelace', born: '10 December 1815', living: false })
}

/** Who asks, where nobody has to prove it. */
export function user(req: Request): string {
  return req.headers['x-user'] as string
}
