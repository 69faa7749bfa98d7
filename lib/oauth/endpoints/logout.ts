import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { shown } from '../../http/options'
import { hasPostLogoutUri } from '../directories/client'
import { hostOf, withParams } from '../directories/redirect-uri'
import { formOf, queryOf } from '../parameters/form'
import { foreignForm, invalidRequest } from '../oauth-error'
import type { Params } from '../parameters/params'
import { RegisteredClients } from '../records/registered-clients'
import type { SessionRecord } from '../records/website-sessions'
import type { IdTokenHint } from '../tokens/id-tokens'
import type { AppName } from '../pages/page-renderer'
import { appName } from './app-name'
import { askAgainByGet } from './cross-site-post'
import type { Endpoint } from './endpoint'
import { issueCsrfToken, isOwnForm, onwardOf } from './interaction'

/** Ends the website session (OpenID Connect RP-Initiated Logout 1.0) and the grants that were made in it. */
export const logoutEndpoint: Endpoint = {
  path: '/logout',
  methods: {
    GET: (ctx, req, res) => logout(ctx, queryOf(req), req, res),
    POST: async (ctx, req, res) => logout(ctx, await formOf(req), req, res),
  },
  errors: 'page',
}

const PARAMS = [
  ...['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales', 'logout_hint'],
  ...['request', 'csrf', 'action'],
]

/** Where to go after logout, sealed into the page that asks. */
interface LogoutTarget {
  readonly uri?: string
  /** Set for a self-registered app: the page has a link to it, since the user may not know it. */
  readonly stranger?: AppName
}

async function logout(ctx: ServerContext, params: Params, req: Request, res: Response): Promise<void> {
  params.refuseRepeated(PARAMS)
  if (askAgainByGet(ctx, '/logout', params, req, res)) return
  ctx.pages.speak(res, params.get('ui_locales'))
  const session = await ctx.sessions.find(ctx.cookies.read(req.headers.cookie, 'session'))
  const sealed = req.method === 'POST' ? params.get('request') : undefined
  const asked = sealed === undefined ? undefined : (ctx.seal.open('logout', sealed) as LogoutTarget | undefined)
  if (sealed !== undefined && asked) {
    if (!isOwnForm(ctx, req, sealed, params.get('csrf'))) throw foreignForm()
    return endSession(ctx, session, asked, res)
  }

  const hint = hintOf(ctx, params)
  const { target, onward } = await targetOf(ctx, params, hint)
  // Without an id_token of the session any site could sign the user out, so ask the user (§2).
  if (session && !(hint?.sid !== undefined && [session.sid, ...(session.earlier ?? [])].includes(hint.sid))) {
    const request = ctx.seal.seal('logout', target)
    const csrf = issueCsrfToken(ctx, req, res, request)
    return ctx.pages.logout(res, { action: `${ctx.issuer}/logout`, request, csrf, onward, app: undefined })
  }
  await endSession(ctx, session, target, res)
}

async function endSession(
  ctx: ServerContext,
  session: SessionRecord | undefined,
  { uri, stranger }: LogoutTarget,
  res: Response,
): Promise<void> {
  if (session) {
    await ctx.sessions.signOut(session)
    res.append('Set-Cookie', ctx.cookies.write('session', ''))
  }
  if (uri === undefined) return ctx.pages.loggedOut(res)
  if (stranger !== undefined) return ctx.pages.loggedOut(res, { link: uri, app: stranger, host: hostOf(uri) })
  res.status(303).setHeader('Location', uri).setHeader('Referrer-Policy', 'no-referrer').end()
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

/** Where to redirect, which the app must have registered (§3). */
async function targetOf(
  ctx: ServerContext,
  params: Params,
  hint: IdTokenHint | undefined,
): Promise<{ target: LogoutTarget; onward: readonly string[] | undefined }> {
  const uri = params.get('post_logout_redirect_uri')
  if (uri === undefined) return { target: {}, onward: [] }
  const clientId = hint?.aud ?? params.get('client_id')
  const client = clientId === undefined ? undefined : await ctx.clients.findClient(clientId)
  if (!client || !hasPostLogoutUri(client, uri)) {
    throw invalidRequest('The post_logout_redirect_uri is not registered.').because(
      client
        ? `post_logout_redirect_uri ${shown(uri)} is not one of ${shown(client.postLogoutRedirectUris ?? [])}`
        : `client_id ${shown(clientId)} is unknown`,
    )
  }
  const state = params.get('state')
  const isStranger = RegisteredClients.isRegistered(client.clientId) && hint === undefined
  const target: LogoutTarget = {
    uri: state === undefined ? uri : withParams(uri, { state }),
    ...(isStranger && { stranger: appName(client, uri) }),
  }
  return { target, onward: isStranger ? [] : onwardOf(uri, client) }
}
