import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { OAuthError } from '../oauth-error'
import { redirectError } from './authorization-response'
import type { Endpoint } from './endpoint'
import { withPageForm } from './page-form'
import { continueAuthorization } from './continue-authorization'

/** Receives the terms page's form. */
export const termsEndpoint: Endpoint = { path: '/terms', methods: { POST: terms }, errors: 'page' }

async function terms(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  await withPageForm(ctx, req, res, [], async (interaction, form) => {
    const session = await ctx.sessions.find(ctx.cookies.read(req.headers.cookie, 'session'))
    if (session && form.get('action') !== 'accept') {
      const declined = new OAuthError('access_denied', 'The user did not accept the terms of access.')
      return redirectError(ctx, res, interaction.request, declined)
    }
    const version = ctx.pages.terms?.version
    if (session && version !== undefined) await ctx.acceptedTerms.accept(session.userId, version, ctx.clock.date())
    await continueAuthorization(ctx, interaction, session, req, res) // without a session this shows the login page
  })
}
