import { type Client, mayUse } from '../directories/client'
import type { ServerContext } from '../server-context'
import { invalidGrant } from '../oauth-error'
import type { Authorization } from '../records/authorization'
import type { TokenResponse } from './grant'

/**
 * Issues the tokens of a user's authorization. If `openid` was granted, adds an id_token and sets `token_type` to `Bearer`,
 * the only value that OpenID clients accept; otherwise it is the server's own type.
 *
 * @throws {OAuthError} invalid_grant if the user no longer exists
 */
export async function issueTokens(
  ctx: ServerContext,
  client: Client,
  authorization: Authorization,
  more: { readonly nonce?: string; readonly refreshToken?: string; readonly scope?: readonly string[] },
): Promise<TokenResponse> {
  const { grantId, userId, authTimeSec, sid, userinfoClaims } = authorization
  const scope = more.scope ?? authorization.scope
  const user = await ctx.users.findUser(userId)
  if (!user) throw invalidGrant('authorization')
  const request = {
    sub: userId,
    clientId: client.clientId,
    grantId,
    scope,
    authTimeSec,
    sid,
    ...(userinfoClaims && { userinfoClaims }),
  }
  const { token, expiresInSec } = await ctx.accessTokens.issue(request)
  const isOpenId = scope.includes('openid')
  const refreshToken =
    more.refreshToken ?? (mayUse(client, 'refresh_token') ? await ctx.refreshTokens.issue(authorization) : undefined)
  return {
    access_token: token,
    token_type: isOpenId ? 'Bearer' : ctx.tokenType,
    expires_in: expiresInSec,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(scope.length > 0 && { scope: scope.join(' ') }),
    ...(isOpenId && { id_token: await ctx.idTokens.issue({ ...authorization, scope }, user, token, more.nonce) }),
  }
}
