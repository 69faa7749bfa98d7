import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { asksApproval } from '../directories/client'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import { OAuthError, type OAuthErrorCode, invalidRequest } from '../oauth-error'
import type { SessionRecord } from '../records/website-sessions'
import { approvalOf, grant, redirectBack, redirectError } from './authorization-response'
import { type Interaction, PAGE_LIFETIME_MS, type Steps, showApproval, showLogin, showTerms } from './interaction'

/** Sends the code if the user is signed in and has accepted the terms and approved the app, else shows the missing page. */
export async function continueAuthorization(
  ctx: ServerContext,
  interaction: Interaction,
  session: SessionRecord | undefined,
  req: Request,
  res: Response,
): Promise<void> {
  const { request } = interaction
  const steps = session?.userId === interaction.steps?.userId ? interaction.steps : undefined
  const refuse = (code: OAuthErrorCode, message: string) =>
    redirectError(ctx, req, res, request, new OAuthError(code, message))
  const isSilent = request.prompt.has('none')

  if (!session || needsLogin(ctx, request, steps, session)) {
    return isSilent ? refuse('login_required', 'The user is not signed in.') : showLogin(ctx, interaction, req, res)
  }
  if (wantsOther(ctx, request, session)) {
    return refuse('login_required', 'The user who signed in is not the one asked for.') // OIDC Core §3.1.2.1
  }
  const user = await ctx.users.findUser(session.userId)
  if (!user) {
    await ctx.sessions.end(session.sid)
    return continueAuthorization(ctx, interaction, undefined, req, res)
  }
  if (await mustAcceptTerms(ctx, request, steps, user.id)) {
    return isSilent
      ? refuse('interaction_required', 'The user has to accept the terms of access first.')
      : showTerms(ctx, interaction, user, req, res)
  }
  if (await mustApprove(ctx, request, steps, user.id)) {
    return isSilent
      ? refuse('consent_required', 'The user has to approve the app first.')
      : showApproval(ctx, interaction, user, req, res)
  }
  const response = await grant(ctx, request, session, user)
  if (!(await isFirstUse(ctx, interaction))) {
    return redirectError(ctx, req, res, request, invalidRequest('The request_uri has been used.'))
  }
  redirectBack(ctx, res, request, response)
}

/**
 * Whether the request asks for a newer or other login than the session's (OIDC Core §3.1.2.1). A login for this very request
 * is enough, whatever the clocks of the processes say.
 */
function needsLogin(
  ctx: ServerContext,
  request: AuthorizationRequest,
  steps: Steps | undefined,
  session: SessionRecord,
): boolean {
  const { prompt, maxAgeSec, idTokenHint } = request
  if (steps?.login) return false
  if (prompt.has('login') || prompt.has('select_account')) return true
  if (maxAgeSec !== undefined && ctx.clock.date() - session.authTimeMs > maxAgeSec * 1_000) return true
  if (idTokenHint !== undefined && !ctx.idTokens.read(idTokenHint)) return true // the hinted user is unknown
  return wantsOther(ctx, request, session)
}

/** Whether the request names a user who is not the session's. */
function wantsOther(
  ctx: ServerContext,
  { claims, idTokenHint }: AuthorizationRequest,
  { userId }: SessionRecord,
): boolean {
  const hinted = idTokenHint === undefined ? undefined : ctx.idTokens.read(idTokenHint)?.sub
  return [claims.sub, hinted].some((wanted) => wanted !== undefined && wanted !== userId)
}

/** Whether the user must accept the terms. For an app without an approval page, `prompt=consent` shows them again. */
async function mustAcceptTerms(
  ctx: ServerContext,
  { prompt, client, redirectUri }: AuthorizationRequest,
  steps: Steps | undefined,
  userId: string,
): Promise<boolean> {
  const version = ctx.pages.terms?.version
  if (version === undefined || steps?.terms) return false
  if (prompt.has('consent') && !asksApproval(client, redirectUri)) return true
  return !(await ctx.acceptedTerms.isAccepted(userId, version))
}

/** Whether the user must approve the app; with `prompt=consent`, again for this request. */
async function mustApprove(
  ctx: ServerContext,
  request: AuthorizationRequest,
  steps: Steps | undefined,
  userId: string,
): Promise<boolean> {
  if (!asksApproval(request.client, request.redirectUri) || steps?.approval) return false
  return request.prompt.has('consent') || !(await ctx.approvals.isApproved(approvalOf(request, userId)))
}

/** A pushed request yields one response. Loading its page, even twice, does not use it up (RFC 9126 §7.3). */
async function isFirstUse(ctx: ServerContext, { pushedId, id }: Interaction): Promise<boolean> {
  if (pushedId === undefined) return true
  const count = (name: string, by: number) => ctx.records.count('used', name, by, 2 * PAGE_LIFETIME_MS)
  // A double click sends one page twice, and the browser follows the second response only.
  const page = `${pushedId}.${id}`
  await count(page, 1)
  const { total } = await count(pushedId, 1)
  return total === 1 || total <= (await count(page, 0)).total
}
