import type { Request, Response } from 'express'
import { registrationError } from '../../http/help'
import { shown } from '../../http/options'
import { asksApproval } from '../directories/client'
import { hostOf, isOnDevice } from '../directories/redirect-uri'
import type { User } from '../directories/user'
import { OAuthError, type OAuthErrorCode, invalidRequest } from '../oauth-error'
import type { LoginAgain } from '../pages/page-renderer'
import {
  type AuthorizationRequest,
  rawAuthorizationParams,
  readAuthorizationRequest,
  refuseLongRequest,
  registeredRedirectUri,
} from '../parameters/authorization-request'
import { unmetAcr } from '../parameters/claims-request'
import { formOf, paramsOf } from '../parameters/form'
import { Params } from '../parameters/params'
import type { Parts } from '../parts'
import { ofUser } from '../records/owners'
import type { Login, SessionRecord } from '../records/website-sessions'
import { appsRequest } from './apps'
import { approvalOf, grant, redirect, redirectBack, redirectError, wayBack } from './authorization-response'
import type { Endpoint } from './endpoint'
import {
  type Interaction,
  OPEN_MS,
  PAGE_LIFETIME_MS,
  askAgainByGet,
  beginInteraction,
  formPage,
  isForeign,
  isOwnForm,
  lacksCookies,
  openInteraction,
  withStep,
} from './interaction'
import { checkPassword, minutesOf } from './login-attempt'
import { sendToOwnPage } from './own-page'
import { findPushedRequest } from './pushed-request'
import type { SignInFlow, Visit } from './visit'

/** How long a submitted page may be submitted again, after a double click or a store failure. */
const AGAIN_MS = 30_000

const AWAY = new OAuthError('temporarily_unavailable', 'The user could not sign in just now.')
const DECLINED = {
  terms: 'The user did not accept the terms of access.',
  approval: 'The user did not approve the app.',
}

