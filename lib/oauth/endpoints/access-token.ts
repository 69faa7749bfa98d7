import type { Request } from 'express'
import { denialOf } from '../../bearer/challenge'
import { findToken } from '../../bearer/credentials/credentials'
import { type Refusal, refuse } from '../../bearer/refusal/refusal'
import type { AccessTokenClaims } from '../tokens/access-tokens'
import type { ServerContext } from '../server-context'
import { OAuthError, type OAuthErrorCode } from '../oauth-error'

/**
 * The claims of the request's bearer token, for endpoints of this server that are protected resources.
 *
 * @throws {OAuthError} with a challenge (RFC 6750 §3) if the token is missing or refused
 */
export async function requireAccessToken(ctx: ServerContext, req: Request): Promise<AccessTokenClaims> {
  const found = findToken(req.rawHeaders)
  if ('refused' in found) throw accessRefused(ctx, found)
  const claims = await ctx.accessTokens.check(found.token)
  if (!claims) throw accessRefused(ctx, refuse('signature'))
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
