import { type Client, isConfidential, mayUse } from '../directories/client'
import type { ServerContext } from '../server-context'
import { invalidGrant } from '../oauth-error'
import { grantableScope } from '../parameters/requested-scope'
import type { Authorization } from '../records/authorization'
import { SEED_BYTES } from '../records/refresh-tokens'
import { type TokenResponse, tokenTypeOf } from './grant'

/**
 * Issues the tokens of a user's authorization, without a refresh token. If `openid` was granted, adds an id_token and sets
 * `token_type` to `Bearer`, the only value that OpenID clients accept; otherwise it is the server's own type. A scope that
 * the app may no longer ask for is left out.
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
    readonly scope?: readonly string[]
  },
): Promise<TokenResponse> {
  const { grantId, userId, authTimeSec, sid, userMark } = authorization
  const scope = grantableScope(more.scope ?? authorization.scope, ctx, client)
  const claims = ctx.identity.claimsFor(client)
  const allowed = (names: readonly string[] = []) => names.filter((name) => claims?.includes(name) ?? true)
  const userinfoClaims = allowed(authorization.userinfoClaims)
  const idTokenClaims = allowed(authorization.idTokenClaims)
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
    ...(userMark !== undefined && { userMark }),
    ...(more.jkt !== undefined && { jkt: more.jkt }),
    ...(userinfoClaims.length > 0 && { userinfoClaims }),
  }
  const { token, expiresInSec } = await ctx.accessTokens.issue(request)
  const isOpenId = scope.includes('openid')
  const about = { ...authorization, scope, idTokenClaims }
  return {
    access_token: token,
    token_type: tokenTypeOf(more.jkt, isOpenId ? 'Bearer' : ctx.tokenType),
    expires_in: expiresInSec,
    ...(scope.length > 0 && { scope: scope.join(' ') }),
    ...(isOpenId && { id_token: await ctx.idTokens.issue(about, user, token, more.nonce) }),
  }
}

/**
 * Issues the refresh token of a code, if the app may have one.
 *
 * @param jkt a public client has nothing but its key to show that a refresh token is its own (RFC 9449 §5)
 */
export async function issueRefreshToken(
  ctx: ServerContext,
  client: Client,
  code: string,
  authorization: Authorization,
  jkt: string | undefined,
): Promise<string | undefined> {
  if (!mayUse(client, 'refresh_token')) return undefined
  const isBound = jkt !== undefined && !isConfidential(client)
  const seed = ctx.seal.tag('refresh', code, SEED_BYTES)
  return ctx.refreshTokens.issue(isBound ? { ...authorization, jkt } : authorization, seed)
}
