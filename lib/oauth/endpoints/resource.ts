import type { Request, Response } from 'express'
import { denialOf } from '../../bearer/challenge'
import { type Placement, findCredentials, isToken } from '../../bearer/credentials/credentials'
import { type Refusal, refuse } from '../../bearer/refusal/refusal'
import { OAuthError, type OAuthErrorCode } from '../oauth-error'
import { formOf } from '../parameters/form'
import type { Parts, Uses } from '../parts'
import { ofStranger, ofUser } from '../records/owners'
import { limitStrangers } from '../records/strangers'
import type { AccessTokenClaims, ActiveToken } from '../tokens/access-tokens'
import { type Endpoint, sendJson } from './endpoint'
import { knownUrl } from '../../http/url'

/** The claims of the user that a token is for (OIDC Core §5.3). */
export function userinfoEndpoint(parts: Uses<'accessTokens' | 'dpopCheck' | 'identity' | 'issuer'>): Endpoint {
  return { path: '/userinfo', methods: { GET: userinfo, POST: userinfo }, errors: 'json', anyOrigin: true }

  async function userinfo(req: Request, res: Response): Promise<void> {
    const { claims, user } = await requireAccessToken(parts, req, ['form'], '/userinfo')
    const scopes = claims.scope?.split(' ') ?? []
    if (!scopes.includes('openid')) throw accessRefused(parts.issuer, { refused: 'scope', scope: ['openid'] })
    if (!user) throw accessRefused(parts.issuer, { refused: 'subject' })
    sendJson(res, 200, { sub: user.id, ...parts.identity.userinfo(scopes, user, claims.userinfo_claims) })
  }
}

/**
 * `POST /platform/logout` with a bearer token. Signs the user out of the website session in which the token's grant was
 * given, and ends the grant; of a token without a user, the token alone. The API mounts it.
 */
export function platformLogoutEndpoint(parts: Parts): Endpoint {
  return { path: '/', methods: { POST: platformLogout }, errors: 'json' }

  async function platformLogout(req: Request, res: Response): Promise<void> {
    const { claims } = await requireAccessToken(parts, req, parts.tokenFrom)
    const { auth_time, client_id, grant_id, sid, sub } = claims
    if (auth_time === undefined) await revokeToken(parts, req, claims)
    else await parts.end({ event: 'grant revoked', grantId: grant_id, userId: sub, clientId: client_id })
    if (sid !== undefined) await parts.end({ event: 'signed out', sid, userId: sub })
    res.status(204).end()
  }
}

const LIMITS = { name: 'revoked', refusal: 'Too many tokens have been revoked.' }

/** Revokes an access token alone. The record of one without a user counts as a stranger's. */
export async function revokeToken(
  { records, end }: Uses<'records' | 'end'>,
  req: Request,
  claims: AccessTokenClaims,
): Promise<void> {
  if (claims.auth_time === undefined) await limitStrangers(records, req, { ...LIMITS, app: claims.client_id })
  await end({ event: 'token revoked', ...claims })
}

/**
 * The request's access token, for endpoints of this server that are protected resources.
 *
 * @param placements where the token may stand instead of the header (RFC 6750 §2)
 * @param path the endpoint's, below the issuer. Default: that of the request, for what the app mounts elsewhere
 * @throws {OAuthError} with a challenge (RFC 6750 §3) if the token is missing or refused
 */
async function requireAccessToken(
  { issuer, accessTokens, dpopCheck }: Uses<'accessTokens' | 'dpopCheck' | 'issuer'>,
  req: Request,
  placements: readonly Placement[],
  path?: string,
): Promise<ActiveToken> {
  const form = placements.includes('form') ? await tokenForm(req) : undefined
  const { method, rawHeaders, headers } = req
  const { origin, pathname } = knownUrl(issuer)
  // Proofs name the issuer's path, which a proxy may have removed.
  const target = path === undefined ? req.originalUrl : pathname.replace(/\/$/, '') + path
  const request = { method, target, origin, rawHeaders, headers, form }
  const found = findCredentials(request, placements, true)
  if ('refused' in found) throw accessRefused(issuer, found)
  if (!isToken(found.token)) throw accessRefused(issuer, refuse('malformed_credentials'))
  const active = await accessTokens.check(found.token)
  if (!active) throw accessRefused(issuer, refuse('signature'))
  const { claims } = active
  if (found.scheme === 'DPoP') {
    const proven = dpopCheck.check(found.token, { ...claims }, request)
    const refused =
      'refused' in proven ? proven : await dpopCheck.use(proven, active.user ? ofUser(active.user.id) : ofStranger())
    if (refused) throw accessRefused(issuer, refused, 'required')
  } else if (claims.cnf) throw accessRefused(issuer, refuse('sender_constrained'))
  return active
}

/** The error for a refusal, with the same challenge as `requireBearer()`. */
export function accessRefused(issuer: string, refusal: Refusal, dpop?: 'required'): OAuthError {
  const { code, message, status, headers } = denialOf(refusal, {
    realm: knownUrl(issuer).host,
    resourceMetadata: undefined,
    dpop,
  })
  return new OAuthError(code as OAuthErrorCode, message, status, headers)
}

/** A body of another type has no token (RFC 6750 §2.2). */
async function tokenForm(req: Request): Promise<object | undefined> {
  if (req.method !== 'POST' || !req.is('application/x-www-form-urlencoded')) return undefined
  const params = await formOf(req)
  params.refuseRepeated(['access_token'])
  const token = params.get('access_token')
  return token === undefined ? undefined : { access_token: token }
}
