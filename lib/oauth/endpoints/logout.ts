import type { Request, Response } from 'express'
import { shown } from '../../http/options'
import { hasPostLogoutUri } from '../directories/client'
import { hostOf, withParams } from '../directories/redirect-uri'
import { reportRefusal } from '../diagnostics'
import { foreignForm } from '../oauth-error'
import type { AppName } from '../pages/page-renderer'
import { paramsOf } from '../parameters/form'
import type { Params } from '../parameters/params'
import type { Parts } from '../parts'
import type { SessionRecord } from '../records/website-sessions'
import { appName, onwardOf, redirect } from './authorization-response'
import type { Endpoint } from './endpoint'
import { askAgainByGet, isOwnForm, lacksCookies, sealedForm } from './interaction'

const PARAMS = [
  ...['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales', 'logout_hint'],
  ...['request', 'csrf', 'action'],
]

/** A request to sign out as far as it is certain. Sealed into the page that asks, and into a redirect to that. */
interface LogoutTarget {
  /** Where to go afterwards. */
  readonly uri?: string
  /** Set for a self-registered app: the page has a link to it, since the user may not know it. */
  readonly stranger?: AppName
  readonly onward?: readonly string[]
  /** The session that the app's id_token names, and its user. */
  readonly sid?: string
  readonly userId?: string
  /** Something of the request was left out: `refused`, the address to which the app would have the user sent. */
  readonly doubt?: 'unsure' | 'refused'
}

/** Signs the user out of the website session (OpenID Connect RP-Initiated Logout 1.0). */
export function logoutEndpoint(parts: Parts): Endpoint {
  const { clients, cookies, end, idTokens, pages, seal } = parts
  return { path: '/logout', methods: { GET: logout, POST: logout }, errors: 'page' }

  async function logout(req: Request, res: Response): Promise<void> {
    const params = await paramsOf(req)
    params.refuseRepeated(PARAMS)
    pages.speak(res, params.get('ui_locales'))
    const sealed = params.get('request')
    const opened = sealed === undefined ? undefined : (seal.open('logout', sealed) as LogoutTarget | undefined)
    if (req.method === 'POST' && sealed !== undefined && opened) {
      if (!isOwnForm(parts, req, sealed, params.get('csrf'))) throw foreignForm()
      return signOut(await parts.sessionOf(req), { ...opened, doubt: 'unsure' }, res)
    }
    const target = opened ?? (await targetOf(params, req))
    if (lacksCookies(parts, req)) {
      const again = new URLSearchParams({ request: seal.seal('logout', target) })
      if (askAgainByGet(parts, '/logout', again.toString(), res)) return
    }
    const session = await parts.sessionOf(req)
    // Without an id_token of the session any site could sign the user out, so ask the user (§2). Who would not come back to
    // the app is asked, too.
    if (session && (target.doubt || session.sid !== target.sid)) {
      const onward = target.uri === undefined || target.stranger ? [] : target.onward
      const form = sealedForm(parts, 'logout', target, req, res)
      return pages.logout(res, target.doubt === 'refused', { ...form, onward })
    }
    await signOut(session, target, res)
  }

  async function signOut(
    session: SessionRecord | undefined,
    { uri, stranger, sid, userId, doubt }: LogoutTarget,
    res: Response,
  ): Promise<void> {
    if (session) {
      await end({ event: 'signed out', sid: session.sid, userId: session.userId, session })
      res.append('Set-Cookie', cookies.write('session', ''))
    }
    if (sid !== undefined && userId !== undefined && sid !== session?.sid)
      await end({ event: 'signed out', sid, userId })
    if (doubt === 'refused') return pages.stop(res, 400, 'noWayBack')
    if (uri !== undefined && !stranger) return redirect(res, uri)
    const way = uri !== undefined && stranger && { link: uri, app: stranger, host: hostOf(uri) }
    pages.stop(res, 200, 'loggedOut', way ? { way } : {})
  }

  /**
   * What is certain of a request. An id_token that cannot be read and an address that is not registered (§3) leave out what
   * needs them: the user still gets to sign out, and stays here.
   */
  async function targetOf(params: Params, req: Request): Promise<LogoutTarget> {
    const [token, clientId, uri] = ['id_token_hint', 'client_id', 'post_logout_redirect_uri'].map((name) =>
      params.get(name),
    )
    const hint = token === undefined ? undefined : idTokens.read(token)
    if (token !== undefined && (!hint || (clientId ?? hint.aud) !== hint.aud)) {
      return doubt('the id_token_hint is no id_token of this server for this app, or its key is not in signingKeys')
    }
    const ofSession = hint?.sid === undefined ? {} : { sid: hint.sid, userId: hint.sub }
    if (uri === undefined) return ofSession
    const id = hint?.aud ?? clientId
    const client = id === undefined ? undefined : await clients.find(id, req)
    if (!client) return doubt(`client_id ${shown(id)} is unknown`, ofSession)
    if (!hasPostLogoutUri(client, uri)) {
      const registered = shown(client.postLogoutRedirectUris ?? [])
      return doubt(`post_logout_redirect_uri ${shown(uri)} is not one of ${registered}`, ofSession, 'refused')
    }
    const state = params.get('state')
    const isUnverified = client.isUnverified && hint === undefined
    const onward = onwardOf(uri, client)
    return {
      ...ofSession,
      uri: state === undefined ? uri : withParams(uri, { state }),
      ...(onward && { onward }),
      ...(isUnverified && { stranger: appName(client, uri) }),
    }
  }

  /** Goes on with what is certain, and tells the app's developer. */
  function doubt(reason: string, target: LogoutTarget = {}, what: LogoutTarget['doubt'] = 'unsure'): LogoutTarget {
    const status = what === 'refused' ? 400 : 200
    reportRefusal({ endpoint: '/logout', code: 'invalid_request', status, reason }, parts.log)
    return { ...target, doubt: what }
  }
}
