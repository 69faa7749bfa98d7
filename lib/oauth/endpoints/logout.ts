import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { formOf, queryOf } from '../parameters/form'
import type { IdTokenHint } from '../tokens/id-tokens'
import { foreignForm, invalidRequest } from '../oauth-error'
import type { Params } from '../parameters/params'
import type { WebsiteSession } from '../records/website-sessions'
import { cspSource, isRegistered, withParams } from '../directories/redirect-uri'
import type { Endpoint } from './endpoint'
import { issueCsrfToken, isOwnForm } from './interaction'

/** Ends the website session (OpenID Connect RP-Initiated Logout 1.0). */
export const logoutEndpoint: Endpoint = {
  path: '/logout',
  methods: {
    GET: (ctx, req, res) => logout(ctx, queryOf(req), req, res),
    POST: async (ctx, req, res) => logout(ctx, await formOf(req), req, res),
  },
  errors: 'page',
}

const PARAMS = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'request', 'csrf'] as const

/** Where to redirect after logout, sealed into the page that asks. */
interface LogoutTarget {
  readonly uri?: string
}

async function logout(ctx: ServerContext, params: Params, req: Request, res: Response): Promise<void> {
  params.refuseRepeated(PARAMS)
  const session = await ctx.sessions.find(ctx.cookies.read(req.headers.cookie, 'session'))
  const sealed = params.get('request')
  if (sealed !== undefined && req.method === 'POST') return confirmLogout(ctx, params, sealed, session, req, res)

  const hint = hintOf(ctx, params)
  const uri = await postLogoutUri(ctx, params, hint)
  // Without the session's own id_token any site could sign the user out, so ask the user (§2).
  if (session && hint?.sid !== session.sid) {
    const request = ctx.seal.seal('logout', { ...(uri !== undefined && { uri }) } satisfies LogoutTarget)
    const onward = uri === undefined ? [] : [cspSource(uri)]
    const csrf = issueCsrfToken(ctx, req, res, request)
    return ctx.pages.logout(res, { action: `${ctx.issuer}/logout`, request, csrf, onward, locales: [], app: '' })
  }
  await endSession(ctx, session, uri, res)
}

async function confirmLogout(
  ctx: ServerContext,
  params: Params,
  sealed: string,
  session: WebsiteSession | undefined,
  req: Request,
  res: Response,
): Promise<void> {
  const onward = ctx.seal.open('logout', sealed) as LogoutTarget | undefined
  if (!onward) throw invalidRequest('The form was not made by this server.')
  if (!isOwnForm(ctx, req, sealed, params.get('csrf'))) throw foreignForm()
  await endSession(ctx, session, onward.uri, res)
}

async function endSession(
  ctx: ServerContext,
  session: WebsiteSession | undefined,
  uri: string | undefined,
  res: Response,
): Promise<void> {
  if (session) await ctx.sessions.end(session.sid)
  res.append('Set-Cookie', ctx.cookies.write('session', ''))
  if (uri === undefined) return ctx.pages.loggedOut(res)
  res.status(303).setHeader('Location', uri).end()
}

function hintOf(ctx: ServerContext, params: Params): IdTokenHint | undefined {
  const token = params.get('id_token_hint')
  if (token === undefined) return undefined
  const hint = ctx.idTokens.read(token)
  const clientId = params.get('client_id')
  if (!hint || (clientId !== undefined && clientId !== hint.aud))
    throw invalidRequest('The id_token_hint was not issued by this server.')
  return hint
}

/** The URI to redirect to, which its client must have registered (§3). */
async function postLogoutUri(
  ctx: ServerContext,
  params: Params,
  hint: IdTokenHint | undefined,
): Promise<string | undefined> {
  const uri = params.get('post_logout_redirect_uri')
  if (uri === undefined) return undefined
  const clientId = hint?.aud ?? params.get('client_id')
  const client = clientId === undefined ? undefined : await ctx.clients.findClient(clientId)
  if (!isRegistered(uri, client?.postLogoutRedirectUris ?? []))
    throw invalidRequest('The post_logout_redirect_uri is not registered.')
  const state = params.get('state')
  return state === undefined ? uri : withParams(uri, { state })
}
