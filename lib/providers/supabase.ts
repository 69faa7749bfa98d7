import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { type ProviderOptions, needText, preset, user } from './provider'

/** Options of {@link supabase}. */
export interface SupabaseOptions {
  /** The project's reference: `abcdefghijklmnopqrst`. */
  readonly project: string
  readonly more?: ProviderOptions
}

/**
 * Users' tokens of Supabase Auth. Anonymous sign-ins have the same audience and role: they are unauthenticated sessions
 * of the project. The project's `anon` and `service_role` keys are refused.
 *
 * @see https://supabase.com/docs/guides/auth/jwt-fields
 */
export function supabase({ project, more }: SupabaseOptions): IssuerOptions {
  const issuer = `https://${needText('supabase', 'project', project)}.supabase.co/auth/v1`
  return preset(
    {
      issuer,
      jwksUri: `${issuer}/.well-known/jwks.json`,
      audience: 'authenticated',
      requiredClaims: { role: 'authenticated' },
      session: ({ sub, is_anonymous }) =>
        is_anonymous === true ? { kind: 'unauthenticated', clientId: project } : user(sub),
    },
    more,
  )
}
