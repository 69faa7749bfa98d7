import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { type ProviderOptions, needText, preset, user } from './provider'

/** Options of {@link supabase}. */
export interface SupabaseOptions {
  /** The project's reference: `abcdefghijklmnopqrst`. */
  readonly project: string
  /**
   * The project's legacy JWT secret. Give it as long as tokens signed with it (HS256) are valid; tokens of the project's
   * signing keys are accepted beside them. Default none.
   */
  readonly secret?: string | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * Users' tokens of Supabase Auth. Anonymous sign-ins, which have the same audience and role, are unauthenticated sessions
 * of the project. The project's `anon` and `service_role` keys are refused.
 *
 * @see https://supabase.com/docs/guides/auth/jwt-fields
 */
export function supabase({ project, secret, more }: SupabaseOptions): IssuerOptions {
  const issuer = `https://${needText('supabase', 'project', project)}.supabase.co/auth/v1`
  return preset(
    {
      issuer,
      jwksUri: `${issuer}/.well-known/jwks.json`,
      ...(secret !== undefined && { secret }),
      audience: 'authenticated',
      requiredClaims: { role: 'authenticated' },
      session: ({ sub, is_anonymous }) =>
        is_anonymous === true ? { kind: 'unauthenticated', clientId: project } : user(sub),
    },
    more,
  )
}