/** The authorization endpoint (RFC 6749 §3.1, OIDC Core §3.1.2) and the pages behind it. */
export function signInFlow(parts: Parts): SignInFlow {
  const { clock, consents, cookies, idTokens, pages, records, sessions, users } = parts

  /** From a request to its response. Each step answers the browser and says so, or leaves it to the next. */
  const STEPS = [askLogin, checkAccount, checkStrength, askTerms, askApproval, respond]

  const served: Readonly<Record<string, Endpoint['methods']>> = {
    '/authorization': { GET: authorize, POST: authorize },
    ...(!parts.login && { '/login': { POST: login } }),
    '/terms': { POST: (req, res) => decide('terms', req, res) },
    '/approval': { POST: (req, res) => decide('approval', req, res) },
  }
  const endpoints = Object.entries(served).map(([path, methods]) => ({ path, methods, errors: 'page' as const }))
  return { endpoints, arrive, proceed, resume }

  async function authorize(req: Request, res: Response): Promise<void> {
    const params = await paramsOf(req)
    if (lacksCookies(parts, req) && askAgainByGet(parts, '/authorization', params.toString(), res)) return
    const pushed = await findPushedRequest(records, params)
    const asked = pushed?.params ?? params
    const origin = { params: rawAuthorizationParams(asked, parts), pushedId: pushed?.id }
    const visit = await arrive(asked, beginInteraction(parts, origin), req, res)
    if (visit) await proceed(visit)
  }

  /**
   * Checks the client and the redirect URI first: until both are valid an error is shown as a page; later errors are sent to
   * the redirect URI (RFC 6749 §4.1.2.1).
   */
  async function arrive(asked: Params, interaction: Interaction, req: Request, res: Response) {
    const session = await parts.sessionOf(req)
    const request = appsRequest(parts, asked) ?? (await readRequest(asked, interaction.pushedId, req, res))
    if (request && request.responseType !== 'none') pages.offer(res, wayBack(parts, request, AWAY))
    return request && { req, res, interaction, request, session }
  }

  async function readRequest(params: Params, pushedId: string | undefined, req: Request, res: Response) {
    // The pages and the redirect that answers carry the parameters along, so too much of them would fail there.
    refuseLongRequest(params, parts)
    params.refuseRepeated(['client_id', 'redirect_uri'])
    pages.speak(res, params.get('ui_locales'))
    const clientId = params.need('client_id')
    const client = await parts.clients.find(clientId, req)
    if (!client) throw invalidRequest('The client is unknown.').because(`client_id ${shown(clientId)} is unknown`)
    const redirectUri = registeredRedirectUri(params, client)
    try {
      if (pushedId === undefined && (client.requirePushedRequests ?? parts.requirePushedRequests)) {
        throw invalidRequest('This app must push its authorization requests (RFC 9126 section 6).')
      }
      return readAuthorizationRequest(params, client, redirectUri, parts)
    } catch (err) {
      if (!(err instanceof OAuthError)) throw err
      const state = params.repeats('state') ? undefined : params.get('state')
      const mode = params.get('response_mode')
      const isFormPost = mode === 'form_post' && /^https?:/.test(redirectUri)
      const responseMode = isFormPost ? 'form_post' : mode === 'fragment' ? mode : 'query'
      const prompt = new Set(params.get('prompt')?.split(' '))
      await redirectError(parts, req, res, { redirectUri, state, responseMode, client, prompt }, err)
      return undefined
    }
  }

  async function proceed(visit: Visit): Promise<void> {
    for (const step of STEPS) if (await step(visit)) return
  }

  async function askLogin(visit: Visit): Promise<boolean> {
    if (visit.session && !needsLogin(visit, visit.session)) return false
    return ask(visit, 'login_required', 'The user is not signed in.', () => showLogin(visit))
  }

  /**
   * Whether the request asks for a newer, stronger or other login than the session's (OIDC Core §3.1.2.1). A login for this
   * very request is enough, whatever the clocks of the processes say.
   */
  function needsLogin(visit: Visit, session: SessionRecord): boolean {
    const { prompt, maxAgeSec, idTokenHint, acrValues = [], claims } = visit.request
    if (stepsOf(visit)?.login) return false
    if (['login', 'select_account', 'create'].some((word) => prompt.has(word))) return true
    if (maxAgeSec !== undefined && clock.date() - session.authTimeMs > maxAgeSec * 1_000) return true
    // A wish is no reason to end a silent renewal: perhaps no login reaches it (OIDC Core §5.5.1.1).
    const isWeak = acrValues.length > 0 && !acrValues.includes(session.acr ?? parts.acr)
    if (parts.login && isWeak && (claims.isAcrEssential || !prompt.has('none'))) return true
    if (idTokenHint !== undefined && !idTokens.read(idTokenHint)) return true // the hinted user is unknown
    return wantsOther(visit.request, session)
  }

  /** Whether the request names a user who is not the session's. */
  function wantsOther({ claims, idTokenHint }: AuthorizationRequest, { userId }: SessionRecord): boolean {
    const hinted = idTokenHint === undefined ? undefined : idTokens.read(idTokenHint)?.sub
    return [claims.sub, hinted].some((wanted) => wanted !== undefined && wanted !== userId)
  }

  async function checkAccount(visit: Visit): Promise<boolean> {
    const session = visit.session as SessionRecord
    if (wantsOther(visit.request, session)) {
      return fail(visit, 'login_required', 'The user who signed in is not the one asked for.') // OIDC Core §3.1.2.1
    }
    const user = await users.find(session.userId)
    if (user) visit.user = user
    if (user) return false
    if (stepsOf(visit)?.login) {
      throw registrationError(
        `findUser(${shown(session.userId)}) knows no such user, who has just signed in under this id. Ids reach findUser() as text`,
      )
    }
    await parts.end({ event: 'user gone', session })
    visit.session = undefined
    return askLogin(visit)
  }

  async function checkStrength({ req, res, request, session }: Visit): Promise<boolean> {
    const { claims, acrValues = [] } = request
    if (!claims.isAcrEssential || acrValues.length === 0 || acrValues.includes(session?.acr ?? parts.acr)) return false
    await redirectError(parts, req, res, request, unmetAcr())
    return true
  }

  /** The terms, once for each version. For an app without an approval page, `prompt=consent` shows them again. */
  async function askTerms(visit: Visit): Promise<boolean> {
    const { res, request } = visit
    const user = visit.user as User
    const version = pages.terms(res)?.version
    if (version === undefined || stepsOf(visit)?.terms) return false
    const isAgain = request.prompt.has('consent') && !asksApproval(request.client, request.redirectUri)
    if (!isAgain && (await consents.hasAcceptedTerms(user.id, version))) return false
    return ask(visit, 'interaction_required', 'The user has to accept the terms of access first.', () =>
      pages.termsOfAccess(res, { ...pageOf(visit, 'terms', user), user: user.username }),
    )
  }

  /** The app's name, where the code goes, and what it may do; with `prompt=consent`, again for this request. */
  async function askApproval(visit: Visit): Promise<boolean> {
    const { res, request } = visit
    const { client, redirectUri, scope, prompt } = request
    const user = visit.user as User
    if (!asksApproval(client, redirectUri) || stepsOf(visit)?.approval) return false
    // RFC 8252 §8.6: another program, or a site that sends the user on, can speak for an app without an address of its own.
    const isSure = redirectUri.startsWith('https:')
    if (isSure && !prompt.has('consent') && (await consents.isApproved(approvalOf(request, user.id)))) return false
    return ask(visit, 'consent_required', 'The user has to approve the app first.', () =>
      pages.approval(res, {
        ...pageOf(visit, 'approval', user),
        app: { name: client.name },
        scope,
        user: user.username,
        host: hostOf(redirectUri),
        isOnDevice: isOnDevice(redirectUri),
        isUnverified: client.isUnverified,
        source: client.source,
      }),
    )
  }

  async function respond(visit: Visit): Promise<boolean> {
    const { res, request, session, user } = visit
    if (request.responseType === 'none') redirect(res, request.redirectUri)
    else {
      const response = await grant(parts, request, session as SessionRecord, user as User)
      if (!(await isFirstUse(visit))) return fail(visit, 'invalid_request', 'The request_uri has been used.')
      redirectBack(parts, res, request, response)
    }
    return true
  }

  /** A pushed request yields one response. Loading its page, even twice, does not use it up (RFC 9126 §7.3). */
  async function isFirstUse({ interaction: { pushedId, id }, user }: Visit): Promise<boolean> {
    if (pushedId === undefined) return true
    const owner = ofUser((user as User).id)
    const count = (name: string, by: number) => records.count('used', name, by, 2 * OPEN_MS, owner)
    // A double click sends one page twice, and the browser follows the second response only.
    const page = `${pushedId}.${id}`
    await count(page, 1)
    const { total } = await count(pushedId, 1)
    return total === 1 || total <= (await count(page, 0)).total
  }

  /** Shows a page, or says that one is needed where the app wants none. */
  async function ask(visit: Visit, code: OAuthErrorCode, message: string, show: () => unknown): Promise<true> {
    if (visit.request.prompt.has('none')) return fail(visit, code, message)
    await show()
    return true
  }

  async function fail(visit: Visit, code: OAuthErrorCode, message: string, hasDecided = false): Promise<true> {
    const { req, res, request } = visit
    await redirectError(parts, req, res, request, new OAuthError(code, message), hasDecided)
    return true
  }

  function stepsOf({ interaction, session }: Visit): Interaction['steps'] {
    return session?.userId === interaction.steps?.userId ? interaction.steps : undefined
  }

  function pageOf({ req, res, interaction, request }: Visit, action: 'login' | 'terms' | 'approval', user?: User) {
    return formPage(parts, user ? withStep(interaction, user.id, {}) : interaction, request, action, req, res)
  }

  async function showLogin(visit: Visit, again: LoginAgain = {}): Promise<void> {
    if (parts.login) return sendToOwnPage(parts, visit, again.notice)
    pages.login(visit.res, { ...pageOf(visit, 'login'), username: visit.request.loginHint, ...again })
  }

  /** Shows the login page of the same request again, so that the user still gets to the app. */
  function startAgain(visit: Visit, again: LoginAgain = {}, prompt?: string): Promise<void> {
    const { params, pushedId } = visit.interaction
    const origin = { params: prompt === undefined ? params : { ...params, prompt }, pushedId }
    const request = prompt === undefined ? visit.request : { ...visit.request, prompt: new Set(prompt.split(' ')) }
    return showLogin({ ...visit, request, interaction: beginInteraction(parts, origin) }, again)
  }

  /**
   * Reads a form that one of this server's pages submits, verifies that, and finds its authorization request. Undefined if
   * the page has expired, its cookie is missing or its keys are gone: then a new login page is shown.
   */
  async function submitted(req: Request, res: Response, names: readonly string[] = []) {
    const form = await formOf(req)
    form.refuseRepeated(['request', 'csrf', 'action', ...names])
    const sealed = form.need('request')
    const opened = openInteraction(parts, sealed)
    if (!opened) throw invalidRequest('The form was not made by this server.')
    const { interaction = beginInteraction(parts, opened) } = opened
    const visit = await arrive(Params.of(opened.params), interaction, req, res)
    if (!visit) return undefined
    const isOurs = isOwnForm(parts, req, sealed, form.get('csrf'))
    const isLate = !opened.interaction || clock.date() - interaction.startedAtMs > PAGE_LIFETIME_MS
    if (isOurs && !isLate) return { visit, form }
    if (!opened.interaction || isOurs) await startAgain(visit, { status: 400, notice: 'pageExpired' })
    else if (isForeign(req)) await startAgain(visit, { status: 403, notice: 'otherAddress' })
    else {
      const hasCookies = cookies.browsers(req.headers.cookie).length > 0
      await startAgain(visit, { status: 403, notice: hasCookies ? 'pageExpired' : 'cookiesNeeded' })
    }
    return undefined
  }

  async function login(req: Request, res: Response): Promise<void> {
    const sent = await submitted(req, res, ['username', 'password'])
    if (!sent) return
    const { visit, form } = sent
    if (form.get('action') === 'cancel') {
      return void (await fail(visit, 'access_denied', 'The user did not sign in.', true))
    }
    const username = form.get('username') ?? ''
    const check = await checkPassword(parts, req, visit.request.client.clientId, username, form.get('password') ?? '')
    switch (check.outcome) {
      case 'locked':
        res.setHeader('Retry-After', Math.ceil(check.waitMs / 1_000))
        return showLogin(visit, { status: 429, notice: 'tooManyAttempts', username, minutes: minutesOf(check.waitMs) })
      case 'busy':
        res.setHeader('Retry-After', check.retryAfterSec)
        return showLogin(visit, { status: 503, notice: 'tooManyLogins', username })
      case 'refused':
        return showLogin(visit, { status: 403, username, refusal: check.refusal })
      case 'failed':
        return showLogin(visit, { status: 403, username, notice: 'wrongPassword' })
      case 'succeeded':
        return resume(visit, await check.attempt.succeeded(check.user.id, res))
    }
  }

  /** A page allows one login. A later repeat, such as from the browser's history, shows the login page again. */
  async function resume(visit: Visit, login: Login, remember = true): Promise<void> {
    const { id } = visit.interaction
    const { total, endsInMs } = await records.count('login', id, 1, 2 * PAGE_LIFETIME_MS, ofUser(login.userId))
    if (total > 1 && 2 * PAGE_LIFETIME_MS - endsInMs > AGAIN_MS) {
      return startAgain(visit, { status: 400, notice: 'pageExpired' })
    }
    const { session: before } = visit
    const { cookie, session } = await sessions.start(login, before)
    if (before?.sid === session.sid) await sessions.end(before)
    else if (before) await parts.end({ event: 'signed out', sid: before.sid, userId: before.userId, session: before })
    visit.res.append('Set-Cookie', cookies.write('session', cookie, remember ? parts.sessionSec : undefined))
    await proceed({ ...visit, session, interaction: withStep(visit.interaction, login.userId, { login: true }) })
  }

  /** The form of a page on which a user who is signed in decides. */
  async function decide(step: 'terms' | 'approval', req: Request, res: Response): Promise<void> {
    const sent = await submitted(req, res)
    if (!sent) return
    const { visit, form } = sent
    const { session, interaction, request } = visit
    if (form.get('action') === 'other') {
      const prompt = new Set(request.prompt).add('select_account')
      return startAgain(visit, { notice: 'otherAccount' }, [...prompt].join(' '))
    }
    if (!session) return startAgain(visit)
    const { userId } = session
    if (userId !== interaction.steps?.userId) return startAgain(visit, { status: 400, notice: 'otherUser' })
    if (form.get('action') !== 'accept') return void (await fail(visit, 'access_denied', DECLINED[step], true))
    const version = pages.terms(res)?.version
    if (step === 'approval') await consents.approve(approvalOf(request, userId))
    else if (version !== undefined) await consents.acceptTerms(userId, version)
    await proceed({ ...visit, interaction: withStep(interaction, userId, { [step]: true }) })
  }
}
