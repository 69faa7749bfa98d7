import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { optionError } from '../http/help'
import { shown } from '../http/options'
import { type ProviderOptions, needList, needText, preset, presetOptions } from './provider'

/** Options of {@link cognito}. */
export interface CognitoOptions {
  /** The user pool's id, which begins with its region: `eu-west-1_AbCdEfGhI`. */
  readonly userPoolId: string
  /** The app clients accepted: access tokens have no `aud`. */
  readonly clients: readonly string[]
  readonly more?: ProviderOptions | undefined
}

/**
 * Access tokens of an Amazon Cognito user pool, under either of its issuer names. They have no `aud`: the app client is
 * checked in its place. A machine's `sub` is its client.
 *
 * @see https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_IssuerConfigurationType.html
 * @see https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-access-token.html
 */
export function cognito(options: CognitoOptions): IssuerOptions {
  const { userPoolId, clients, more } = presetOptions('cognito', options, ['userPoolId', 'clients', 'more'])
  const pool = needText('cognito', 'userPoolId', userPoolId)
  if (!pool.includes('_')) {
    throw optionError(
      `cognito() needs userPoolId, which begins with its region: 'eu-west-1_AbCdEfGhI'; received ${shown(pool)}`,
    )
  }
  const host = `cognito-idp.${pool.slice(0, pool.indexOf('_'))}.amazonaws.com`
  return preset(
    'cognito',
    {
      issuer: [`https://${host}/${pool}`, `https://issuer-${host}/${pool}`],
      jwksUri: `https://${host}/${pool}/.well-known/jwks.json`,
      audience: { checkedBy: 'clients' },
      clients: needList('cognito', 'clients', clients),
      requiredClaims: { token_use: 'access' },
      sidFrom: ['origin_jti'],
    },
    more,
  )
}
