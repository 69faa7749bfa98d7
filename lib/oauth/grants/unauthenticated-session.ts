import { isIP } from 'node:net'
import type { ServerContext } from '../server-context'
import { invalidRequest } from '../oauth-error'
import { newId } from '../../http/secret'
import { audienceFor } from '../parameters/resource'
import { type Grant, type GrantRequest, type TokenResponse, allowedAudience, tokenTypeOf } from './grant'

/**
 * A token for an app with no user signed in. Its mark limits it to routes that allow unauthenticated sessions. The response
 * has the service's own form, without a lifetime.
 */
export const unauthenticatedSession: Grant = {
  name: 'unauthenticated_session',
  parameters: ['ip_address'],
  handle,
}

async function handle(ctx: ServerContext, { client, params, jkt }: GrantRequest): Promise<TokenResponse> {
  if (isIP(params.need('ip_address')) === 0) throw invalidRequest('The ip_address is not an IP address.')
  const { token } = await ctx.accessTokens.issue({
    sub: client.clientId, // RFC 9068 §2.2: no user is involved
    clientId: client.clientId,
    grantId: newId(),
    unauthenticated: true,
    audience: audienceFor(params.all('resource'), allowedAudience(ctx, client)),
    ...(jkt !== undefined && { jkt }),
  })
  return { access_token: token, token_type: tokenTypeOf(jkt, ctx.tokenType), token }
}
