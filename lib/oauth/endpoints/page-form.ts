import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { formOf } from '../parameters/form'
import { invalidRequest } from '../oauth-error'
import { Params, type RawParams } from '../parameters/params'
import type { SessionRecord } from '../records/website-sessions'
import { Seal } from '../seal'
import { withAuthorizationRequest } from './find-request'
import {
  type Interaction,
  PAGE_LIFETIME_MS,
  beginInteraction,
  isOwnForm,
  openInteraction,
  showLogin,
} from './interaction'

/**
 * Reads a form that one of this server's pages submits, verifies that, and finds its authorization request. If the page has
 * expired, its cookie is missing or its keys are gone, shows a new login page for the same request, so that the user still
 * gets to the app.
 */
export async function withPageForm(
  ctx: ServerContext,
  req: Request,
  res: Response,
  names: readonly string[],
  use: (interaction: Interaction, form: Params) => Promise<void>,
): Promise<void> {
  const form = await formOf(req)
  form.refuseRepeated(['request', 'csrf', 'action', ...names])
  const sealed = form.need('request')
  const opened = openInteraction(ctx, sealed)
  const origin = opened ?? { params: unsealedParams(sealed), pushedId: undefined }

  await withAuthorizationRequest(ctx, Params.of(origin.params), origin.pushedId, req, res, async (request) => {
    const isOurs = isOwnForm(ctx, req, sealed, form.get('csrf'))
    const isLate = !opened || ctx.clock.date() - opened.startedAtMs > PAGE_LIFETIME_MS
    if (isOurs && !isLate) return use({ ...opened, request }, form)
    const afresh = beginInteraction(ctx, origin, request)
    if (!opened || isOurs) return showLogin(ctx, afresh, req, res, { status: 400, notice: 'pageExpired' })
    showLogin(ctx, afresh, req, res, { status: 403, notice: isForeign(req) ? 'otherAddress' : 'cookiesNeeded' })
  })
}

/** The same for a page that a user who is signed in saw: with another user's session it asks for a login. */
export async function withUserForm(
  ctx: ServerContext,
  req: Request,
  res: Response,
  use: (interaction: Interaction, session: SessionRecord, action: string | undefined) => Promise<void>,
): Promise<void> {
  await withPageForm(ctx, req, res, [], async (interaction, form) => {
    const session = await ctx.sessions.find(ctx.cookies.read(req.headers.cookie, 'session'))
    if (session && session.userId === interaction.steps?.userId) return use(interaction, session, form.get('action'))
    const afresh = beginInteraction(ctx, interaction, interaction.request)
    showLogin(ctx, afresh, req, res, session ? { status: 400, notice: 'otherUser' } : {})
  })
}

/**
 * The request of a page whose keys this server does not have any more, as after a restart with a generated key. Anybody may
 * have written it, so it counts as a new request.
 */
function unsealedParams(sealed: string): RawParams {
  const { params } = (Seal.unverified(sealed) ?? {}) as { params?: unknown }
  if (typeof params === 'object' && params !== null) return params as RawParams
  throw invalidRequest('The form was not made by this server.')
}

/** Whether the browser reports that another site submitted the form, or this server under another name. */
function isForeign(req: Request): boolean {
  return /^(cross|same)-site$/.test(req.headers['sec-fetch-site']?.toString() ?? '')
}
