import type { Request, Response } from 'express'
import type { Context } from '../context'
import { findAccessToken } from './access'
import type { Endpoint } from './endpoint'

/**
 * `POST /platform/logout` with a bearer token: ends what the token stands for. The token and all that came of the same
 * authorization are revoked, and the website session in which it was given ends. Mounted by the API itself.
 */
export const platformLogoutEndpoint: Endpoint = { path: '/', methods: { POST: platformLogout }, errors: 'json' }

async function platformLogout(ctx: Context, req: Request, res: Response): Promise<void> {
  const { grant_id: grantId, sid } = await findAccessToken(ctx, req)
  await ctx.revocations.revokeGrant(grantId)
  if (sid !== undefined) await ctx.sessions.end(sid)
  res.status(204).end()
}
