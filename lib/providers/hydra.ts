import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Audience } from '../bearer/claims/claim-options'
import { type ProviderOptions, client, needText, preset, presetOptions, user } from './provider'

/** Options of {@link hydra}. */
export interface HydraOptions {
  /** The issuer: `https://acme.projects.oryapis.com`. */
  readonly issuer: string
  /** Clients have to ask for it, and be allowed to: by default `aud` is empty. */
  readonly audience: Audience
  readonly more?: ProviderOptions | undefined
}

/**
 * JWT access tokens of Ory Hydra (`strategies.access_token: jwt`). Scopes are a list in `scp`; claims of the app's own
 * are in `ext`.
 *
 * @see https://www.ory.com/docs/oauth2-oidc/jwt-access-token
 */
export function hydra(options: HydraOptions): IssuerOptions {
  const { issuer, audience, more } = presetOptions('hydra', options, ['issuer', 'audience', 'more'])
  return preset(
    'hydra',
    {
      issuer: needText('hydra', 'issuer', issuer),
      audience,
      scopeFrom: ['scp', 'scope'],
      session: ({ sub, client_id }) => (sub === client_id ? client(sub) : user(sub, client_id)),
    },
    more,
  )
}
