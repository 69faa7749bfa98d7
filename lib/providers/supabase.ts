import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { type ProviderOptions, needText, preset, presetOptions, user } from './provider'

/** Options of {@link supabase}. */
export interface SupabaseOptions {
  /** The project's reference: `abcdefghijklmnopqrst`. */
  readonly project: string
  /** Address of Supabase Auth on a host of one's own: `https://auth.acme.example/auth/v1`. Default: the project's. */
  readonly url?: string | undefined
  /**
   * The project's legacy JWT secret. Give it as long as tokens signed with it (HS256) are valid; tokens of the
   * project's signing keys are accepted beside them. Default none.
   */
  readonly secret?: string | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * Users' tokens of Supabase Auth. Those of third-party apps name the app in `client_id`. Anonymous sign-ins, which have the same audience and role, are unauthenticated
 * sessions of the project. The project's `anon` and `service_role` keys are refused.
 *
 * @see https://supabase.com/docs/guides/auth/jwt-fields
 */
export function supabase(options: SupabaseOptions): IssuerOptions {
  const { project, url, secret, more } = presetOptions('supabase', options, ['project', 'url', 'secret', 'more'])
  const hosted = `https://${needText('supabase', 'project', project)}.supabase.co/auth/v1`
  const issuer = url === undefined ? hosted : needText('supabase', 'url', url).replace(/\/$/, '')
  return preset(
    'supabase',
    {
      issuer,
      jwksUri: `${issuer}/.well-known/jwks.json`,
      ...(secret !== undefined && { secret }),
      audience: 'authenticated',
      acrFrom: ['aal'],
      authTimeFrom: ['amr', 'timestamp'],
      sidFrom: ['session_id'],
      requiredClaims: { role: 'authenticated' },
      session: ({ sub, client_id, is_anonymous }) =>
        is_anonymous === true ? { kind: 'unauthenticated', clientId: project } : user(sub, client_id),
    },
    more,
  )
}
