import type { Response } from 'express'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import type { ServerContext } from '../server-context'
import { publish, reportRefusal } from '../diagnostics'
import type { OAuthError } from '../oauth-error'
import type { User } from '../directories/user'
import type { Authorization } from '../records/authorization'
import type { WebsiteSession } from '../records/website-sessions'
import { cspSource, withParams } from '../directories/redirect-uri'
import { newId } from '../../http/secret'

type Target = Pick<AuthorizationRequest, 'redirectUri' | 'state' | 'responseMode' | 'client'>

/** What the app gets for what the user allowed: a code, or the id_token alone (OIDC Core §3.2.2.5). */
export async function grant(
  ctx: ServerContext,
  request: AuthorizationRequest,
  session: WebsiteSession,
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

function authorizationOf(request: AuthorizationRequest, session: WebsiteSession): Authorization {
  const { client, scope, claims, acr, audience } = request
  return {
    grantId: newId(),
    clientId: client.clientId,
    userId: session.userId,
    scope,
    authTimeSec: Math.floor(session.authTimeMs / 1_000),
    sid: session.sid,
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
    const onward = [cspSource(redirectUri), ...(client.onwardOrigins ?? [])]
    return ctx.pages.formPost(res, { action: redirectUri, params: all, onward, app: client.name })
  }
  // 303: whatever the request was, what follows is a GET, and a password is never sent on (RFC 9700 §4.12).
  res.status(303)
  res.setHeader('Location', withParams(redirectUri, all))
  res.setHeader('Referrer-Policy', 'no-referrer')
  res.end()
}

/** Sends the browser back with an error (RFC 6749 §4.1.2.1). */
export function redirectError(ctx: ServerContext, res: Response, target: Target, err: OAuthError): void {
  const status = target.responseMode === 'form_post' ? 200 : 303
  reportRefusal({ endpoint: '/authorization', code: err.code, status })
  redirectBack(ctx, res, target, { error: err.code, error_description: err.message })
}
