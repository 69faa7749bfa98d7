import type { Request, Response } from 'express'
import type { Context } from '../context'
import { OAuthError } from '../oauth-error'
import { redirectError } from './authorization-response'
import type { Endpoint } from './endpoint'
import { takePageForm } from './page-form'
import { proceed } from './proceed'

/** Where the terms page sends its form. */
export const termsEndpoint: Endpoint = { path: '/terms', methods: { POST: terms }, errors: 'page' }

async function terms(ctx: Context, req: Request, res: Response): Promise<void> {
  await takePageForm(ctx, req, res, [], async (interaction, form) => {
    const session = await ctx.sessions.of(ctx.cookies.read(req.headers.cookie, 'session'))
    if (session && form.get('action') !== 'accept') {
      const declined = new OAuthError('access_denied', 'The user did not accept the terms of access.')
      return redirectError(ctx, res, interaction.request, declined)
    }
    const version = ctx.pages.terms?.version
    if (session && version !== undefined) await ctx.acceptedTerms.accept(session.userId, version, ctx.clock.date())
    await proceed(ctx, interaction, session, req, res) // without a session, that asks for a login
  })
}
