import type { Request, Response } from 'express'
import { isConfidential } from '../directories/client'
import { authenticateClient } from '../client-auth/authenticate-client'
import type { ServerContext } from '../server-context'
import { formOf } from '../parameters/form'
import { OAuthError } from '../oauth-error'
import type { AccessTokenClaims } from '../tokens/access-tokens'
import { type Endpoint, sendJson } from './endpoint'

/** Token introspection (RFC 7662) for confidential clients. A refresh token is shown to its own client only. */
export const introspectEndpoint: Endpoint = { path: '/introspect', methods: { POST: introspect }, errors: 'json' }

async function introspect(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const params = await formOf(req)
  params.refuseRepeated(['token', 'token_type_hint'])
  const client = await authenticateClient(ctx, req, params, '/introspect')
  if (!isConfidential(client)) {
    throw new OAuthError('unauthorized_client', 'Only a client that authenticates may ask about tokens.', 403)
  }
  const token = params.need('token')
  const access = await ctx.accessTokens.check(token)
  if (access) {
    const isOwn = access.client_id === client.clientId
    const tokenType = access.cnf ? 'DPoP' : 'Bearer'
    return sendJson(res, 200, { active: true, token_type: tokenType, ...(isOwn ? access : forOthers(access)) })
  }
  const refresh = await ctx.refreshTokens.findUnused(token)
  if (refresh?.clientId !== client.clientId) return sendJson(res, 200, { active: false })
  const { clientId, userId, scope } = refresh
  sendJson(res, 200, { active: true, client_id: clientId, sub: userId, scope: scope.join(' '), iss: ctx.issuer })
}

/** The claims without what only the token's own client is told: the website session and the grant. */
function forOthers({ sid: _sid, grant_id: _grantId, ...claims }: AccessTokenClaims): Partial<AccessTokenClaims> {
  return claims
}
