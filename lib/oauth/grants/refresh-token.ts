import type { ServerContext } from '../server-context'
import { OAuthError, invalidGrant } from '../oauth-error'
import { parseScope } from '../parameters/identity-scope'
import type { Grant, GrantRequest, TokenResponse } from './grant'
import { issueTokens } from './issue-tokens'

/** Exchanges a refresh token for new tokens (RFC 6749 §6) and rotates it (RFC 9700 §4.14.2). */
export const refreshToken: Grant = {
  name: 'refresh_token',
  parameters: ['refresh_token', 'scope'],
  handle,
}

async function handle(ctx: ServerContext, { client, params }: GrantRequest): Promise<TokenResponse> {
  const token = params.need('refresh_token')
  const narrowed = parseScope(params.get('scope'))
  const authorization = await ctx.refreshTokens.find(token)
  // Trying another client's token must not spend or revoke it.
  if (authorization?.clientId !== client.clientId) throw invalidGrant('refresh token')
  if (!narrowed.every((scope) => authorization.scope.includes(scope))) {
    throw new OAuthError('invalid_scope', 'The scope asks for more than was granted.')
  }
  const rotation = await ctx.refreshTokens.rotate(token)
  if (!rotation) throw invalidGrant('refresh token')
  return issueTokens(ctx, client, authorization, {
    refreshToken: rotation.token,
    ...(narrowed.length > 0 && { scope: narrowed.filter((scope) => authorization.scope.includes(scope)) }),
  })
}
