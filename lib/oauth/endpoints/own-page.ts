import type { Request, Response } from 'express'
import { usageError } from '../../http/help'
import { isJsonObject } from '../../http/json'
import { optionNames, optionType, shown } from '../../http/options'
import { hashOf, newSecret } from '../../http/secret'
import { hostOf } from '../directories/redirect-uri'
import { textOf } from '../directories/rows'
import { OAuthError, type OAuthErrorCode } from '../oauth-error'
import type { LoginNotice } from '../pages/page-renderer'
import { requestedLocales } from '../pages/page-texts'
import { acrValuesOf, otherParams } from '../parameters/authorization-request'
import { readClaimsRequest } from '../parameters/claims-request'
import { Params } from '../parameters/params'
import type { UserId } from '../directories/user'
import type { Parts, Uses } from '../parts'
import { ofStranger } from '../records/owners'
import { limitStrangers } from '../records/strangers'
import { redirect, redirectError } from './authorization-response'
import { type Interaction, OPEN_MS, browserOf } from './interaction'
import { type PasswordCheck, beginLogin, checkPassword, minutesOf } from './login-attempt'
import type { SignInFlow, Visit } from './visit'

/** An authorization request whose user is at the app's own sign-in page. */
export interface SignInInteraction {
  /** The app that asks, with the host that its name can be trusted for. */
  readonly client: { readonly id: string; readonly name: string; readonly host: string }
  readonly scope: readonly string[]
  readonly loginHint: string | undefined
  /** Languages of the user, best first. */
  readonly uiLocales: readonly string[]
  /** The strengths of login that the app asks for, best first. */
  readonly acrValues: readonly string[]
  /** The app wants a login that is no older. */
  readonly maxAgeSec: number | undefined
  /** `create`: the user wants a new account. */
  readonly prompt: readonly string[]
  /** Parameters that the server does not know: `{ idp_hint: 'google', screen_hint: 'signup' }`. */
  readonly params: Readonly<Record<string, string>>
  /** The user whom the app means by its `id_token_hint`, or by `claims`: nobody else can sign in. */
  readonly userIdHint?: string
  /** The user who is signed in already: asked again, or for a stronger login. */
  readonly userId?: string
}

/** How a sign-in at the app's own page ended well. */
export interface SignIn {
  /** An id that `findUser()` knows. */
  readonly userId: UserId
  /** The strength of the login, for `acr` in tokens. Default: the option `acr`. */
  readonly acr?: string | undefined
  /** How the user signed in (RFC 8176): `['pwd', 'otp']`, `['hwk']`. Default: `['pwd']` in id_tokens. */
  readonly amr?: readonly string[] | undefined
  /** Whether the session outlives the browser's window. Default true. */
  readonly remember?: boolean | undefined
  /** The interaction, where the request has it neither in its query nor in its parsed body. */
  readonly interaction?: string | undefined
}

/** How a sign-in at the app's own page ended badly. */
export interface SignInRefusal {
  /**
   * `login_failed`: a wrong password or code for `account`. It counts for the login limits, and the browser goes back to the
   * sign-in page, with `error` in the query: `login_failed`, `login_refused` (the directory says why), `too_many_attempts`
   * (with `minutes`) or `too_many_logins`. Any other ends the sign-in at the app that asked. Default `access_denied`.
   */
  readonly error?: string | undefined
  /** For the app's developer: printable ASCII without quotes and backslashes. */
  readonly description?: string | undefined
  /** The name that was typed. `server.authenticate()` in the same request has counted already, and needs none. */
  readonly account?: string | undefined
  readonly interaction?: string | undefined
}

/** As kept, by the hash of its id. */
interface Kept {
  readonly interaction: Interaction
  /** The hash of the browser's secret. */
  readonly browser: string
  /** What the app's page is told, but for the lists that the request's own parameters have. */
  readonly told: Omit<SignInInteraction, 'userId' | 'userIdHint' | 'acrValues' | 'uiLocales' | 'params'>
}

/** An interaction that the request's browser began. */
interface Found {
  readonly id: string
  readonly kept: Kept
}

/** `error` in the query of the sign-in page, by what came of a login, or why the page is shown again. */
const ERRORS: Partial<Record<PasswordCheck['outcome'] | LoginNotice, string>> = {
  refused: 'login_refused',
  locked: 'too_many_attempts',
  busy: 'too_many_logins',
  pageExpired: 'page_expired',
  cookiesNeeded: 'cookies_needed',
  otherUser: 'other_user',
  otherAddress: 'other_address',
}
const LIMITS = { name: 'interaction', refusal: 'Too many sign-ins have been started.' }
/** Methods that somebody may guess (RFC 8176). A login by others, such as a passkey, is not locked. */
const GUESSABLE = ['pwd', 'pin', 'otp', 'kba', 'sms', 'tel']

