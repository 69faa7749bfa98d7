import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { OAuthError, invalidRequest } from '../oauth-error'
import type { WebsiteSession } from '../records/website-sessions'
import { grant, redirectBack, redirectError } from './authorization-response'
import { type Interaction, PAGE_LIFETIME_MS, showLogin, showTerms } from './interaction'

/** Sends the code if the user is signed in and has accepted the terms, else shows the page that is missing. */
export async function continueAuthorization(
  ctx: ServerContext,
  interaction: Interaction,
  session: WebsiteSession | undefined,
  req: Request,
  res: Response,
): Promise<void> {
  const { request } = interaction
  const silent = request.prompt.has('none')
  if (!session || needsLogin(ctx, interaction, session)) {
    if (silent) return redirectError(ctx, res, request, new OAuthError('login_required', 'The user is not signed in.'))
    return showLogin(ctx, interaction, req, res)
  }
  const user = await ctx.users.findUser(session.userId)
  if (!user) {
    await ctx.sessions.end(session.sid)
    return continueAuthorization(ctx, interaction, undefined, req, res)
  }
  if (await mustAcceptTerms(ctx, interaction, user.id)) {
    const error = () => new OAuthError('interaction_required', 'The user has to accept the terms of access first.')
    return silent ? redirectError(ctx, res, request, error()) : showTerms(ctx, interaction, user, req, res)
  }
  if (!(await isFirstUse(ctx, interaction))) {
    return redirectError(ctx, res, request, invalidRequest('The request_uri has been used.'))
  }
  redirectBack(ctx, res, request, await grant(ctx, request, session, user))
}

/** A pushed request yields one response; loading its page twice, as browsers may, is no use (RFC 9126 §7.3). */
async function isFirstUse(ctx: ServerContext, { pushedId }: Interaction): Promise<boolean> {
  return pushedId === undefined || (await ctx.records.count('used', pushedId, 1, 2 * PAGE_LIFETIME_MS)).total === 1
}

/** Whether the request asks for a newer or other login than the session's (OIDC Core §3.1.2.1). */
function needsLogin(ctx: ServerContext, { request, startedAtMs }: Interaction, session: WebsiteSession): boolean {
  const { prompt, maxAgeSec, idTokenHint } = request
  const sinceThen = session.authTimeMs >= startedAtMs
  if ((prompt.has('login') || prompt.has('select_account')) && !sinceThen) return true
  if (maxAgeSec !== undefined && !sinceThen && ctx.clock.date() - session.authTimeMs > maxAgeSec * 1_000) return true
  if (request.claims.sub !== undefined && request.claims.sub !== session.userId) return true
  return idTokenHint !== undefined && ctx.idTokens.read(idTokenHint)?.sub !== session.userId
}

/** Whether the user must accept the terms; with `prompt=consent`, again for this request. */
async function mustAcceptTerms(
  ctx: ServerContext,
  { request, startedAtMs }: Interaction,
  userId: string,
): Promise<boolean> {
  const version = ctx.pages.terms?.version
  if (version === undefined) return false
  const acceptedAt = await ctx.acceptedTerms.acceptedAt(userId, version)
  return acceptedAt === undefined || (request.prompt.has('consent') && acceptedAt < startedAtMs)
}
