import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Audience } from '../bearer/claims/claim-options'
import { type ProviderOptions, client, hostOf, preset, presetOptions, user } from './provider'

/** Options of {@link logto}. */
export interface LogtoOptions {
  /** The tenant's domain: `acme.logto.app`. */
  readonly domain: string
  /** The API resource's indicator. Without it Logto issues opaque tokens. */
  readonly audience: Audience
  /** The organization that tokens must be for. Default: any, or none. */
  readonly organization?: string | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * Access tokens of Logto for an API resource.
 *
 * @see https://docs.logto.io/authorization/validate-access-tokens
 */
export function logto(options: LogtoOptions): IssuerOptions {
  const { domain, audience, organization, more } = presetOptions('logto', options, [
    'domain',
    'audience',
    'organization',
    'more',
  ])
  const issuer = `https://${hostOf('logto', 'domain', domain)}/oidc`
  return preset(
    'logto',
    {
      issuer,
      jwksUri: `${issuer}/jwks`,
      audience,
      typ: 'at+jwt',
      ...(organization !== undefined && { requiredClaims: { organization_id: organization } }),
      session: ({ sub, client_id }) => (sub === client_id ? client(sub) : user(sub, client_id)),
    },
    more,
  )
}
