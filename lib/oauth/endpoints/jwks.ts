import type { Request, Response } from 'express'
import type { Context } from '../context'
import { type Endpoint, sendJson } from './endpoint'

/** The keys that tokens are verified by (RFC 7517 §5): current, next and retired. */
export const jwksEndpoint: Endpoint = { path: '/jwks', methods: { GET: jwks }, errors: 'json', cacheable: true }

/** Sends the public halves. */
export function jwks(ctx: Context, _req: Request, res: Response): void {
  const keys = ctx.keyring.published().map(({ jwk }) => jwk)
  sendJson(res, 200, { keys }, { 'Cache-Control': 'public, max-age=300' })
}
