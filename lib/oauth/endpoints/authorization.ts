import type { Request, Response } from 'express'
import { rawAuthorizationParams } from '../parameters/authorization-request'
import type { ServerContext } from '../server-context'
import { formOf, queryOf } from '../parameters/form'
import type { Params } from '../parameters/params'
import { askAgainByGet } from './cross-site-post'
import type { Endpoint } from './endpoint'
import { withAuthorizationRequest } from './find-request'
import { findPushedRequest } from './pushed-request'
import { beginInteraction } from './interaction'
import { continueAuthorization } from './continue-authorization'

/** The authorization endpoint (RFC 6749 §3.1, OIDC Core §3.1.2). */
export const authorizationEndpoint: Endpoint = {
  path: '/authorization',
  methods: {
    GET: (ctx, req, res) => authorize(ctx, queryOf(req), req, res),
    POST: async (ctx, req, res) => authorize(ctx, await formOf(req), req, res),
  },
  errors: 'page',
}

async function authorize(ctx: ServerContext, params: Params, req: Request, res: Response): Promise<void> {
  if (askAgainByGet(ctx, '/authorization', params, req, res)) return
  const pushed = await findPushedRequest(ctx, params)
  const asked = pushed?.params ?? params
  await withAuthorizationRequest(ctx, asked, pushed?.id, req, res, async (request) => {
    const interaction = beginInteraction(ctx, { params: rawAuthorizationParams(asked), pushedId: pushed?.id }, request)
    const session = await ctx.sessions.find(ctx.cookies.read(req.headers.cookie, 'session'))
    await continueAuthorization(ctx, interaction, session, req, res)
  })
}
