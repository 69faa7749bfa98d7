import type { Request, Response } from 'express'
import { AUTHORIZATION_PARAMS } from '../parameters/authorization-request'
import type { Context } from '../context'
import { formOf, queryOf } from '../parameters/form'
import type { Params } from '../parameters/params'
import type { Endpoint } from './endpoint'
import { withAuthorizationRequest } from './find-request'
import { beginInteraction } from './interaction'
import { proceed } from './proceed'

/** The authorization endpoint (RFC 6749 §3.1, OIDC Core §3.1.2). */
export const authorizationEndpoint: Endpoint = {
  path: '/authorization',
  methods: {
    GET: (ctx, req, res) => authorize(ctx, queryOf(req), req, res),
    POST: async (ctx, req, res) => authorize(ctx, await formOf(req), req, res),
  },
  errors: 'page',
}

async function authorize(ctx: Context, params: Params, req: Request, res: Response): Promise<void> {
  await withAuthorizationRequest(ctx, params, res, async (request) => {
    const interaction = beginInteraction(ctx, plain(params), request)
    const session = await ctx.sessions.of(ctx.cookies.read(req.headers.cookie, 'session'))
    await proceed(ctx, interaction, session, req, res)
  })
}

/** The parameters as they came, to begin anew with should the page expire. */
function plain(params: Params): Record<string, string> {
  const entries = AUTHORIZATION_PARAMS.map((name) => [name, params.get(name)] as const)
  return Object.fromEntries(entries.filter((entry): entry is [(typeof entry)[0], string] => entry[1] !== undefined))
}
