import type { Request } from 'express'
import { denialOf } from '../../bearer/challenge'
import { type Placement, findCredentials } from '../../bearer/credentials/credentials'
import { type Refusal, refuse } from '../../bearer/refusal/refusal'
import type { AccessTokenClaims } from '../tokens/access-tokens'
import type { ServerContext } from '../server-context'
import { OAuthError, type OAuthErrorCode } from '../oauth-error'
import { formOf } from '../parameters/form'

/**
 * The claims of the request's access token, for endpoints of this server that are protected resources.
 *
 * @param placements where the token may stand instead of the header (RFC 6750 §2)
 * @param path the endpoint's, below the issuer. Default: that of the request, for what the app mounts elsewhere
 * @throws {OAuthError} with a challenge (RFC 6750 §3) if the token is missing or refused
 */
export async function requireAccessToken(
  ctx: ServerContext,
  req: Request,
  placements: readonly Placement[] = [],
  path?: string,
): Promise<AccessTokenClaims> {
  const form = placements.includes('form') ? await tokenForm(req) : undefined
  const { method, rawHeaders, headers } = req
  // Proofs name the issuer's path, which a proxy may have removed.
  const target = path === undefined ? req.originalUrl : new URL(ctx.issuer).pathname.replace(/\/$/, '') + path
  const request = { method, target, origin: new URL(ctx.issuer).origin, rawHeaders, headers, form }
  const found = findCredentials(request, placements, true)
  if ('refused' in found) throw accessRefused(ctx, found)
  const claims = await ctx.accessTokens.check(found.token)
  if (!claims) throw accessRefused(ctx, refuse('signature'))
  if (found.scheme === 'DPoP') {
    const proven = ctx.dpop.check.check(found.token, { ...claims }, request)
    const used = 'refused' in proven ? proven : await ctx.dpop.check.use(proven)
    if ('refused' in used) throw accessRefused(ctx, used)
  } else if (claims.cnf) throw accessRefused(ctx, refuse('sender_constrained'))
  return claims
}

/** The error for a refusal, with the same challenge as `requireBearer()`. */
export function accessRefused(ctx: ServerContext, refusal: Refusal): OAuthError {
  const { code, message, status, headers } = denialOf(refusal, {
    realm: new URL(ctx.issuer).host,
    resourceMetadata: undefined,
  })
  return new OAuthError(code as OAuthErrorCode, message, status as 400 | 401 | 403, headers)
}

/** A body of another type has no token (RFC 6750 §2.2). */
async function tokenForm(req: Request): Promise<object | undefined> {
  if (req.method !== 'POST' || !req.is('application/x-www-form-urlencoded')) return undefined
  const params = await formOf(req)
  params.refuseRepeated(['access_token'])
  const token = params.get('access_token')
  return token === undefined ? undefined : { access_token: token }
}
