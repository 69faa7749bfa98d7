import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { type Endpoint, sendJson } from './endpoint'

/** The public keys that verify tokens (RFC 7517 §5): current, next and retired. */
export const jwksEndpoint: Endpoint = { path: '/jwks', methods: { GET: jwks }, errors: 'json', cacheable: true }

/** Sends the public keys. */
export function jwks(ctx: ServerContext, _req: Request, res: Response): void {
  const keys = ctx.keyring.published().map(({ jwk }) => jwk)
  sendJson(res, 200, { keys }, { 'Cache-Control': 'public, max-age=300' })
}
