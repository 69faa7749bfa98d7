import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { formOf } from '../parameters/form'
import { foreignForm, invalidRequest } from '../oauth-error'
import { Params } from '../parameters/params'
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
 * expired or its cookie is missing, shows a new login page for the same request, so that the user still gets to the app.
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
  if (!opened) throw invalidRequest('The form was not made by this server.')
  const isOurs = isOwnForm(ctx, req, sealed, form.get('csrf'))
  if (!isOurs && isForeign(req)) throw foreignForm()

  await withAuthorizationRequest(ctx, Params.of(opened.params), opened.pushedId, res, async (request) => {
    const isLate = ctx.clock.date() - opened.startedAtMs > PAGE_LIFETIME_MS
    if (isOurs && !isLate) return use({ ...opened, request, sealed }, form)
    const afresh = beginInteraction(ctx, opened, request)
    const again = isOurs
      ? { status: 400, notice: 'pageExpired' as const }
      : { status: 403, notice: 'cookiesNeeded' as const }
    showLogin(ctx, afresh, req, res, again)
  })
}

/** Whether the browser reports that another site submitted the form. */
function isForeign(req: Request): boolean {
  return /^(cross|same)-site$/.test(req.headers['sec-fetch-site']?.toString() ?? '')
}
