import { isConfidential } from '../directories/client'
import type { ServerContext } from '../server-context'
import { OAuthError } from '../oauth-error'
import { newId } from '../../http/secret'
import { parseScope } from '../parameters/requested-scope'
import { audienceFor } from '../parameters/resource'
import { type Grant, type GrantRequest, type TokenResponse, allowedAudience, tokenTypeOf } from './grant'

/** A token for the app itself (RFC 6749 §4.4). Grants the app's own scopes only, no identity scopes. */
export const clientCredentials: Grant = {
  name: 'client_credentials',
  parameters: ['scope'],
  handle,
}

async function handle(ctx: ServerContext, { client, params, jkt }: GrantRequest): Promise<TokenResponse> {
  if (!isConfidential(client)) throw new OAuthError('unauthorized_client', 'A public client has no credentials.')
  const scope = parseScope(params.get('scope')).filter((token) => client.scopes?.includes(token))
  const audience = audienceFor(params.all('resource'), allowedAudience(ctx, client))
  const request = {
    sub: client.clientId, // RFC 9068 §2.2
    clientId: client.clientId,
    grantId: newId(),
    scope,
    audience,
    ...(jkt !== undefined && { jkt }),
  }
  const { token, expiresInSec } = await ctx.accessTokens.issue(request)
  return {
    access_token: token,
    token_type: tokenTypeOf(jkt, ctx.tokenType),
    expires_in: expiresInSec,
    ...(scope.length > 0 && { scope: scope.join(' ') }),
  }
}
