import type { Request, Response } from 'express'
import { usageError } from '../../http/help'
import { isJsonObject } from '../../http/json'
import { optionNames, optionType, shown } from '../../http/options'
import { hashOf, newSecret } from '../../http/secret'
import { hostOf } from '../directories/redirect-uri'
import { OAuthError, type OAuthErrorCode } from '../oauth-error'
import { Params } from '../parameters/params'
import type { Uses } from '../parts'
import { limitStrangers } from '../records/strangers'
import { redirect, redirectError } from './authorization-response'
import { type Interaction, PAGE_LIFETIME_MS, browserOf } from './interaction'
import { type LoginAttempt, beginLogin } from './login-attempt'
import type { SignInFlow, Visit } from './sign-in'

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
  readonly prompt: readonly string[]
  /** The user who is signed in already: asked again, or for a stronger login. */
  readonly userId?: string
}

/** How a sign-in at the app's own page ended well. */
export interface SignIn {
  /** An id that `findUser()` knows. */
  readonly userId: string
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
   * sign-in page, with `error=login_failed` or `error=too_many_attempts` in the query. Any other ends the sign-in at the app
   * that asked. Default `access_denied`.
   */
  readonly error?: string | undefined
  /** For the app's developer: printable ASCII without quotes and backslashes. */
  readonly description?: string | undefined
  /** The name that was typed. */
  readonly account?: string | undefined
  readonly interaction?: string | undefined
}

/** As kept, by the hash of its id. */
interface Kept {
  readonly interaction: Interaction
  /** The hash of the browser's secret. */
  readonly browser: string
  /** What the app's page is told. */
  readonly told: Omit<SignInInteraction, 'userId'>
}

const LIMITS = {
  name: 'interaction',
  perAddress: 600,
  inAll: 6_000,
  windowMs: 60_000,
  refusal: 'Too many sign-ins have been started.',
}
/** Methods that somebody may guess (RFC 8176). A login by others, such as a passkey, is not locked. */
const GUESSABLE = ['pwd', 'pin', 'otp', 'kba', 'sms', 'tel']

/** Sends the browser to the app's own sign-in page, with an id that is good in this browser, once. */
export async function sendToOwnPage(
  parts: Uses<'cookies' | 'login' | 'records'>,
  { req, res, interaction, request }: Visit,
): Promise<void> {
  const { client, redirectUri, scope, uiLocales, acrValues = [], maxAgeSec, prompt } = request
  const { clientId, name, isStranger, source } = client
  await limitStrangers(parts.records, req, { ...LIMITS, app: isStranger ? 'strangers' : clientId })
  const id = newSecret()
  const told = {
    client: { id: clientId, name, host: source ?? hostOf(redirectUri) },
    ...{ scope, acrValues, maxAgeSec, prompt: [...prompt] },
    loginHint: request.loginHint === '' ? undefined : request.loginHint,
    uiLocales: uiLocales?.split(' ').filter(Boolean) ?? [],
  }
  const kept: Kept = { interaction, told, browser: hashOf(browserOf(parts, req, res)) }
  await parts.records.set('interaction', hashOf(id), kept, PAGE_LIFETIME_MS)
  redirect(res, ownPageUrl(parts, { interaction: id }))
}

