import type { Request } from 'express'
import { optionNames } from '../../http/options'
import { type IdentityScopes, OFFLINE_ACCESS } from '../identity-scopes'
import { OAuthError } from '../oauth-error'
import { type ClientMetadata, defaultScopeOf } from '../parameters/client-metadata'
import type { RegistrationGrant } from '../server-options'
import type { RegistrationSettings } from '../server-settings'
import type { SelfRegisteredClient } from '../directories/client'
import { registeredClient } from '../directories/client-directory'

/** The scopes of an app that registered none: the user's id only. */
const DEFAULT_SCOPES = ['openid', OFFLINE_ACCESS]
const GRANTED = ['realm', 'scopes', 'audiences', 'onwardOrigins', 'requireDpop']

/**
 * An app that nobody here has checked, with the rights that the app's own function gives it.
 *
 * @throws {OAuthError} 403 access_denied if the function refuses it
 */
export async function selfRegisteredClient(
  { accept, uris }: RegistrationSettings,
  identity: IdentityScopes,
  clientId: string,
  metadata: ClientMetadata,
  req: Request,
): Promise<SelfRegisteredClient> {
  const granted = (await accept(metadata, req)) as unknown
  if (granted === false || granted === undefined || granted === null) {
    throw new OAuthError('access_denied', 'This app may not register itself.', 403)
  }
  optionNames('what registration.accept returns', granted, GRANTED)
  const { requireDpop, ...grant } = granted as RegistrationGrant
  const defaultScope = defaultScopeOf(metadata, grant.scopes)
  const isAsked = metadata.scope !== undefined
  const identityScopes = isAsked
    ? [...defaultScope.filter((scope) => identity.has(scope)), OFFLINE_ACCESS]
    : DEFAULT_SCOPES
  const client = registeredClient(
    {
      realm: '/registered',
      ...grant,
      clientId,
      name: metadata.client_name,
      redirectUris: metadata.redirect_uris,
      postLogoutRedirectUris: metadata.post_logout_redirect_uris ?? [],
      grants: metadata.grant_types,
      identityScopes,
      defaultScope,
      approval: 'ask',
      anyLocalhostPort: true,
      requirePushedRequests: metadata.require_pushed_authorization_requests ?? false,
      requireDpop: requireDpop ?? metadata.dpop_bound_access_tokens ?? false,
    },
    uris,
  )
  const { jwks, jwks_uri: jwksUri } = metadata
  return { ...client, ...(jwks && { publicKeys: jwks.keys }), ...(jwksUri !== undefined && { jwksUri }) }
}
