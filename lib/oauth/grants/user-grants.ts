import { shown } from '../../http/options'
import { hashOf } from '../../http/secret'
import { type KnownClient, isConfidential, mayUse } from '../directories/client'
import { OAuthError, invalidGrant, invalidRequest } from '../oauth-error'
import { queryOf } from '../parameters/form'
import { verifyPkce } from '../parameters/pkce'
import { grantableScope, noScope, parseScope } from '../parameters/requested-scope'
import { audienceFor } from '../parameters/resource'
import type { Parts } from '../parts'
import type { Authorization } from '../records/authorizations'
import { ofUser } from '../records/owners'
import { SEED_BYTES, placesOf } from '../records/refresh-tokens'
import { type Grant, type GrantRequest, type TokenResponse, audienceOf, tokenTypeOf } from './grant'

/** The grants of an app that acts for a user. */
export function userGrants(parts: Parts): readonly Grant[] {
  const { accessTokens, audience, codes, end, identity, idTokens, refreshTokens, revocations, users } = parts
  return [
    { name: 'authorization_code', parameters: ['code', 'redirect_uri', 'code_verifier'], handle: authorizationCode },
    { name: 'refresh_token', parameters: ['refresh_token', 'scope'], handle: refreshToken },
  ]

  /** Exchanges a code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5). */
  async function authorizationCode(request: GrantRequest): Promise<TokenResponse> {
    const { client, params, jkt } = request
    const code = params.need('code')
    const redirectUri = redirectUriOf(request, parts.isRealmNeeded)
    const record = await codes.find(code)
    // A request that does not prove ownership must not spend the code or revoke its tokens.
    const refuse = (reason: string) => invalidGrant('code').because(reason)
    if (!record) throw refuse('the code is unknown or has expired')
    const { authorization, nonce, challenge, dpopJkt } = record
    if (authorization.clientId !== client.clientId) {
      throw refuse(`the code is that of ${shown(authorization.clientId)}, not of ${shown(client.clientId)}`)
    }
    // OAuth 2.1 §10.2: where PKCE proves the client, the parameter may be missing.
    if (redirectUri === undefined ? !challenge : record.redirectUri !== redirectUri) {
      throw refuse(`redirect_uri ${shown(redirectUri)} is not that of the code, ${shown(record.redirectUri)}`)
    }
    if (!verifyPkce(params.get('code_verifier'), challenge)) {
      throw refuse('the code_verifier does not match the code_challenge, or one of them is missing')
    }
    if (dpopJkt !== undefined && dpopJkt !== jkt) throw refuse('the code is bound to another DPoP key')
    if ((await revocations.stateOf(authorization)) !== 'live') {
      throw refuse('the grant, its session, its user or the approval was revoked')
    }
    // The code is spent last: whatever fails before, the client may send it again.
    const tokens = await issueTokens(request, authorization, authorization.scope, nonce)
    const seed = parts.seal.tag('refresh', code, SEED_BYTES)
    const refresh = await firstRefreshToken(client, seed, authorization, jkt)
    const spent = await codes.spend(code)
    if (!spent?.first) {
      // RFC 6749 §4.1.2, RFC 9700 §4.5: the code was used twice, so one of the two users may be a thief.
      await end({ event: 'grant revoked', ...authorization })
      throw refuse('the code was used before: its tokens are revoked')
    }
    await parts.grants.use(authorization, [['code', hashOf(code)], ...(refresh === undefined ? [] : placesOf(seed))])
    return { ...tokens, ...(refresh !== undefined && { refresh_token: refresh }) }
  }

  /** Exchanges a refresh token for new tokens (RFC 6749 §6) and rotates it (RFC 9700 §4.14.2). */
  async function refreshToken(request: GrantRequest): Promise<TokenResponse> {
    const { client, params, jkt } = request
    const asked = parseScope(params.get('scope'))
    const found = await refreshTokens.find(params.need('refresh_token'))
    // Trying another client's token must not spend or revoke it.
    if (found?.authorization.clientId !== client.clientId) throw invalidGrant('refresh token')
    const granted = grantableScope(found.authorization.scope, parts, client)
    const authorization = await refreshTokens.stillGood(found.authorization, granted)
    if (!authorization) throw invalidGrant('refresh token')
    // What the app may not ask for is left out, as it was at sign-in: many clients send the same scope again.
    if (!grantableScope(asked, parts, client).every((one) => granted.includes(one))) {
      throw new OAuthError('invalid_scope', 'The scope asks for more than was granted.')
    }
    const scope = asked.length === 0 ? granted : granted.filter((one) => asked.includes(one))
    if (scope.length === 0 && asked.length + found.authorization.scope.length > 0) throw noScope(asked)
    if (authorization.jkt !== undefined && authorization.jkt !== jkt) {
      throw new OAuthError('invalid_grant', 'The refresh token is bound to another key (RFC 9449 section 5).')
    }
    // The token is used last: whatever fails before, the client may send it again.
    const tokens = await issueTokens(request, authorization, scope)
    const next = await refreshTokens.rotate(found)
    if (next === undefined) {
      await end({ event: 'grant revoked', ...authorization })
      throw invalidGrant('refresh token')
    }
    await parts.grants.use(authorization)
    await parts.consents.renew(authorization)
    return { ...tokens, refresh_token: next }
  }

  /**
   * Issues the tokens of a user's authorization, without a refresh token. If `openid` was granted, adds an id_token and sets
   * `token_type` to `Bearer`, the only value that OpenID clients accept; otherwise it is the server's own type. A scope that
   * the app may no longer ask for is left out.
   *
   * @throws {OAuthError} invalid_grant if the user no longer exists
   */
  async function issueTokens(
    { client, params, jkt, useProof }: GrantRequest,
    authorization: Authorization,
    asked: readonly string[],
    nonce?: string,
  ): Promise<TokenResponse> {
    const { clientId } = client
    const target = audienceFor(params.all('resource'), audienceOf(authorization, client.audiences ?? audience))
    const scope = grantableScope(asked, parts, client)
    if (scope.length === 0 && asked.length > 0) throw noScope(asked)
    const claims = identity.claimsFor(client)
    const allowed = (names: readonly string[] = []) => names.filter((name) => claims?.includes(name) ?? true)
    const idTokenClaims = allowed(authorization.idTokenClaims)
    const user = await users.find(authorization.userId)
    if (!user)
      throw invalidGrant('authorization').because(`findUser(${shown(authorization.userId)}) knows no such user`)
    await parts.registered.renew(clientId)
    const more = await parts.claimsOf(user, client, scope)
    const owner = ofUser(user.id)
    await useProof(owner)
    const userinfoClaims = allowed(authorization.userinfoClaims)
    const about = { owner, clientId, scope, audience: target, jkt, authorization, userinfoClaims, more }
    const { token, expiresInSec } = await accessTokens.issue(about)
    const isOpenId = scope.includes('openid')
    const identified = { ...authorization, scope, idTokenClaims }
    return {
      access_token: token,
      token_type: tokenTypeOf(jkt, isOpenId ? 'Bearer' : parts.tokenType),
      expires_in: expiresInSec,
      ...(scope.length > 0 && { scope: scope.join(' ') }),
      ...(isOpenId && { id_token: await idTokens.issue(identified, user, token, nonce) }),
    }
  }

  /** The refresh token of a code, if the app may have one. */
  async function firstRefreshToken(
    client: KnownClient,
    seed: Buffer,
    authorization: Authorization,
    jkt: string | undefined,
  ): Promise<string | undefined> {
    if (!mayUse(client, 'refresh_token')) return undefined
    // A public client has nothing but its key to show that a refresh token is its own (RFC 9449 §5).
    const isBound = jkt !== undefined && !isConfidential(client)
    return refreshTokens.issue(isBound ? { ...authorization, jkt } : authorization, seed)
  }
}

/** Accepts `redirect_uri` in the URL too: one of the service's clients sends it there. */
function redirectUriOf({ req, params }: GrantRequest, isNeeded: boolean): string | undefined {
  const query = queryOf(req)
  query.refuseRepeated(['redirect_uri'])
  const [inBody, inUrl] = [params.get('redirect_uri'), query.get('redirect_uri')]
  if (inBody !== undefined && inUrl !== undefined && inBody !== inUrl) {
    throw invalidRequest('The redirect_uri in the URL differs from the one in the body.')
  }
  return inBody ?? inUrl ?? (isNeeded ? params.need('redirect_uri') : undefined)
}
