import type { Request } from 'express'
import { denialOf } from '../../bearer/challenge'
import { findToken } from '../../bearer/credentials/credentials'
import { type Refusal, refuse } from '../../bearer/refusal'
import type { AccessTokenClaims } from '../tokens/access-tokens'
import type { Context } from '../context'
import { OAuthError, type OAuthErrorCode } from '../oauth-error'

/**
 * What the bearer token of a request says, for the endpoints of ours that are resources themselves.
 *
 * @throws {OAuthError} with a challenge (RFC 6750 §3) where there is no token or it is not accepted
 */
export async function findAccessToken(ctx: Context, req: Request): Promise<AccessTokenClaims> {
  const found = findToken(req.rawHeaders)
  if ('refused' in found) throw accessRefused(ctx, found)
  const claims = await ctx.accessTokens.check(found.token)
  if (!claims) throw accessRefused(ctx, refuse('signature'))
  return claims
}

/** The error of a refusal, with the same challenge that `requireBearer()` sends. */
export function accessRefused(ctx: Context, refusal: Refusal): OAuthError {
  const { code, message, status, headers } = denialOf(refusal, {
    realm: new URL(ctx.issuer).host,
    resourceMetadata: undefined,
  })
  return new OAuthError(code as OAuthErrorCode, message, status as 400 | 401 | 403, headers)
}
