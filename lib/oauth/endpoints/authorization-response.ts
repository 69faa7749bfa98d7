import type { Request, Response } from 'express'
import { hashOf, newId } from '../../http/secret'
import { publish, reportRefusal } from '../diagnostics'
import type { KnownClient } from '../directories/client'
import { cspSource, hostOf, isOnDevice, withParams } from '../directories/redirect-uri'
import type { User } from '../directories/user'
import type { OAuthError } from '../oauth-error'
import type { AppName, LeavePage } from '../pages/page-renderer'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import type { Uses } from '../parts'
import type { Authorization } from '../records/authorizations'
import type { ApprovalRequest } from '../records/consents'
import type { SessionRecord } from '../records/website-sessions'

type Target = Pick<AuthorizationRequest, 'redirectUri' | 'state' | 'responseMode' | 'client' | 'prompt'>

/** The parameters of a successful response: a code, or an id_token alone (OIDC Core §3.2.2.5). */
export async function grant(
  parts: Uses<'acr' | 'codes' | 'grants' | 'idTokens' | 'revocations'>,
  request: AuthorizationRequest,
  session: SessionRecord,
  user: User,
): Promise<Readonly<Record<string, string>>> {
  const { responseType, redirectUri, challenge, nonce, dpopJkt } = request
  const authorization = await authorizationOf(parts, request, session)
  if (responseType === 'id_token') {
    const { clientId, scope } = authorization
    await parts.grants.use(authorization)
    publish('oauth-token-issued', { clientId, grant: 'id_token', scope, bound: false })
    return { id_token: await parts.idTokens.issue(authorization, user, undefined, nonce) }
  }
  const code = await parts.codes.issue({
    authorization,
    redirectUri,
    ...(challenge && { challenge }),
    ...(nonce !== undefined && { nonce }),
    ...(dpopJkt !== undefined && { dpopJkt }),
  })
  await parts.grants.use(authorization, [['code', hashOf(code)]])
  return { code }
}

async function authorizationOf(
  parts: Uses<'acr' | 'revocations'>,
  { client, scope, claims, acrValues, audience }: AuthorizationRequest,
  { userId, userMark, sid, authTimeMs, acr, amr }: SessionRecord,
): Promise<Authorization> {
  const appMark = await parts.revocations.markOf(userId, client.clientId)
  const shownAcr = acr ?? (acrValues && parts.acr)
  return {
    grantId: newId(),
    clientId: client.clientId,
    userId,
    scope,
    authTimeSec: Math.floor(authTimeMs / 1_000),
    sid,
    ...(userMark !== undefined && { userMark }),
    ...(appMark !== undefined && { appMark }),
    ...(claims.userinfo.length > 0 && { userinfoClaims: claims.userinfo }),
    ...(claims.idToken.length > 0 && { idTokenClaims: claims.idToken }),
    ...(shownAcr !== undefined && { acr: shownAcr }),
    ...(amr && { amr }),
    ...(audience !== undefined && { audience }),
  }
}

/**
 * Sends the browser back to the app, with `state` as it came and `iss` (RFC 6749 §4.1.2, RFC 9207 §2): by a redirect, or by
 * a form that submits itself (Form Post Response Mode §2).
 */
export function redirectBack(
  { issuer, pages }: Uses<'issuer' | 'pages'>,
  res: Response,
  { redirectUri, state, responseMode, client, prompt }: Target,
  params: Readonly<Record<string, string>>,
): void {
  const all = { ...params, ...(state !== undefined && { state }), iss: issuer }
  if (responseMode === 'form_post') {
    const onward = onwardOf(redirectUri, client)
    const framedBy = prompt.has('none') ? cspSource(redirectUri) : undefined
    return pages.formPost(res, { action: redirectUri, params: all, onward, framedBy, app: { name: client.name } })
  }
  redirect(res, withParams(redirectUri, all, responseMode))
}

/** 303: whatever the request was, what follows is a GET, and a password is never sent on (RFC 9700 §4.12). */
export function redirect(res: Response, location: string): void {
  res.status(303).setHeader('Location', location).setHeader('Referrer-Policy', 'no-referrer').end()
}

/**
 * Sends the browser back with an error (RFC 6749 §4.1.2.1). For an app that nobody has checked and the user has not approved,
 * shows a page with a link instead: a redirect would make this server an open redirector (RFC 9700 §4.11.2).
 *
 * @param hasDecided the user has said no: a program that waits on a loopback port hears it
 */
export async function redirectError(
  parts: Uses<'consents' | 'issuer' | 'log' | 'pages' | 'sessionOf'>,
  req: Request,
  res: Response,
  target: Target,
  err: OAuthError,
  hasDecided = false,
): Promise<void> {
  const { client, redirectUri, responseMode } = target
  const isHeard = hasDecided && isOnDevice(redirectUri) && redirectUri.startsWith('http:')
  const isTrusted = !client.isUnverified || isHeard || (await isKnown(parts, req, target))
  const status = !isTrusted ? 400 : responseMode === 'form_post' ? 200 : 303
  reportRefusal({ endpoint: '/authorization', code: err.code, status, reason: err.reason ?? err.message }, parts.log)
  const params = { error: err.code, error_description: err.message }
  if (isTrusted) return redirectBack(parts, res, target, params)
  parts.pages.stop(res, status, 'leave', { way: wayBack(parts, target, err) })
}

/** A link back to the app, with an error for it. */
export function wayBack(
  { issuer }: Uses<'issuer'>,
  { client, redirectUri, state }: Pick<Target, 'client' | 'redirectUri' | 'state'>,
  { code, message }: OAuthError,
): LeavePage {
  const link = withParams(redirectUri, { error: code, error_description: message, state, iss: issuer })
  return { link, app: appName(client, redirectUri), host: hostOf(redirectUri) }
}

/** What the user is asked to approve. */
export function approvalOf(
  { client, redirectUri, scope }: Pick<AuthorizationRequest, 'client' | 'redirectUri' | 'scope'>,
  userId: string,
): ApprovalRequest {
  // The port of a program on the device varies.
  const host = isOnDevice(redirectUri) ? hostOf(redirectUri).replace(/:\d+$/, '') : hostOf(redirectUri)
  return { userId, clientId: client.clientId, name: client.name, scope, host }
}

/** Whether the user who is signed in has approved the app, for whatever scopes. */
async function isKnown(
  { consents, sessionOf }: Uses<'consents' | 'sessionOf'>,
  req: Request,
  { client, redirectUri }: Target,
): Promise<boolean> {
  const session = await sessionOf(req)
  return session !== undefined && consents.isApproved(approvalOf({ client, redirectUri, scope: [] }, session.userId))
}

/**
 * The app's name as the pages show it. An app that nobody has checked chose its name, so the host that it comes from, or
 * that gets the code, is shown with it.
 */
export function appName({ name, isUnverified, source }: KnownClient, redirectUri: string): AppName {
  const host = source ?? hostOf(redirectUri)
  return !isUnverified || name === host ? { name } : { name, host }
}

/** Origins and schemes to which the response to a form may lead the browser. Undefined: unknown. */
export function onwardOf(
  uri: string,
  { onwardOrigins = [] }: { readonly onwardOrigins?: readonly string[] | undefined },
) {
  // Programs on the user's device often redirect on to a custom scheme.
  return /^http:/.test(uri) ? undefined : [...new Set([cspSource(uri), ...onwardOrigins])]
}