/** Sends the browser to the app's own sign-in page, with an id that is good in this browser, once. */
export async function sendToOwnPage(
  parts: Uses<'cookies' | 'login' | 'records'>,
  { req, res, interaction, request }: Visit,
  notice?: LoginNotice,
): Promise<void> {
  const { client, redirectUri, scope, maxAgeSec, prompt } = request
  const { clientId, name, isUnverified, source } = client
  await limitStrangers(parts.records, req, { ...LIMITS, app: isUnverified ? 'strangers' : clientId })
  const id = newSecret()
  const told = {
    client: { id: clientId, name, host: source ?? hostOf(redirectUri) },
    scope,
    maxAgeSec,
    prompt: [...prompt],
    loginHint: request.loginHint === '' ? undefined : request.loginHint,
  }
  const kept: Kept = { interaction, told, browser: hashOf(browserOf(parts, req, res)) }
  await parts.records.set('interaction', hashOf(id), kept, OPEN_MS, ofStranger())
  const error = notice && ERRORS[notice]
  redirect(res, ownPageUrl(parts, { interaction: id, ...(error !== undefined && { error }) }))
}

/** Relative as configured: under another name of this host the browser keeps its cookies. */
function ownPageUrl({ login }: Uses<'login'>, params: Readonly<Record<string, string>>): string {
  const [, path = '', query = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/.exec(login?.url ?? '') ?? []
  const added = new URLSearchParams(query)
  for (const [name, value] of Object.entries(params)) added.set(name, value)
  return `${path}?${added.toString()}${hash}`
}

/**
 * What the app's own sign-in page calls. `signIn()` and `refuse()` return the answer to the browser.
 *
 * @throws {TypeError} for what the page did wrong
 */
export function ownPage(parts: Parts, flow: SignInFlow) {
  const { records, cookies, pages, users } = parts
  /** Responses that a sign-in has ended with. */
  const ended = new WeakSet<Response>()
  /** What `authenticate()` found out for a request. */
  const checked = new WeakMap<Request, PasswordCheck>()
  return { interaction, authenticate, signIn, refuse }

  async function interaction(req: Request, id?: string): Promise<SignInInteraction | undefined> {
    const kept = (await find(req, id))?.kept
    if (!kept) return undefined
    const session = await parts.sessionOf(req)
    const params = Params.of(kept.interaction.params)
    const { sub } = readClaimsRequest(params.get('claims'), [], undefined)
    const userIdHint = sub ?? parts.idTokens.read(params.get('id_token_hint') ?? '')?.sub
    return {
      ...kept.told,
      acrValues: acrValuesOf(params) ?? [],
      uiLocales: requestedLocales(params.get('ui_locales')),
      params: otherParams(params),
      ...(userIdHint !== undefined && { userIdHint }),
      ...(session && { userId: session.userId }),
    }
  }

  async function authenticate(req: Request, username: unknown, password: unknown, id?: string) {
    checked.set(req, { outcome: 'failed' })
    const found = await find(req, id)
    if (!found) return undefined
    const check = await checkPassword(parts, req, found.kept.told.client.id, username, password)
    checked.set(req, check)
    if (check.outcome === 'refused') return check.refusal
    // signIn() counts by itself, and refuse() a wrong second factor.
    return check.outcome === 'succeeded' ? check.user : undefined
  }

  async function signIn(req: Request, res: Response, how: SignIn): Promise<() => Promise<void>> {
    const userId = checkSignIn(how)
    end(res, 'signIn()')
    const { acr, amr, remember } = how
    const user = await users.find(userId)
    if (!user) {
      ended.delete(res)
      throw usageError(`signIn(): findUser(${shown(userId)}) knows no such user: create the user before`)
    }
    return async () => {
      const found = await find(req, how.interaction)
      const visit = await visitOf(found, req, res)
      if (!found || !visit) return
      const isGuess = amr?.some((method) => GUESSABLE.includes(method)) ?? true
      const attempt = await beginLogin(parts, req, visit.request.client.clientId, user.username, isGuess)
      await attempt.end(false)
      if (attempt.waitMs > 0) {
        attempt.report('locked')
        return sendBack({ outcome: 'locked', waitMs: attempt.waitMs }, found.id, res)
      }
      if (!(await isFirst(found.id))) return pages.stop(res, 400, 'startAgain')
      const login = await attempt.succeeded(userId, res)
      await flow.resume(visit, { ...login, ...(acr !== undefined && { acr }), ...(amr && { amr }) }, remember)
    }
  }

  function refuse(req: Request, res: Response, why: SignInRefusal): () => Promise<void> {
    const check = checked.get(req)
    const { error = 'access_denied', description = 'The user did not sign in.' } = checkRefusal(why, check)
    end(res, 'refuse()')
    return async () => {
      const found = await find(req, why.interaction)
      const visit = await visitOf(found, req, res)
      if (!found || !visit) return
      if (error === 'login_failed') {
        if (check && check.outcome !== 'succeeded') return sendBack(check, found.id, res)
        return sendBack(await failed(req, visit, why.account ?? check?.user.username), found.id, res)
      }
      if (!(await isFirst(found.id))) return pages.stop(res, 400, 'startAgain')
      const refusal = new OAuthError(error as OAuthErrorCode, description)
      await redirectError(parts, req, res, visit.request, refusal, true)
    }
  }

  /** Counts a failure that the page reports. */
  async function failed(req: Request, { request }: Visit, account = ''): Promise<PasswordCheck> {
    const attempt = await beginLogin(parts, req, request.client.clientId, account)
    const { waitMs } = attempt
    await attempt.end(true)
    attempt.report(waitMs > 0 ? 'locked' : 'failed')
    return waitMs > 0 ? { outcome: 'locked', waitMs } : { outcome: 'failed' }
  }

  /** Back to the sign-in page, which says what went wrong. */
  function sendBack(check: PasswordCheck, id: string, res: Response): void {
    const minutes = check.outcome === 'locked' ? { minutes: String(minutesOf(check.waitMs)) } : undefined
    redirect(res, ownPageUrl(parts, { interaction: id, error: ERRORS[check.outcome] ?? 'login_failed', ...minutes }))
  }

  /** The request that is being answered. Undefined if the browser has been answered: there is none, or it is in error. */
  async function visitOf(found: Found | undefined, req: Request, res: Response): Promise<Visit | undefined> {
    if (!found) return void pages.stop(res, 400, 'startAgain')
    const { interaction } = found.kept
    return flow.arrive(Params.of(interaction.params), interaction, req, res)
  }

  /** Whether this request ends the interaction, once in all processes. Whoever has the id meanwhile comes too late. */
  async function isFirst(id: string): Promise<boolean> {
    return (await records.claim('interaction', hashOf(id), 0))?.first ?? false
  }

  /** The interaction that the request names, in the browser in which it began. */
  async function find(req: Request, given?: string): Promise<Found | undefined> {
    const { query, body } = req as { query?: { interaction?: unknown }; body?: unknown }
    const id = given ?? query?.interaction ?? (isJsonObject(body) ? body.interaction : undefined)
    if (typeof id !== 'string' || !/^[\w-]{43}$/.test(id)) return undefined
    const kept = await records.get<Kept>('interaction', hashOf(id))
    const isHere = cookies.browsers(req.headers.cookie).some((browser) => hashOf(browser) === kept?.browser)
    return kept && isHere ? { id, kept } : undefined
  }

  function end(res: Response, what: string): void {
    if (ended.has(res) || res.headersSent) {
      throw usageError(
        `${what} was called for a response that has ended: call signIn() or refuse(), once for each request`,
      )
    }
    ended.add(res)
  }
}

/** The id of the user. @throws {TypeError} for what the page did wrong */
function checkSignIn(how: SignIn): string {
  optionNames('signIn()', how, ['userId', 'acr', 'amr', 'remember', 'interaction'])
  const { acr, amr } = how as { acr?: unknown; amr?: unknown }
  optionType('signIn(): acr', acr, 'string')
  optionType('signIn(): remember', how.remember, 'boolean')
  if (amr === undefined || (Array.isArray(amr) && amr.every((method) => typeof method === 'string')))
    return textOf(how.userId, 'signIn(): userId')
  throw usageError(`signIn(): amr must be a list of texts, such as ['pwd', 'otp']; received ${shown(amr)}`)
}

/** RFC 6749 §4.1.2.1. */
const ERROR_TEXT = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/

function checkRefusal(why: SignInRefusal, check: PasswordCheck | undefined): SignInRefusal {
  optionNames('refuse()', why, ['error', 'description', 'account', 'interaction'])
  for (const name of ['error', 'description'] as const) {
    const text = why[name] as unknown
    if (text === undefined || (typeof text === 'string' && ERROR_TEXT.test(text))) continue
    throw usageError(
      `refuse(): ${name} must be printable ASCII without quotes and backslashes, which RFC 6749 asks for; received ${shown(text)}`,
    )
  }
  if (why.error !== 'login_failed' || check || typeof why.account === 'string') return why
  throw usageError(
    `refuse(): login_failed needs the account that was typed, or server.authenticate() before, for the login limits; received ${shown(why.account)}`,
  )
}
