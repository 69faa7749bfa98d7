import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Audience } from '../bearer/claims/claim-options'
import type { Claims, ReadSession } from '../bearer/session/session'
import { type ProviderOptions, client, needList, preset, presetOptions, user } from './provider'

/** Options of {@link google}. */
export interface GoogleOptions {
  /** The address that callers ask their ID tokens for; with `users`, the OAuth client id of the app. */
  readonly audience: Audience
  /** The service accounts accepted, by e-mail address: anybody with a project can have a token for any audience. */
  readonly serviceAccounts?: readonly string[] | undefined
  /** Takes ID tokens of users who signed in to the app, beside those of `serviceAccounts`, if any. Default false. */
  readonly users?: boolean | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * ID tokens of Google: between services, or, with `users`, of people who signed in. Google has no access tokens for the
 * APIs of others; its own are opaque.
 *
 * @see https://cloud.google.com/run/docs/authenticating/service-to-service
 */
export function google(options: GoogleOptions): IssuerOptions {
  const {
    audience,
    serviceAccounts,
    users = false,
    more,
  } = presetOptions('google', options, ['audience', 'serviceAccounts', 'users', 'more'])
  const common: ProviderOptions = {
    issuer: ['https://accounts.google.com', 'accounts.google.com'],
    jwksUri: 'https://www.googleapis.com/oauth2/v3/certs',
    audience,
    algorithms: ['RS256'],
    idTokens: true,
  }
  const accepted =
    users && serviceAccounts === undefined ? [] : needList('google', 'serviceAccounts, or users: true', serviceAccounts)
  if (users) {
    const isAccepted = ({ email, email_verified }: Claims) =>
      accepted.includes(email as string) && email_verified === true
    // A machine's token names the machine twice. Anybody's machine can have one for this audience.
    const session: ReadSession = (claims) => {
      if (claims.sub !== claims.azp) return user(claims.sub, claims.azp)
      return isAccepted(claims) ? client(claims.sub) : undefined
    }
    return preset('google', { ...common, session }, more)
  }
  return preset(
    'google',
    { ...common, requiredClaims: { email: accepted, email_verified: true }, session: ({ sub }) => client(sub) },
    more,
  )
}
