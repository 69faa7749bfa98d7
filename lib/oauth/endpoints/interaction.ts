import type { Request, Response } from 'express'
import { hashOf, newId } from '../../http/secret'
import type { FormPage } from '../pages/page-renderer'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import type { RawParams } from '../parameters/params'
import type { Uses } from '../parts'
import { Seal } from '../seal'
import { appName, onwardOf } from './authorization-response'
import { knownUrl } from '../../http/url'

/** The steps that a user has completed for one request. The page carries them, so clock differences do not matter. */
interface Steps {
  readonly userId: string
  /** Signed in. */
  readonly login?: boolean
  /** Accepted the terms. */
  readonly terms?: boolean
  /** Approved the app. */
  readonly approval?: boolean
}

/** An authorization request on its way through the pages. Sealed into them: the server stores nothing. */
export interface Interaction {
  /** The request's parameters as received, to start again from. */
  readonly params: RawParams
  /** Identifies the request, if its client pushed it (RFC 9126): it yields one code. */
  readonly pushedId?: string | undefined
  /** Identifies the request's pages. Each allows one login. */
  readonly id: string
  /** When its page was shown, in milliseconds since 1970. */
  readonly startedAtMs: number
  /** Undefined: none yet. The terms and approval pages are invalid with another user's session. */
  readonly steps?: Steps
}

/** How long a page can be submitted. */
export const PAGE_LIFETIME_MS = 15 * 60_000
/** How long a sign-in may wait at the app's own page. */
export const OPEN_MS = 4 * 60 * 60_000

/** Starts the interaction of a request, or starts it again. */
export function beginInteraction(
  { clock }: Uses<'clock'>,
  { params, pushedId }: Partial<Interaction> & Pick<Interaction, 'params'>,
): Interaction {
  return { params, ...(pushedId !== undefined && { pushedId }), id: newId(), startedAtMs: clock.date() }
}

/** The interaction after one more step of the user. Steps of another user do not count. */
export function withStep(interaction: Interaction, userId: string, step: Omit<Steps, 'userId'>): Interaction {
  const before = interaction.steps?.userId === userId ? interaction.steps : undefined
  return { ...interaction, steps: { ...before, ...step, userId } }
}

/** The values of a page's form. */
export function formPage(
  parts: Uses<'clock' | 'cookies' | 'issuer' | 'seal'>,
  interaction: Interaction,
  { client, redirectUri }: AuthorizationRequest,
  action: 'login' | 'terms' | 'approval',
  req: Request,
  res: Response,
): FormPage {
  const state = { ...interaction, startedAtMs: parts.clock.date() }
  const form = sealedForm(parts, 'interaction', state, req, res, action)
  return { ...form, onward: onwardOf(redirectUri, client), app: appName(client, redirectUri) }
}

/**
 * The state of a submitted page. Without `interaction` this server did not seal it, as after a restart with a new key:
 * anybody may have written the parameters, so they count as a new request.
 */
export function openInteraction(
  { seal }: Uses<'seal'>,
  sealed: string,
): { readonly params: RawParams; readonly interaction?: Interaction } | undefined {
  const interaction = seal.open('interaction', sealed) as Interaction | undefined
  if (interaction) return { params: interaction.params, interaction }
  const { params } = (Seal.unverified(sealed) ?? {}) as { params?: unknown }
  return typeof params === 'object' && params !== null ? { params: params as RawParams } : undefined
}

/** The browser's secret, which comes back as a cookie. */
export function browserOf({ cookies }: Uses<'cookies'>, req: Request, res: Response): string {
  const [known] = cookies.browsers(req.headers.cookie)
  if (known !== undefined) return known
  const { secret, field } = cookies.newBrowser()
  res.append('Set-Cookie', field)
  return secret
}

/**
 * A form with its state, and with a token that only this server's page, in the browser that has the cookie, can submit.
 *
 * @param use of the seal; by default also the endpoint that the form is sent to
 */
export function sealedForm(
  parts: Uses<'cookies' | 'issuer' | 'seal'>,
  use: 'interaction' | 'apps' | 'logout',
  state: object,
  req: Request,
  res: Response,
  endpoint: string = use,
): Pick<FormPage, 'action' | 'request' | 'csrf'> {
  const request = parts.seal.seal(use, state)
  const csrf = parts.seal.seal('csrf', hashOf(`${browserOf(parts, req, res)}.${request}`))
  return { action: `${parts.issuer}/${endpoint}`, request, csrf }
}

/**
 * Whether a form was submitted from this server's page in the same browser. Checks the token and the browser's own fields,
 * `Origin` and `Sec-Fetch-Site`. The pages send no referrer, so `Origin` may be `null`.
 */
export function isOwnForm(
  { cookies, issuer, seal }: Uses<'cookies' | 'issuer' | 'seal'>,
  req: Request,
  sealed: string,
  csrf: string | undefined,
): boolean {
  const { origin, cookie } = req.headers
  const site = req.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (origin !== undefined && origin !== 'null' && origin !== knownUrl(issuer).origin) return false
  const signed = csrf === undefined ? undefined : seal.open('csrf', csrf)
  return signed !== undefined && cookies.browsers(cookie).some((browser) => signed === hashOf(`${browser}.${sealed}`))
}

/** Whether the browser reports that another site submitted the form, or this server under another name. */
export function isForeign(req: Request): boolean {
  return /^(cross|same)-site$/.test(req.headers['sec-fetch-site']?.toString() ?? '')
}

/** A longer URL fails in some proxies. */
const LONGEST_QUERY = 4_000

/**
 * Whether another site posted the form, and the browser's session cookie may be missing for that: browsers send no `Lax`
 * cookie with such a POST, so a signed-in user would look signed out.
 */
export function lacksCookies({ cookies }: Uses<'cookies'>, req: Request): boolean {
  return req.method === 'POST' && isForeign(req) && cookies.read(req.headers.cookie, 'session') === undefined
}

/** Redirects to the same request by GET, which has the cookies, and tells whether it did: not with too long a query. */
export function askAgainByGet(
  { issuer }: Uses<'issuer'>,
  path: '/authorization' | '/logout',
  query: string,
  res: Response,
): boolean {
  if (query.length > LONGEST_QUERY) return false
  res.status(303).setHeader('Location', `${issuer}${path}?${query}`).end()
  return true
}
