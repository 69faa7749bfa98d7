import type { Request, Response } from 'express'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import type { ServerContext } from '../server-context'
import { publish, reportRefusal } from '../diagnostics'
import type { OAuthError } from '../oauth-error'
import type { User } from '../directories/user'
import type { Authorization } from '../records/authorization'
import type { SessionRecord } from '../records/website-sessions'
import { hostOf, isOnDevice, withParams } from '../directories/redirect-uri'
import type { ApprovalRequest } from '../records/approvals'
import { RegisteredClients } from '../records/registered-clients'
import { appName } from './app-name'
import { onwardOf } from './interaction'
import { newId } from '../../http/secret'

type Target = Pick<AuthorizationRequest, 'redirectUri' | 'state' | 'responseMode' | 'client'>

/** The parameters of a successful response: a code, or an id_token alone (OIDC Core §3.2.2.5). */
export async function grant(
  ctx: ServerContext,
  request: AuthorizationRequest,
  session: SessionRecord,
  user: User,
): Promise<Readonly<Record<string, string>>> {
  const { responseType, redirectUri, challenge, nonce, dpopJkt } = request
  const authorization = authorizationOf(request, session)
  if (responseType === 'id_token') {
    const { clientId, scope } = authorization
    publish('token-issued', { clientId, grant: 'id_token', scope, bound: false })
    return { id_token: await ctx.idTokens.issue(authorization, user, undefined, nonce) }
  }
  const code = await ctx.codes.issue({
    authorization,
    redirectUri,
    ...(challenge && { challenge }),
    ...(nonce !== undefined && { nonce }),
    ...(dpopJkt !== undefined && { dpopJkt }),
  })
  return { code }
}

function authorizationOf(request: AuthorizationRequest, session: SessionRecord): Authorization {
  const { client, scope, claims, acr, audience } = request
  return {
    grantId: newId(),
    clientId: client.clientId,
    userId: session.userId,
    scope,
    authTimeSec: Math.floor(session.authTimeMs / 1_000),
    sid: session.sid,
    ...(session.userMark !== undefined && { userMark: session.userMark }),
    ...(claims.userinfo.length > 0 && { userinfoClaims: claims.userinfo }),
    ...(claims.idToken.length > 0 && { idTokenClaims: claims.idToken }),
    ...(acr !== undefined && { acr }),
    ...(audience !== undefined && { audience }),
  }
}

/**
 * Sends the browser back to the app, with `state` as it came and `iss` (RFC 6749 §4.1.2, RFC 9207 §2): by a redirect, or by
 * a form that submits itself (Form Post Response Mode §2).
 */
export function redirectBack(
  ctx: ServerContext,
  res: Response,
  { redirectUri, state, responseMode, client }: Target,
  params: Readonly<Record<string, string>>,
): void {
  const all = { ...params, ...(state !== undefined && { state }), iss: ctx.issuer }
  if (responseMode === 'form_post') {
    const onward = onwardOf(redirectUri, client)
    return ctx.pages.formPost(res, { action: redirectUri, params: all, onward, app: { name: client.name } })
  }
  // 303: whatever the request was, what follows is a GET, and a password is never sent on (RFC 9700 §4.12).
  res.status(303)
  res.setHeader('Location', withParams(redirectUri, all))
  res.setHeader('Referrer-Policy', 'no-referrer')
  res.end()
}

/**
 * Sends the browser back with an error (RFC 6749 §4.1.2.1). For a self-registered app that the user has not approved,
 * shows a page with a link instead: a redirect would make this server an open redirector (RFC 9700 §4.11.2).
 */
export async function redirectError(
  ctx: ServerContext,
  req: Request,
  res: Response,
  target: Target & Pick<AuthorizationRequest, 'prompt'>,
  err: OAuthError,
): Promise<void> {
  const { client, redirectUri, state, responseMode } = target
  const isTrusted =
    !RegisteredClients.isRegistered(client.clientId) || target.prompt.has('none') || (await isKnown(ctx, req, target))
  const status = !isTrusted ? 400 : responseMode === 'form_post' ? 200 : 303
  reportRefusal({ endpoint: '/authorization', code: err.code, status, reason: err.reason ?? err.message }, ctx.log)
  const params = { error: err.code, error_description: err.message }
  if (isTrusted) return redirectBack(ctx, res, target, params)
  const link = withParams(redirectUri, { ...params, state, iss: ctx.issuer })
  ctx.pages.leave(res, status, { link, app: appName(client, redirectUri), host: hostOf(redirectUri) })
}

/** What the user is asked to approve. */
export function approvalOf(
  { client, redirectUri, scope }: Pick<AuthorizationRequest, 'client' | 'redirectUri' | 'scope'>,
  userId: string,
): ApprovalRequest {
  // The port of a program on the device varies.
  const host = isOnDevice(redirectUri) ? hostOf(redirectUri).replace(/:\d+$/, '') : hostOf(redirectUri)
  return { userId, clientId: client.clientId, scope, host }
}

/** Whether the user who is signed in has approved the app, for whatever scopes. */
async function isKnown(ctx: ServerContext, req: Request, { client, redirectUri }: Target): Promise<boolean> {
  const session = await ctx.sessions.find(ctx.cookies.read(req.headers.cookie, 'session'))
  return (
    session !== undefined && ctx.approvals.isApproved(approvalOf({ client, redirectUri, scope: [] }, session.userId))
  )
}
