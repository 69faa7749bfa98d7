import type { ServerContext } from '../server-context'
import { OAuthError, invalidGrant } from '../oauth-error'
import { parseScope } from '../parameters/requested-scope'
import { audienceFor } from '../parameters/resource'
import { type Grant, type GrantRequest, type TokenResponse, audienceOf } from './grant'
import { issueTokens } from './issue-tokens'

/** Exchanges a refresh token for new tokens (RFC 6749 §6) and rotates it (RFC 9700 §4.14.2). */
export const refreshToken: Grant = {
  name: 'refresh_token',
  parameters: ['refresh_token', 'scope'],
  handle,
}

async function handle(ctx: ServerContext, { client, params, jkt }: GrantRequest): Promise<TokenResponse> {
  const narrowed = parseScope(params.get('scope'))
  const found = await ctx.refreshTokens.find(params.need('refresh_token'))
  // Trying another client's token must not spend or revoke it.
  if (found?.authorization.clientId !== client.clientId) throw invalidGrant('refresh token')
  const { authorization } = found
  if (!narrowed.every((scope) => authorization.scope.includes(scope))) {
    throw new OAuthError('invalid_scope', 'The scope asks for more than was granted.')
  }
  if (authorization.jkt !== undefined && authorization.jkt !== jkt) {
    throw new OAuthError('invalid_grant', 'The refresh token is bound to another key (RFC 9449 section 5).')
  }
  const audience = audienceFor(params.all('resource'), audienceOf(ctx, client, authorization))
  if (await ctx.revocations.isGrantRevoked(authorization)) throw invalidGrant('refresh token')
  const scope = authorization.scope.filter((one) => narrowed.length === 0 || narrowed.includes(one))
  // The token is used last: whatever fails before, the client may send it again.
  const tokens = await issueTokens(ctx, client, authorization, { audience, jkt, scope })
  const next = await ctx.refreshTokens.rotate(found)
  if (next === undefined) throw invalidGrant('refresh token')
  return { ...tokens, refresh_token: next }
}
