import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { type ProviderOptions, client, hostOf, needList, needText, preset, presetOptions, user } from './provider'

/** Options of {@link clerk}. */
export type ClerkOptions = {
  /** The instance's Frontend API: `clerk.example.org`, `happy-cat-1.clerk.accounts.dev`. */
  readonly domain: string
  readonly more?: ProviderOptions | undefined
} & (
  | {
      /**
       * The origins of the apps whose sessions are accepted, and client ids of OAuth apps: these tokens have no `aud`.
       */
      readonly authorizedParties: readonly string[]
      /**
       * Refuses tokens without `azp`, which Clerk leaves out where the app's requests have no `Origin`. Default true.
       */
      readonly azpRequired?: boolean | undefined
      /** Takes sessions in which somebody acts as another user. Default false. */
      readonly impersonation?: boolean | undefined
      readonly machine?: undefined
    }
  | {
      /** This API's machine, for tokens between machines: `mch_tree`. */
      readonly machine: string
      readonly authorizedParties?: undefined
      readonly azpRequired?: undefined
      readonly impersonation?: undefined
    }
)

/**
 * Tokens of Clerk: of sessions and OAuth apps, or, with `machine`, between machines. They are of one key and one type;
 * the beginning of `sub` tells them apart.
 *
 * @see https://clerk.com/docs/backend-requests/resources/session-tokens
 */
export function clerk(options: ClerkOptions): IssuerOptions {
  const {
    domain,
    authorizedParties,
    azpRequired = true,
    impersonation = false,
    machine,
    more,
  } = presetOptions('clerk', options, [
    'domain',
    'authorizedParties',
    'azpRequired',
    'impersonation',
    'machine',
    'more',
  ])
  const issuer = `https://${hostOf('clerk', 'domain', domain)}`
  if (machine !== undefined) {
    return preset(
      'clerk',
      {
        issuer,
        audience: needText('clerk', 'machine', machine),
        scopeFrom: [], // `scopes` lists machines
        session: ({ sub }) => (String(sub).startsWith('mch_') ? client(sub) : undefined),
      },
      more,
    )
  }
  const parties = needList('clerk', 'authorizedParties', authorizedParties)
  return preset(
    'clerk',
    {
      issuer,
      ...(azpRequired && { clients: parties }),
      audience: { checkedBy: azpRequired ? 'clients' : 'issuer' },
      checkClaims: ({ sts, act, azp, client_id }) => {
        const party = client_id ?? azp ?? undefined
        const isListed = party === undefined || parties.includes(party as string)
        return isListed && sts !== 'pending' && (impersonation || act === undefined)
      },
      authTimeFrom: { minutesBefore: 'fva' },
      session: ({ sub, azp, client_id }) => (String(sub).startsWith('user_') ? user(sub, client_id ?? azp) : undefined),
    },
    more,
  )
}
