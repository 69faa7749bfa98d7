import type { Request, Response } from 'express'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import type { Context } from '../context'
import type { FormPage, LoginNotice } from '../pages/page-renderer'
import { cspSource } from '../parameters/redirect-uri'
import { hashOf, newId, newSecret } from '../../http/secret'
import type { User } from '../directories/user'

/** An authorization request while its user is looking at our pages. Nothing of it is kept here: the page carries it. */
export interface Interaction {
  readonly request: AuthorizationRequest
  /** Good for one login. */
  readonly id: string
  /** When the request came, in milliseconds since 1970; a login since then is one for this request. */
  readonly startedAtMs: number
  /** All of this, and the parameters as they came, sealed. */
  readonly sealed: string
}

/** What a page carries, opened. */
export interface OpenedInteraction {
  readonly params: Readonly<Record<string, string>>
  readonly id: string
  readonly startedAtMs: number
}

/** For how long a page can be sent off after its request came. Afterwards the request begins anew. */
export const PAGE_LIFETIME_MS = 15 * 60_000

/** An interaction for a request that has just come. */
export function beginInteraction(
  ctx: Context,
  params: Readonly<Record<string, string>>,
  request: AuthorizationRequest,
): Interaction {
  const opened = { params, id: newId(), startedAtMs: ctx.clock.date() }
  return { ...opened, request, sealed: ctx.seal.seal('interaction', opened) }
}

/** What a page that comes back carries, if it is one of ours. */
export function openInteraction(ctx: Context, sealed: string): OpenedInteraction | undefined {
  return ctx.seal.open('interaction', sealed) as OpenedInteraction | undefined
}

/** Shows the login page. */
export function showLogin(
  ctx: Context,
  interaction: Interaction,
  req: Request,
  res: Response,
  again: { status?: number; notice?: LoginNotice; username?: string; minutes?: number } = {},
): void {
  const { status = 200, username = interaction.request.loginHint, ...notice } = again
  const page = formPage(ctx, interaction, `${ctx.issuer}/login`, req, res)
  ctx.pages.login(res, status, { ...page, username, ...notice })
}

/** Shows the terms of access. */
export function showTerms(ctx: Context, interaction: Interaction, user: User, req: Request, res: Response): void {
  const page = formPage(ctx, interaction, `${ctx.issuer}/terms`, req, res)
  ctx.pages.termsOfAccess(res, { ...page, user: user.username })
}

/** A token that only a form of ours, in the browser that was given the cookie, can send. */
export function csrfToken(ctx: Context, req: Request, res: Response, sealed: string): string {
  let browser = ctx.cookies.read(req.headers.cookie, 'browser')
  if (browser === undefined) {
    browser = newSecret()
    res.append('Set-Cookie', ctx.cookies.write('browser', browser))
  }
  return ctx.seal.seal('csrf', hashOf(`${browser}.${sealed}`))
}

/**
 * Whether a form comes from a page of ours in the same browser: by its token, and by what the browser says of where it
 * comes from. Our pages send no referrer, so a browser may call their origin `null`.
 */
export function isOwnForm(ctx: Context, req: Request, sealed: string, csrf: string | undefined): boolean {
  const { origin, cookie } = req.headers
  const site = req.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (origin !== undefined && origin !== 'null' && origin !== new URL(ctx.issuer).origin) return false
  const browser = ctx.cookies.read(cookie, 'browser')
  return browser !== undefined && csrf !== undefined && ctx.seal.open('csrf', csrf) === hashOf(`${browser}.${sealed}`)
}

function formPage(ctx: Context, interaction: Interaction, action: string, req: Request, res: Response): FormPage {
  const { request, sealed } = interaction
  const onward = [cspSource(request.redirectUri), ...(request.client.onwardOrigins ?? [])]
  return {
    action,
    request: sealed,
    csrf: csrfToken(ctx, req, res, sealed),
    onward: [...new Set(onward)],
    locales: request.locales,
    app: request.client.name,
  }
}
