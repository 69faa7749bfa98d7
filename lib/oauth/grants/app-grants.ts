import { isIP } from 'node:net'
import { isConfidential } from '../directories/client'
import { OAuthError, invalidRequest } from '../oauth-error'
import { noScope, parseScope } from '../parameters/requested-scope'
import { audienceFor } from '../parameters/resource'
import type { Parts } from '../parts'
import { ofApp } from '../records/owners'
import { limitStrangers } from '../records/strangers'
import { type Grant, type GrantRequest, type TokenResponse, tokenTypeOf } from './grant'

/** Tokens of an app without a user that a stranger may have, where they are stored. */
const LIMITS = { name: 'unauthenticated', refusal: 'Too many sessions have been started.' }

/** The grants of an app without a user. */
export function appGrants(parts: Parts): readonly Grant[] {
  const { accessTokens, audience, claimsOf, isScopeNeeded, records, tokenType } = parts
  return [
    { name: 'client_credentials', parameters: ['scope'], handle: clientCredentials },
    { name: 'unauthenticated_session', parameters: ['ip_address'], handle: unauthenticatedSession },
  ]

  /** A token for the app itself (RFC 6749 §4.4). Grants the app's own scopes only, no identity scopes. */
  async function clientCredentials({ client, params, jkt, useProof }: GrantRequest): Promise<TokenResponse> {
    if (!isConfidential(client)) throw new OAuthError('unauthorized_client', 'A public client has no credentials.')
    const { clientId, scopes = [], defaultScope } = client
    const asked = parseScope(params.get('scope') ?? defaultScope?.join(' '))
    const scope = asked.filter((token) => scopes.includes(token))
    if (scope.length === 0 && (asked.length > 0 || (isScopeNeeded && scopes.length > 0))) throw noScope(asked)
    const target = audienceFor(params.all('resource'), client.audiences ?? audience)
    const more = await claimsOf(undefined, client, scope)
    const owner = ofApp(client)
    await useProof(owner)
    const { token, expiresInSec } = await accessTokens.issue({ owner, clientId, scope, audience: target, jkt, more })
    return {
      access_token: token,
      token_type: tokenTypeOf(jkt, tokenType),
      expires_in: expiresInSec,
      ...(scope.length > 0 && { scope: scope.join(' ') }),
    }
  }

  /**
   * A token for an app with no user signed in. Its mark limits it to routes that allow unauthenticated sessions. The
   * response has the service's own form, without a lifetime.
   */
  async function unauthenticatedSession({ req, client, params, jkt, useProof }: GrantRequest): Promise<TokenResponse> {
    if (isIP(params.need('ip_address')) === 0) throw invalidRequest('The ip_address is not an IP address.')
    const { clientId } = client
    const target = audienceFor(params.all('resource'), client.audiences ?? audience)
    const isStored = accessTokens.areStored || jkt !== undefined
    if (isStored && !isConfidential(client)) await limitStrangers(records, req, { ...LIMITS, app: clientId })
    const owner = ofApp(client)
    await useProof(owner)
    const about = { owner, clientId, scope: [], audience: target, jkt, unauthenticated: true }
    const { token } = await accessTokens.issue(about)
    return { access_token: token, token_type: tokenTypeOf(jkt, tokenType), token }
  }
}
