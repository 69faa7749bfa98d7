import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Audience } from '../bearer/claims/claim-options'
import { type ProviderOptions, client, needList, preset, user } from './provider'

/** Options of {@link google}. */
export interface GoogleOptions {
  /** The address that callers ask their ID tokens for; with `users`, the OAuth client id of the app. */
  readonly audience: Audience
  /** The service accounts accepted, by e-mail address: anybody with a project can have a token for any audience. */
  readonly serviceAccounts?: readonly string[] | undefined
  /** Takes ID tokens of users who signed in to the app. Default false. */
  readonly users?: boolean | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * ID tokens of Google: between services, or, with `users`, of people who signed in. Google has no access tokens for the
 * APIs of others; its own are opaque.
 *
 * @see https://cloud.google.com/run/docs/authenticating/service-to-service
 */
export function google({ audience, serviceAccounts, users = false, more }: GoogleOptions): IssuerOptions {
  const common: ProviderOptions = {
    issuer: ['https://accounts.google.com', 'accounts.google.com'],
    jwksUri: 'https://www.googleapis.com/oauth2/v3/certs',
    audience,
    algorithms: ['RS256'],
    idTokens: true,
  }
  if (users) {
    // A machine's token names the machine twice. Anybody's machine can have one for this audience.
    return preset({ ...common, session: ({ sub, azp }) => (sub === azp ? undefined : user(sub, azp)) }, more)
  }
  const accepted = needList('google', 'serviceAccounts, or users: true', serviceAccounts)
  return preset(
    { ...common, requiredClaims: { email: accepted, email_verified: true }, session: ({ sub }) => client(sub) },
    more,
  )
}
