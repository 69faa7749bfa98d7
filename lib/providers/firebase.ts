import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { claimAt } from '../bearer/session/claim-path'
import { type ProviderOptions, needText, preset, presetOptions, user } from './provider'

/** Options of {@link firebase}. */
export interface FirebaseOptions {
  /** The project's id: `acme-prod`. */
  readonly project: string
  /** The tenant that users must be of. Default: any, or none. */
  readonly tenant?: string | undefined
  readonly more?: ProviderOptions | undefined
}

const KEYS = 'https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com'
/** Firebase's own bound of a user's id. */
const LONGEST_UID = 128

/**
 * ID tokens of Firebase Authentication, which are its credentials. Anonymous users are unauthenticated sessions of the
 * project.
 *
 * @see https://firebase.google.com/docs/auth/admin/verify-id-tokens
 */
export function firebase(options: FirebaseOptions): IssuerOptions {
  const { project, tenant, more } = presetOptions('firebase', options, ['project', 'tenant', 'more'])
  return preset(
    'firebase',
    {
      issuer: `https://securetoken.google.com/${needText('firebase', 'project', project)}`,
      jwksUri: KEYS,
      audience: project,
      algorithms: ['RS256'],
      idTokens: true,
      checkClaims: (claims) => tenant === undefined || claimAt(claims, ['firebase', 'tenant']) === tenant,
      session(claims) {
        const { sub } = claims
        if (typeof sub !== 'string' || sub.length > LONGEST_UID) return undefined
        const anonymous = claimAt(claims, ['firebase', 'sign_in_provider']) === 'anonymous'
        return anonymous ? { kind: 'unauthenticated', clientId: project } : user(sub)
      },
    },
    more,
  )
}
