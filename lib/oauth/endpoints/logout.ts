import type { Request, Response } from 'express'
import { shown } from '../../http/options'
import { hasPostLogoutUri } from '../directories/client'
import { hostOf, withParams } from '../directories/redirect-uri'
import { foreignForm, invalidRequest } from '../oauth-error'
import type { AppName } from '../pages/page-renderer'
import { formOf, queryOf } from '../parameters/form'
import type { Params } from '../parameters/params'
import type { Uses } from '../parts'
import type { SessionRecord } from '../records/website-sessions'
import type { IdTokenHint } from '../tokens/id-tokens'
import { appName, onwardOf, redirect } from './authorization-response'
import type { Endpoint } from './endpoint'
import { askAgainByGet, isOwnForm, issueCsrfToken } from './interaction'

const PARAMS = [
  ...['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales', 'logout_hint'],
  ...['request', 'csrf', 'action'],
]

/** Where to go after logout, sealed into the page that asks. */
interface LogoutTarget {
  readonly uri?: string
  /** Set for a self-registered app: the page has a link to it, since the user may not know it. */
  readonly stranger?: AppName
  /** The session that the app's id_token names: it ends also if its cookie is gone. */
  readonly sid?: string
}

type Parts = Uses<
  'clients' | 'cookies' | 'idTokens' | 'issuer' | 'pages' | 'revocations' | 'seal' | 'sessionOf' | 'sessions'
>

/** Ends the website session (OpenID Connect RP-Initiated Logout 1.0) and the grants that were made in it. */
export function logoutEndpoint(parts: Parts): Endpoint {
  const { clients, cookies, idTokens, issuer, pages, revocations, seal, sessions } = parts
  return {
    path: '/logout',
    methods: {
      GET: (req, res) => logout(queryOf(req), req, res),
      POST: async (req, res) => logout(await formOf(req), req, res),
    },
    errors: 'page',
  }

  async function logout(params: Params, req: Request, res: Response): Promise<void> {
    params.refuseRepeated(PARAMS)
    if (askAgainByGet(parts, '/logout', params, req, res)) return
    pages.speak(res, params.get('ui_locales'))
    const session = await parts.sessionOf(req)
    const sealed = req.method === 'POST' ? params.get('request') : undefined
    const asked = sealed === undefined ? undefined : (seal.open('logout', sealed) as LogoutTarget | undefined)
    if (sealed !== undefined && asked) {
      if (!isOwnForm(parts, req, sealed, params.get('csrf'))) throw foreignForm()
      return endSession(session, asked, res)
    }
    const hint = hintOf(params)
    const { target, onward } = await targetOf(params, hint, req)
    // Without an id_token of the session any site could sign the user out, so ask the user (§2).
    if (session && !(hint?.sid !== undefined && [session.sid, ...(session.earlier ?? [])].includes(hint.sid))) {
      const request = seal.seal('logout', target)
      const csrf = issueCsrfToken(parts, req, res, request)
      return pages.logout(res, { action: `${issuer}/logout`, request, csrf, onward, app: undefined })
    }
    await endSession(session, target, res)
  }

  async function endSession(
    session: SessionRecord | undefined,
    { uri, stranger, sid }: LogoutTarget,
    res: Response,
  ): Promise<void> {
    if (session) {
      await sessions.signOut(session)
      res.append('Set-Cookie', cookies.write('session', ''))
    }
    if (sid !== undefined && sid !== session?.sid) await revocations.revoke('session', sid)
    if (uri === undefined) return pages.loggedOut(res)
    if (stranger !== undefined) return pages.loggedOut(res, { link: uri, app: stranger, host: hostOf(uri) })
    redirect(res, uri)
  }

  function hintOf(params: Params): IdTokenHint | undefined {
    const token = params.get('id_token_hint')
    if (token === undefined) return undefined
    const hint = idTokens.read(token)
    const clientId = params.get('client_id')
    if (!hint || (clientId !== undefined && clientId !== hint.aud))
      throw invalidRequest('The id_token_hint was not issued by this server.')
    return hint
  }

  /** Where to redirect, which the app must have registered (§3). */
  async function targetOf(
    params: Params,
    hint: IdTokenHint | undefined,
    req: Request,
  ): Promise<{ target: LogoutTarget; onward: readonly string[] | undefined }> {
    const sid = hint?.sid === undefined ? {} : { sid: hint.sid }
    const uri = params.get('post_logout_redirect_uri')
    if (uri === undefined) return { target: sid, onward: [] }
    const clientId = hint?.aud ?? params.get('client_id')
    const client = clientId === undefined ? undefined : await clients.find(clientId, req)
    if (!client || !hasPostLogoutUri(client, uri)) {
      throw invalidRequest('The post_logout_redirect_uri is not registered.').because(
        client
          ? `post_logout_redirect_uri ${shown(uri)} is not one of ${shown(client.postLogoutRedirectUris ?? [])}`
          : `client_id ${shown(clientId)} is unknown`,
      )
    }
    const state = params.get('state')
    const isStranger = client.isStranger && hint === undefined
    const target: LogoutTarget = {
      ...sid,
      uri: state === undefined ? uri : withParams(uri, { state }),
      ...(isStranger && { stranger: appName(client, uri) }),
    }
    return { target, onward: isStranger ? [] : onwardOf(uri, client) }
  }
}
