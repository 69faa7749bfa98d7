import { type Client, isConfidential, mayUse } from '../directories/client'
import type { ServerContext } from '../server-context'
import { invalidGrant } from '../oauth-error'
import type { Authorization } from '../records/authorization'
import { type TokenResponse, tokenTypeOf } from './grant'

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
  more: {
    readonly audience: readonly string[]
    readonly jkt: string | undefined
    readonly nonce?: string
    readonly refreshToken?: string
    readonly scope?: readonly string[]
  },
): Promise<TokenResponse> {
  const { grantId, userId, authTimeSec, sid, userinfoClaims } = authorization
  const scope = more.scope ?? authorization.scope
  const user = await ctx.users.findUser(userId)
  if (!user) throw invalidGrant('authorization')
  await ctx.registered.renew(client.clientId)
  const request = {
    sub: userId,
    clientId: client.clientId,
    grantId,
    scope,
    authTimeSec,
    sid,
    audience: more.audience,
    ...(more.jkt !== undefined && { jkt: more.jkt }),
    ...(userinfoClaims && { userinfoClaims }),
  }
  const { token, expiresInSec } = await ctx.accessTokens.issue(request)
  const isOpenId = scope.includes('openid')
  const refreshToken =
    more.refreshToken ??
    (mayUse(client, 'refresh_token') ? await issueRefreshToken(ctx, client, authorization, more.jkt) : undefined)
  return {
    access_token: token,
    token_type: tokenTypeOf(more.jkt, isOpenId ? 'Bearer' : ctx.tokenType),
    expires_in: expiresInSec,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(scope.length > 0 && { scope: scope.join(' ') }),
    ...(isOpenId && { id_token: await ctx.idTokens.issue({ ...authorization, scope }, user, token, more.nonce) }),
  }
}

/** A public client has nothing but its key to show that a refresh token is its own (RFC 9449 §5). */
function issueRefreshToken(
  ctx: ServerContext,
  client: Client,
  authorization: Authorization,
  jkt: string | undefined,
): Promise<string> {
  const isBound = jkt !== undefined && !isConfidential(client)
  return ctx.refreshTokens.issue(isBound ? { ...authorization, jkt } : authorization)
}
