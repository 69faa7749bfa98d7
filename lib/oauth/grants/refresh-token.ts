import type { ServerContext } from '../server-context'
import { OAuthError, invalidGrant } from '../oauth-error'
import { parseScope } from '../parameters/requested-scope'
import type { Authorization } from '../records/authorization'
import { audienceFor } from '../parameters/resource'
import { type Grant, type GrantRequest, type TokenResponse, allowedAudience } from './grant'
import { issueTokens } from './issue-tokens'

/** Exchanges a refresh token for new tokens (RFC 6749 §6) and rotates it (RFC 9700 §4.14.2). */
export const refreshToken: Grant = {
  name: 'refresh_token',
  parameters: ['refresh_token', 'scope'],
  handle,
}

async function handle(ctx: ServerContext, request: GrantRequest): Promise<TokenResponse> {
  const { client, params, jkt } = request
  const token = params.need('refresh_token')
  const narrowed = parseScope(params.get('scope'))
  const authorization = await ctx.refreshTokens.find(token)
  // Trying another client's token must not spend or revoke it.
  if (authorization?.clientId !== client.clientId) throw invalidGrant('refresh token')
  if (!narrowed.every((scope) => authorization.scope.includes(scope))) {
    throw new OAuthError('invalid_scope', 'The scope asks for more than was granted.')
  }
  audienceOf(ctx, request, authorization) // before the token is used
  const rotation = await ctx.refreshTokens.rotate(token)
  if (!rotation) throw invalidGrant('refresh token')
  return issueTokens(ctx, client, authorization, {
    refreshToken: rotation.token,
    audience: audienceOf(ctx, request, authorization),
    jkt,
    ...(narrowed.length > 0 && { scope: narrowed.filter((scope) => authorization.scope.includes(scope)) }),
  })
}

/** @throws {OAuthError} invalid_grant for another key's token (RFC 9449 §5), invalid_target for a resource not granted */
function audienceOf(
  ctx: ServerContext,
  { client, params, jkt }: GrantRequest,
  authorization: Authorization,
): readonly string[] {
  if (authorization.jkt !== undefined && authorization.jkt !== jkt) {
    throw new OAuthError('invalid_grant', 'The refresh token is bound to another key (RFC 9449 section 5).')
  }
  return audienceFor(params.all('resource'), authorization.audience ?? allowedAudience(ctx, client))
}
