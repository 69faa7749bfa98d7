import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { type ProviderOptions, client, hostOf, needList, preset, presetOptions, user } from './provider'

/** Options of {@link zitadel}. */
export interface ZitadelOptions {
  /** The instance's domain: `acme-x1y2z3.zitadel.cloud`. */
  readonly domain: string
  /** The project's id. */
  readonly project: string
  /** The ids of service users: nothing in a token tells them from people. Default none. */
  readonly serviceUsers?: readonly string[] | undefined
  /**
   * Takes the user's roles in this project for scopes; Zitadel asserts them where the project says so. Default false.
   */
  readonly roles?: boolean | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * JWT access tokens of Zitadel; by default it issues opaque ones, for which there is `introspection`. ID tokens have
 * the same audience and no `jti`.
 *
 * @see https://zitadel.com/docs/apis/openidoauth/claims
 */
export function zitadel(options: ZitadelOptions): IssuerOptions {
  const {
    domain,
    project,
    serviceUsers = [],
    roles = false,
    more,
  } = presetOptions('zitadel', options, ['domain', 'project', 'serviceUsers', 'roles', 'more'])
  const services = serviceUsers.length === 0 ? [] : needList('zitadel', 'serviceUsers', serviceUsers)
  return preset(
    'zitadel',
    {
      issuer: `https://${hostOf('zitadel', 'domain', domain)}`,
      audience: project,
      requiredClaims: ['jti'],
      ...(roles && { scopeFrom: ['scope', `urn:zitadel:iam:org:project:${project}:roles`] }),
      session: ({ sub, azp, client_id }) =>
        services.includes(sub as string) ? client(sub) : user(sub, client_id ?? azp),
    },
    more,
  )
}
