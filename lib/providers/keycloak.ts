import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Claims } from '../bearer/session/session'
import { optionError } from '../http/help'
import { shown } from '../http/options'
import { type ProviderOptions, client, needText, preset, presetOptions, user } from './provider'

/** Options of {@link keycloak}. */
export interface KeycloakOptions {
  /** The realm's address: `https://sso.example.org/realms/acme`. */
  readonly realm: string
  /** The API's client id. Add an audience mapper: by default `aud` is `account`, or is not there. */
  readonly audience: string
  /** Roles that count as scopes, beside `scope`: those of the realm, or of the API's own client. Default none. */
  readonly roles?: 'realm' | 'client' | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * Access tokens of Keycloak. A service account has a user name made from its client, and `client_id`, `clientHost` and
 * `clientAddress` from the client scope `service_account`. The name alone proves nothing, since a user may choose it.
 * Tokens without `sub` are refused: the client scope `basic` adds it.
 *
 * @see https://www.keycloak.org/docs/latest/upgrading/#migrating-to-25-0-0
 */
export function keycloak(options: KeycloakOptions): IssuerOptions {
  const { realm, audience, roles, more } = presetOptions('keycloak', options, ['realm', 'audience', 'roles', 'more'])
  const issuer = needText('keycloak', 'realm', realm).replace(/\/$/, '')
  if (!issuer.includes('/realms/')) {
    throw optionError(
      `keycloak() needs realm, the realm's address: 'https://sso.example.org/realms/acme'; received ${shown(realm)}`,
    )
  }
  const from = roles === 'realm' ? ['realm_access', 'roles'] : ['resource_access', audience, 'roles']
  return preset(
    'keycloak',
    {
      issuer,
      audience,
      requiredClaims: { typ: ['Bearer', 'DPoP'] }, // Keycloak's own, in the claims; others are ID, Refresh, Offline, Logout
      ...(roles && { scopeFrom: ['scope', from] }),
      session: (claims) => (isMachine(claims) ? client(clientOf(claims)) : user(claims.sub, claims.azp)),
    },
    more,
  )
}

function clientOf({ client_id, clientId, azp }: Claims): unknown {
  return client_id ?? clientId ?? azp // clientId before Keycloak 26
}

/** Lightweight tokens have neither a name nor a session. With refresh tokens for its grant, a machine has a session. */
function isMachine(claims: Claims): boolean {
  const { preferred_username: name, sid, session_state, client_id, clientId, clientHost, clientAddress } = claims
  const hasSession = sid !== undefined || session_state !== undefined
  const isMarked = (client_id ?? clientId) !== undefined
  if (isMarked && (clientHost ?? clientAddress) !== undefined) return true
  if (name === undefined) return !hasSession
  return name === `service-account-${String(clientOf(claims)).toLowerCase()}` && (isMarked || !hasSession)
}
