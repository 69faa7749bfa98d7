import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Audience } from '../bearer/claims/claim-options'
import { type ProviderOptions, client, needList, preset, presetOptions } from './provider'

/** Options of {@link kubernetes}. */
export interface KubernetesOptions {
  /** The cluster's issuer. Default `https://kubernetes.default.svc.cluster.local`. */
  readonly issuer?: string | undefined
  /** The audience that pods ask their tokens for. */
  readonly audience: Audience
  /** The service accounts accepted: `tree:web`, or in full `system:serviceaccount:tree:web`. */
  readonly serviceAccounts: readonly string[]
  /** The cluster's own keys; most clusters have the same issuer, so the keys are what tells them apart. */
  readonly more: ProviderOptions
}

const PREFIX = 'system:serviceaccount:'

/**
 * Bound service account tokens of one Kubernetes cluster. Each is a client, by its `sub`; there are no users.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
 */
export function kubernetes(options: KubernetesOptions): IssuerOptions {
  const {
    issuer = 'https://kubernetes.default.svc.cluster.local',
    audience,
    serviceAccounts,
    more,
  } = presetOptions('kubernetes', options, ['issuer', 'audience', 'serviceAccounts', 'more'])
  const accepted = needList('kubernetes', 'serviceAccounts', serviceAccounts)
  const subjects = accepted.map((name) => (name.startsWith(PREFIX) ? name : PREFIX + name))
  return preset(
    'kubernetes',
    { issuer, audience, requiredClaims: { sub: subjects }, session: ({ sub }) => client(sub) },
    more,
  )
}
