import { type Client, mayUse } from '../directories/client'
import type { Context } from '../context'
import { invalidGrant } from '../oauth-error'
import type { Authorization } from '../records/authorization'
import type { TokenResponse } from './grant'

/**
 * The tokens of a user's authorization. With `openid` granted there is an id_token and the type is `Bearer`, the only word
 * that OpenID clients accept; without, the type is the service's own.
 *
 * @throws {OAuthError} invalid_grant where the user is no longer there
 */
export async function issueTokens(
  ctx: Context,
  client: Client,
  authorization: Authorization,
  more: { readonly nonce?: string; readonly refreshToken?: string; readonly scope?: readonly string[] },
): Promise<TokenResponse> {
  const { grantId, userId, authTimeSec, sid } = authorization
  const scope = more.scope ?? authorization.scope
  const user = await ctx.users.findUser(userId)
  if (!user) throw invalidGrant('authorization')
  const request = { sub: userId, clientId: client.clientId, grantId, scope, authTimeSec, sid }
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