/** Relative as configured: under another name of this host the browser keeps its cookies. */
function ownPageUrl({ login }: Uses<'login'>, params: Readonly<Record<string, string>>): string {
  const [, path = '', query = '', hash = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/.exec(login?.url ?? '') ?? []
  const added = new URLSearchParams(query)
  for (const [name, value] of Object.entries(params)) added.set(name, value)
  return `${path}?${added.toString()}${hash}`
}

type Parts = Uses<
  | ('attempts' | 'consents' | 'cookies' | 'issuer' | 'log' | 'login' | 'loginEvents' | 'pages' | 'records')
  | ('revocations' | 'seal' | 'sessions' | 'users')
>

/** What the app's own sign-in page calls. */
export interface OwnPage {
  readonly interaction: (req: Request, id?: string) => Promise<SignInInteraction | undefined>
  /** The answer to the browser after a login. @throws {TypeError} for what the page did wrong */
  readonly signIn: (req: Request, res: Response, how: SignIn) => Promise<() => Promise<void>>
  /** The answer to the browser without a login. @throws {TypeError} for what the page did wrong */
  readonly refuse: (req: Request, res: Response, why: SignInRefusal) => () => Promise<void>
}

export function ownPage(parts: Parts, flow: SignInFlow): OwnPage {
  const { records, cookies, pages, users, sessions } = parts
  /** Responses that a sign-in has ended with. */
  const ended = new WeakSet<Response>()
  return { interaction, signIn, refuse }

  async function interaction(req: Request, id?: string): Promise<SignInInteraction | undefined> {
    const kept = (await find(req, id))?.kept
    if (!kept) return undefined
    const session = await sessions.find(cookies.read(req.headers.cookie, 'session'))
    return { ...kept.told, ...(session && { userId: session.userId }) }
  }

  async function signIn(req: Request, res: Response, how: SignIn): Promise<() => Promise<void>> {
    checkSignIn(how)
    end(res, 'signIn()')
    const { userId, acr, amr, remember } = how
    const user = await users.find(userId)
    if (!user) {
      ended.delete(res)
      throw usageError(`signIn(): findUser(${shown(userId)}) knows no such user: create the user before`)
    }
    return async () => {
      const found = await find(req, how.interaction)
      const visit =
        found && (await flow.arrive(Params.of(found.kept.interaction.params), found.kept.interaction, req, res))
      if (!visit) return found ? undefined : pages.startAgain(res)
      const attempt = await beginLogin(parts, req, visit.request.client.clientId, user.username)
      const isGuess = amr?.some((method) => GUESSABLE.includes(method)) ?? true
      if (attempt.waitMs > 0 && isGuess) return sendBack('locked', found.id, attempt, res)
      // Once in all processes: whoever has the id meanwhile comes too late.
      const used = await records.claim('interaction', hashOf(found.id), 0)
      if (!used?.first) return pages.startAgain(res)
      attempt.report('succeeded', userId)
      const userMark = await attempt.succeeded(userId, res)
      const login = {
        userId,
        ...(userMark !== undefined && { userMark }),
        ...(acr !== undefined && { acr }),
        ...(amr && { amr }),
      }
      await flow.resume(visit, login, remember)
    }
  }

  function refuse(req: Request, res: Response, why: SignInRefusal): () => Promise<void> {
    const { error = 'access_denied', description = 'The user did not sign in.', account } = checkRefusal(why)
    end(res, 'refuse()')
    return async () => {
      const found = await find(req, why.interaction)
      const visit =
        found && (await flow.arrive(Params.of(found.kept.interaction.params), found.kept.interaction, req, res))
      if (!visit) return found ? undefined : pages.startAgain(res)
      if (error === 'login_failed') {
        const attempt = await beginLogin(parts, req, visit.request.client.clientId, account ?? '')
        return sendBack(attempt.waitMs > 0 ? 'locked' : 'failed', found.id, attempt, res)
      }
      const used = await records.claim('interaction', hashOf(found.id), 0)
      if (!used?.first) return pages.startAgain(res)
      await redirectError(parts, req, res, visit.request, new OAuthError(error as OAuthErrorCode, description))
    }
  }

  /** Back to the sign-in page, which says what went wrong. */
  function sendBack(outcome: 'failed' | 'locked', id: string, attempt: LoginAttempt, res: Response): void {
    attempt.report(outcome)
    const minutes = String(Math.ceil(attempt.waitMs / 60_000))
    const error = outcome === 'failed' ? { error: 'login_failed' } : { error: 'too_many_attempts', minutes }
    redirect(res, ownPageUrl(parts, { interaction: id, ...error }))
  }

  /** The interaction that the request names, in the browser in which it began. */
  async function find(req: Request, given?: string): Promise<{ id: string; kept: Kept } | undefined> {
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

function checkSignIn(how: SignIn): void {
  optionNames('signIn()', how, ['userId', 'acr', 'amr', 'remember', 'interaction'])
  const { userId, acr, amr } = how as { userId: unknown; acr?: unknown; amr?: unknown }
  if (typeof userId !== 'string' || userId === '') {
    throw usageError(`signIn(): userId must be the id of a user, a text; received ${shown(userId)}`)
  }
  optionType('signIn(): acr', acr, 'string')
  optionType('signIn(): remember', how.remember, 'boolean')
  if (amr === undefined || (Array.isArray(amr) && amr.every((method) => typeof method === 'string'))) return
  throw usageError(`signIn(): amr must be a list of texts, such as ['pwd', 'otp']; received ${shown(amr)}`)
}

/** RFC 6749 §4.1.2.1. */
const ERROR_TEXT = /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/

function checkRefusal(why: SignInRefusal): SignInRefusal {
  optionNames('refuse()', why, ['error', 'description', 'account', 'interaction'])
  for (const name of ['error', 'description'] as const) {
    const text = why[name] as unknown
    if (text === undefined || (typeof text === 'string' && ERROR_TEXT.test(text))) continue
    throw usageError(
      `refuse(): ${name} must be printable ASCII without quotes and backslashes, which RFC 6749 asks for; received ${shown(text)}`,
    )
  }
  if (why.error !== 'login_failed' || (typeof why.account === 'string' && why.account !== '')) return why
  throw usageError(
    `refuse(): login_failed needs the account that was typed, for the login limits; received ${shown(why.account)}`,
  )
}
