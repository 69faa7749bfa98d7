import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { OAuthError } from '../oauth-error'
import { approvalOf, redirectError } from './authorization-response'
import type { Endpoint } from './endpoint'
import { withStep } from './interaction'
import { withUserForm } from './page-form'
import { continueAuthorization } from './continue-authorization'

/** Receives the form of the page on which a user approves an app. */
export const approvalEndpoint: Endpoint = { path: '/approval', methods: { POST: approval }, errors: 'page' }

async function approval(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  await withUserForm(ctx, req, res, async (interaction, session, action) => {
    const { request } = interaction
    if (action !== 'accept') {
      return redirectError(ctx, req, res, request, new OAuthError('access_denied', 'The user did not approve the app.'))
    }
    await ctx.approvals.approve(approvalOf(request, session.userId))
    await continueAuthorization(ctx, withStep(interaction, session.userId, { approval: true }), session, req, res)
  })
}
