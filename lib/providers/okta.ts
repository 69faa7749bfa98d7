import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { type ProviderOptions, client, hostOf, preset, presetOptions, user } from './provider'

/** Options of {@link okta}. */
export interface OktaOptions {
  /** The organization's domain: `acme.okta.com`. */
  readonly domain: string
  /** The custom authorization server. Default `default`. */
  readonly server?: string | undefined
  /**
   * The server's audience. Default `api://default`, which everybody's default server has: `issuer` tells them apart.
   */
  readonly audience?: string | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * Access tokens of a custom authorization server of Okta. Users are known by `uid`: their `sub` is a login name, which
 * changes. A machine has no `uid`, and its `sub` is its `cid`. Tokens of the organization's own server are refused:
 * Okta has them for itself.
 *
 * @see https://developer.okta.com/docs/reference/api/oidc/
 */
export function okta(options: OktaOptions): IssuerOptions {
  const {
    domain,
    server = 'default',
    audience = 'api://default',
    more,
  } = presetOptions('okta', options, ['domain', 'server', 'audience', 'more'])
  return preset(
    'okta',
    {
      issuer: `https://${hostOf('okta', 'domain', domain)}/oauth2/${server}`,
      audience,
      idTokens: true, // they are told by their audience, and by the cid that they lack
      requiredClaims: ['cid'],
      scopeFrom: ['scp'],
      session({ uid, sub, cid }) {
        if (uid === undefined) return sub === cid ? client(cid) : undefined
        return user(uid, cid)
      },
    },
    more,
  )
}
