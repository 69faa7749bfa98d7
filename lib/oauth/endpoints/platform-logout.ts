import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { requireAccessToken } from './access-token'
import type { Endpoint } from './endpoint'

/**
 * `POST /platform/logout` with a bearer token. Revokes the token's whole grant and ends the website session in which the
 * user allowed it. The API mounts it.
 */
export const platformLogoutEndpoint: Endpoint = { path: '/', methods: { POST: platformLogout }, errors: 'json' }

async function platformLogout(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const { grant_id: grantId, sid } = await requireAccessToken(ctx, req, ctx.tokenFrom)
  await ctx.revocations.revokeGrant(grantId)
  if (sid !== undefined) await ctx.sessions.end(sid)
  res.status(204).end()
}
