import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { OAuthError } from '../oauth-error'
import { redirectError } from './authorization-response'
import type { Endpoint } from './endpoint'
import { withStep } from './interaction'
import { withUserForm } from './page-form'
import { continueAuthorization } from './continue-authorization'

/** Receives the terms page's form. */
export const termsEndpoint: Endpoint = { path: '/terms', methods: { POST: terms }, errors: 'page' }

async function terms(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  await withUserForm(ctx, req, res, async (interaction, session, action) => {
    if (action !== 'accept') {
      const declined = new OAuthError('access_denied', 'The user did not accept the terms of access.')
      return redirectError(ctx, req, res, interaction.request, declined)
    }
    const version = ctx.pages.terms?.version
    if (version !== undefined) await ctx.acceptedTerms.accept(session.userId, version)
    await continueAuthorization(ctx, withStep(interaction, session.userId, { terms: true }), session, req, res)
  })
}
