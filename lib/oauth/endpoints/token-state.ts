import type { Request, Response } from 'express'
import { type Client, isConfidential } from '../directories/client'
import { OAuthError } from '../oauth-error'
import { formOf } from '../parameters/form'
import { grantableScope } from '../parameters/requested-scope'
import type { Parts } from '../parts'
import type { AccessTokenClaims } from '../tokens/access-tokens'
import { type Endpoint, sendJson } from './endpoint'
import { revokeToken } from './resource'

/** Token introspection (RFC 7662) for confidential clients. A refresh token is shown to its own client only. */
export function introspectEndpoint(parts: Parts): Endpoint {
  return { path: '/introspect', methods: { POST: introspect }, errors: 'json' }

  async function introspect(req: Request, res: Response): Promise<void> {
    const params = await formOf(req)
    params.refuseRepeated(['token', 'token_type_hint'])
    const client = await parts.authentication.authenticate(req, params, '/introspect')
    if (!isConfidential(client)) {
      throw new OAuthError('unauthorized_client', 'Only a client that authenticates may ask about tokens.', 403)
    }
    const token = params.need('token')
    const access = (await parts.accessTokens.check(token))?.claims
    if (access) {
      const isOwn = access.client_id === client.clientId
      if (!isOwn && !isFor(client, access, parts.audience)) return sendJson(res, 200, { active: false })
      const tokenType = access.cnf ? 'DPoP' : 'Bearer'
      return sendJson(res, 200, { active: true, token_type: tokenType, ...(isOwn ? access : forOthers(access)) })
    }
    const granted = (await parts.refreshTokens.findUnused(token))?.authorization
    if (granted?.clientId !== client.clientId) return sendJson(res, 200, { active: false })
    const refresh = await parts.refreshTokens.stillGood(granted, grantableScope(granted.scope, parts, client))
    if (!refresh || !(await parts.users.find(refresh.userId))) return sendJson(res, 200, { active: false })
    const { clientId, userId, scope } = refresh
    sendJson(res, 200, { active: true, client_id: clientId, sub: userId, scope: scope.join(' '), iss: parts.issuer })
  }
}

/**
 * Token revocation (RFC 7009). Revokes an access token alone, a refresh token with its whole grant. An unknown token or
 * another client's is ignored with the same response.
 */
export function revokeEndpoint(parts: Parts): Endpoint {
  return { path: '/revoke', methods: { POST: revoke }, errors: 'json', anyOrigin: true }

  async function revoke(req: Request, res: Response): Promise<void> {
    const params = await formOf(req)
    params.refuseRepeated(['token', 'token_type_hint'])
    const { clientId } = await parts.authentication.authenticate(req, params, '/revoke')
    const token = params.need('token')
    const access = (await parts.accessTokens.check(token))?.claims
    if (access?.client_id === clientId) await revokeToken(parts, req, access)
    const refresh = access ? undefined : await parts.refreshTokens.find(token)
    const authorization = refresh?.authorization
    if (authorization?.clientId === clientId) await parts.end({ event: 'grant revoked', ...authorization })
    sendJson(res, 200, {}) // RFC 7009 §2.2: clients ignore the body, but one fails unless it is JSON
  }
}

/** Whether an app may know of another's token: by default an API, which no user signs in to, that the token is meant for. */
function isFor(
  { audiences, clientId, introspection, redirectUris = [] }: Client,
  { aud }: AccessTokenClaims,
  all: readonly string[],
): boolean {
  const sees = introspection ?? (redirectUris.length > 0 ? 'own' : 'audience')
  if (sees !== 'audience') return sees === 'all'
  return [clientId, ...(audiences ?? all)].some((one) => [aud].flat().includes(one))
}

/** The claims without what only the token's own client is told: the website session and the grant. */
function forOthers({ sid: _sid, grant_id: _grantId, ...claims }: AccessTokenClaims): Partial<AccessTokenClaims> {
  return claims
}
