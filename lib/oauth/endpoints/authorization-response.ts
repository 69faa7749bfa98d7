import type { Response } from 'express'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import type { ServerContext } from '../server-context'
import type { OAuthError } from '../oauth-error'
import type { WebsiteSession } from '../records/website-sessions'
import { withParams } from '../directories/redirect-uri'
import { newId } from '../../http/secret'

type Target = Pick<AuthorizationRequest, 'redirectUri' | 'state'>

/** Issues the code for what the user allowed. */
export function grantCode(ctx: ServerContext, request: AuthorizationRequest, session: WebsiteSession): Promise<string> {
  const { client, scope, redirectUri, challenge, nonce, claims, acr } = request
  return ctx.codes.issue({
    authorization: {
      grantId: newId(),
      clientId: client.clientId,
      userId: session.userId,
      scope,
      authTimeSec: Math.floor(session.authTimeMs / 1_000),
      sid: session.sid,
      ...(claims.userinfo.length > 0 && { userinfoClaims: claims.userinfo }),
      ...(claims.idToken.length > 0 && { idTokenClaims: claims.idToken }),
      ...(acr !== undefined && { acr }),
    },
    redirectUri,
    ...(challenge && { challenge }),
    ...(nonce !== undefined && { nonce }),
  })
}

/** Sends the browser back to the app, with `state` as it came and `iss` (RFC 6749 §4.1.2, RFC 9207 §2). */
export function redirectBack(
  ctx: ServerContext,
  res: Response,
  { redirectUri, state }: Target,
  params: Readonly<Record<string, string>>,
): void {
  // 303 makes the browser send a GET, so that a submitted password is not sent on (RFC 9700 §4.12).
  res.status(303)
  res.setHeader('Location', withParams(redirectUri, { ...params, state, iss: ctx.issuer }))
  res.setHeader('Referrer-Policy', 'no-referrer')
  res.end()
}

/** Sends the browser back with an error (RFC 6749 §4.1.2.1). */
export function redirectError(ctx: ServerContext, res: Response, target: Target, err: OAuthError): void {
  redirectBack(ctx, res, target, { error: err.code, error_description: err.message })
}
