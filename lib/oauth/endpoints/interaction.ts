import type { Request, Response } from 'express'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import type { ServerContext } from '../server-context'
import type { FormPage, LoginNotice } from '../pages/page-renderer'
import { cspSource } from '../directories/redirect-uri'
import { hashOf, newId, newSecret } from '../../http/secret'
import type { RawParams } from '../parameters/params'
import type { User } from '../directories/user'

/** An authorization request whose user is at the login or terms page. The page carries it; the server stores nothing. */
export interface Interaction {
  readonly pushedId: string | undefined
  readonly request: AuthorizationRequest
  /** Identifies the page. Each allows one login. */
  readonly id: string
  /** When the request came, in milliseconds since 1970. A later login was made for this request. */
  readonly startedAtMs: number
  /** The interaction and the request's parameters, sealed for the page. */
  readonly sealed: string
}

/** Where an authorization request came from, to start again from if its page expires. */
export interface Origin {
  /** As received. */
  readonly params: RawParams
  /** Identifies the request, if its client pushed it (RFC 9126): it yields one code. */
  readonly pushedId: string | undefined
}

/** The unsealed state of a page. */
export interface OpenedInteraction extends Origin {
  readonly id: string
  readonly startedAtMs: number
}

/** How long after the request its page can be submitted. */
export const PAGE_LIFETIME_MS = 15 * 60_000

/** Starts the interaction of a new request. */
export function beginInteraction(
  ctx: ServerContext,
  { params, pushedId }: Origin,
  request: AuthorizationRequest,
): Interaction {
  const opened = { params, pushedId, id: newId(), startedAtMs: ctx.clock.date() }
  return { ...opened, request, sealed: ctx.seal.seal('interaction', opened) }
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
  const page = formPage(ctx, interaction, `${ctx.issuer}/login`, req, res)
  ctx.pages.login(res, status, { ...page, username, ...notice })
}

/** Shows the terms of access. */
export function showTerms(ctx: ServerContext, interaction: Interaction, user: User, req: Request, res: Response): void {
  const page = formPage(ctx, interaction, `${ctx.issuer}/terms`, req, res)
  ctx.pages.termsOfAccess(res, { ...page, user: user.username })
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

function formPage(ctx: ServerContext, interaction: Interaction, action: string, req: Request, res: Response): FormPage {
  const { request, sealed } = interaction
  const onward = [cspSource(request.redirectUri), ...(request.client.onwardOrigins ?? [])]
  return {
    action,
    request: sealed,
    csrf: issueCsrfToken(ctx, req, res, sealed),
    onward: [...new Set(onward)],
    locales: request.locales,
    app: request.client.name,
  }
}
