import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { type ProviderOptions, client, needText, preset, user } from './provider'

/** Options of {@link keycloak}. */
export interface KeycloakOptions {
  /** The realm's address: `https://sso.example.org/realms/acme`. */
  readonly realm: string
  /** The API's client id. Add an audience mapper: by default `aud` is `account`, or is not there. */
  readonly audience: string
  /** Reads scopes from the roles of the realm, or of the API's own client. Default: from `scope`. */
  readonly roles?: 'realm' | 'client' | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * Access tokens of Keycloak. A service account has no login session, so its tokens have no `sid`; its user name tells
 * nothing, since a user may choose one like it. Tokens without `sub` are refused: the client scope `basic` adds it.
 *
 * @see https://www.keycloak.org/docs/latest/upgrading/#migrating-to-25-0-0
 */
export function keycloak({ realm, audience, roles, more }: KeycloakOptions): IssuerOptions {
  const from = roles === 'realm' ? ['realm_access', 'roles'] : ['resource_access', audience, 'roles']
  return preset(
    {
      issuer: needText('keycloak', 'realm', realm).replace(/\/$/, ''),
      audience,
      requiredClaims: { typ: ['Bearer', 'DPoP'] }, // Keycloak's own, in the claims; others are ID, Refresh, Offline, Logout
      ...(roles && { scopeFrom: [from] }),
      session({ sub, azp, client_id, clientId, sid, session_state }) {
        const atLogin = sid !== undefined || session_state !== undefined
        return atLogin ? user(sub, azp) : client(client_id ?? clientId ?? azp)
      },
    },
    more,
  )
}
