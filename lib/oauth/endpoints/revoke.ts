import type { Request, Response } from 'express'
import { authenticateClient } from '../client-auth/authenticate-client'
import type { ServerContext } from '../server-context'
import { formOf } from '../parameters/form'
import { type Endpoint, sendJson } from './endpoint'

/**
 * Token revocation (RFC 7009). Revokes an access token alone, a refresh token with its whole grant. An unknown token or
 * another client's is ignored with the same response.
 */
export const revokeEndpoint: Endpoint = { path: '/revoke', methods: { POST: revoke }, errors: 'json' }

async function revoke(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const params = await formOf(req)
  params.refuseRepeated(['token', 'token_type_hint'])
  const client = await authenticateClient(ctx, req, params, '/revoke')
  const token = params.need('token')
  const access = await ctx.accessTokens.check(token)
  if (access?.client_id === client.clientId) await ctx.revocations.revokeToken(access.jti)
  const refresh = access ? undefined : await ctx.refreshTokens.find(token)
  const authorization = refresh?.authorization
  if (authorization?.clientId === client.clientId) await ctx.revocations.revokeGrant(authorization.grantId)
  sendJson(res, 200, {}) // RFC 7009 §2.2: clients ignore the body, but one fails unless it is JSON
}
