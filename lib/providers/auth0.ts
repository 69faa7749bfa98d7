import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Audience } from '../bearer/claims/claim-options'
import { scopeOf } from '../bearer/session/scope'
import { type ProviderOptions, client, hostOf, preset, presetOptions, user } from './provider'

/** Options of {@link auth0}. */
export interface Auth0Options {
  /** The tenant's domain, or its custom domain: `acme.eu.auth0.com`. */
  readonly domain: string
  /** The API's identifier. Without it Auth0 issues opaque tokens. */
  readonly audience: Audience
  /** The organization that tokens must be for: `org_id`. Default: any, or none. */
  readonly organization?: string | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * Access tokens of Auth0, of the default profile and of that of RFC 9068. A machine's `sub` is its client with
 * `@clients` behind it, in both. An agent's `sub_profile` is `ai_agent`. Rights of role-based access control are in
 * `permissions`; where a token has none, in `scope`.
 *
 * @see https://auth0.com/docs/secure/tokens/access-tokens/access-token-profiles
 * @see https://auth0.com/docs/ai-agents-mcp/agent-as-principal/agent-identity-in-tokens
 */
export function auth0(options: Auth0Options): IssuerOptions {
  const { domain, audience, organization, more } = presetOptions('auth0', options, [
    'domain',
    'audience',
    'organization',
    'more',
  ])
  return preset(
    'auth0',
    {
      issuer: `https://${hostOf('auth0', 'domain', domain)}/`,
      audience,
      scopeFrom: ['scope'],
      ...(organization !== undefined && { requiredClaims: { org_id: organization } }),
      session({ sub, sub_profile, client_id, azp, permissions }) {
        const app = client_id ?? azp
        const isMachine = sub_profile === 'ai_agent' || (typeof app === 'string' && sub === `${app}@clients`)
        const who = isMachine ? client(app) : user(sub, app)
        if (who === undefined || permissions === undefined || more?.scopeFrom) return who
        return { ...who, scope: scopeOf({ permissions }, ['permissions']) } // then `scope` is what the app asked for
      },
    },
    more,
  )
}
