import type { Request, Response } from 'express'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import type { ServerContext } from '../server-context'
import type { FormPage, LoginNotice } from '../pages/page-renderer'
import { cspSource, hostOf, isOnDevice } from '../directories/redirect-uri'
import { hashOf, newId, newSecret } from '../../http/secret'
import type { RawParams } from '../parameters/params'
import type { User } from '../directories/user'
import { RegisteredClients } from '../records/registered-clients'
import { appName } from './app-name'

/** Where an authorization request came from, to start again from if its page expires. */
export interface Origin {
  /** As received. */
  readonly params: RawParams
  /** Identifies the request, if its client pushed it (RFC 9126): it yields one code. */
  readonly pushedId: string | undefined
}

/** The steps that a user has completed for one request. The page carries them, so clock differences do not matter. */
export interface Steps {
  readonly userId: string
  /** Entered the password. */
  readonly login?: boolean
  /** Accepted the terms. */
  readonly terms?: boolean
  /** Approved the app. */
  readonly approval?: boolean
}

/** The state of a page, sealed into it: the server stores nothing. */
export interface OpenedInteraction extends Origin {
  /** Identifies the request's pages. Each allows one login. */
  readonly id: string
  /** When the request came, in milliseconds since 1970. */
  readonly startedAtMs: number
  /** Undefined: none yet. The terms and approval pages are invalid with another user's session. */
  readonly steps?: Steps
}

/** An authorization request whose user is at a page. */
export interface Interaction extends OpenedInteraction {
  readonly request: AuthorizationRequest
}

/** How long after the request its page can be submitted. */
export const PAGE_LIFETIME_MS = 15 * 60_000

/** Starts the interaction of a new request. */
export function beginInteraction(
  ctx: ServerContext,
  { params, pushedId }: Origin,
  request: AuthorizationRequest,
): Interaction {
  return { params, pushedId, id: newId(), startedAtMs: ctx.clock.date(), request }
}

/** The interaction after one more step of the user. Steps of another user do not count. */
export function withStep(interaction: Interaction, userId: string, step: Omit<Steps, 'userId'>): Interaction {
  const before = interaction.steps?.userId === userId ? interaction.steps : undefined
  return { ...interaction, steps: { ...before, ...step, userId } }
}

/** The state of a submitted page, or undefined if this server did not seal it. */
export function openInteraction(ctx: ServerContext, sealed: string): OpenedInteraction | undefined {
  return ctx.seal.open('interaction', sealed) as OpenedInteraction | undefined
}

/** Shows the login page. */
export function showLogin(
  ctx: ServerContext,
  interaction: Interaction,
  req: Request,
  res: Response,
  again: { status?: number; notice?: LoginNotice; username?: string; minutes?: number } = {},
): void {
  const { status = 200, username = interaction.request.loginHint, ...notice } = again
  const page = formPage(ctx, interaction, 'login', req, res)
  ctx.pages.login(res, status, { ...page, username, ...notice })
}

/** Shows the terms of access. */
export function showTerms(ctx: ServerContext, interaction: Interaction, user: User, req: Request, res: Response): void {
  const page = formPage(ctx, withStep(interaction, user.id, {}), 'terms', req, res)
  ctx.pages.termsOfAccess(res, { ...page, user: user.username })
}

/** Asks the user to approve the app: its name, where the code goes, and what it may do. */
export function showApproval(
  ctx: ServerContext,
  interaction: Interaction,
  user: User,
  req: Request,
  res: Response,
): void {
  const { client, redirectUri, scope } = interaction.request
  const page = formPage(ctx, withStep(interaction, user.id, {}), 'approval', req, res)
  ctx.pages.approval(res, {
    ...page,
    app: { name: client.name },
    host: hostOf(redirectUri),
    isOnDevice: isOnDevice(redirectUri),
    isSelfRegistered: RegisteredClients.isRegistered(client.clientId),
    scope,
    user: user.username,
  })
}

/** A token that only this server's page, in the browser that has the cookie, can submit. */
export function issueCsrfToken(ctx: ServerContext, req: Request, res: Response, sealed: string): string {
  let browser = ctx.cookies.read(req.headers.cookie, 'browser')
  if (browser === undefined) {
    browser = newSecret()
    res.append('Set-Cookie', ctx.cookies.write('browser', browser))
  }
  return ctx.seal.seal('csrf', hashOf(`${browser}.${sealed}`))
}

/**
 * Whether a form was submitted from this server's page in the same browser. Checks the token and the browser's own fields,
 * `Origin` and `Sec-Fetch-Site`. The pages send no referrer, so `Origin` may be `null`.
 */
export function isOwnForm(ctx: ServerContext, req: Request, sealed: string, csrf: string | undefined): boolean {
  const { origin, cookie } = req.headers
  const site = req.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (origin !== undefined && origin !== 'null' && origin !== new URL(ctx.issuer).origin) return false
  const browser = ctx.cookies.read(cookie, 'browser')
  return browser !== undefined && csrf !== undefined && ctx.seal.open('csrf', csrf) === hashOf(`${browser}.${sealed}`)
}

/** Origins and schemes to which the response to a form may lead the browser. Undefined: unknown. */
export function onwardOf(
  uri: string,
  { onwardOrigins = [] }: { readonly onwardOrigins?: readonly string[] | undefined },
) {
  // Programs on the user's device often redirect on to a custom scheme.
  return /^http:/.test(uri) ? undefined : [...new Set([cspSource(uri), ...onwardOrigins])]
}

function formPage(
  ctx: ServerContext,
  { request, params, pushedId, id, startedAtMs, steps }: Interaction,
  action: 'login' | 'terms' | 'approval',
  req: Request,
  res: Response,
): FormPage {
  const { client, redirectUri } = request
  const opened: OpenedInteraction = { params, pushedId, id, startedAtMs, ...(steps && { steps }) }
  const sealed = ctx.seal.seal('interaction', opened)
  return {
    action: `${ctx.issuer}/${action}`,
    request: sealed,
    csrf: issueCsrfToken(ctx, req, res, sealed),
    onward: onwardOf(redirectUri, client),
    app: appName(client, redirectUri),
  }
}
