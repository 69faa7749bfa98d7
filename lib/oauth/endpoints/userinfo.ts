import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { accessRefused, requireAccessToken } from './access-token'
import { type Endpoint, sendJson } from './endpoint'

/** The claims of the user that a token is for (OIDC Core §5.3). */
export const userinfoEndpoint: Endpoint = {
  path: '/userinfo',
  methods: { GET: userinfo, POST: userinfo },
  errors: 'json',
}

async function userinfo(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const claims = await requireAccessToken(ctx, req, ['form'], '/userinfo')
  const scopes = claims.scope?.split(' ') ?? []
  if (!scopes.includes('openid')) throw accessRefused(ctx, { refused: 'scope', scope: ['openid'] })
  const user = await ctx.users.findUser(claims.sub)
  if (!user) throw accessRefused(ctx, { refused: 'subject' })
  sendJson(res, 200, { sub: user.id, ...ctx.identity.userinfo(scopes, user, claims.userinfo_claims) })
}
