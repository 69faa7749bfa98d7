import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Audience } from '../bearer/claims/claim-options'
import { optionError } from '../http/help'
import { shown } from '../http/options'
import { type ProviderOptions, client, needText, preset, presetOptions, user } from './provider'

/** Options of {@link entra}. */
export type EntraOptions = {
  /** The API's application id; for tokens of version 1 also its App ID URI. */
  readonly audience: Audience
  /** The tokens' version: 2 where the API's manifest says `requestedAccessTokenVersion: 2`. Default 2. */
  readonly version?: 1 | 2 | undefined
  /**
   * The national cloud: `'us-government'`, or `'china'` (operated by 21Vianet), for tokens of version 2. Default: the
   * global one.
   */
  readonly cloud?: 'us-government' | 'china' | undefined
  /** The client apps accepted, by their application ids. Default: all that the tenant gives tokens for this API. */
  readonly clients?: readonly string[] | undefined
  readonly more?: ProviderOptions | undefined
} & (
  | {
      /** The directory (tenant) id. */
      readonly tenant: string
      readonly tenants?: undefined
    }
  | {
      /** The ids of the tenants accepted, or a function that knows them. */
      readonly tenants: readonly string[] | ((tenant: string) => boolean | Promise<boolean>)
      readonly tenant?: undefined
    }
)

/** @see https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud */
const HOSTS = {
  global: 'login.microsoftonline.com',
  'us-government': 'login.microsoftonline.us',
  china: 'login.partner.microsoftonline.cn',
}

const ONE_OR_SEVERAL = "tenant (or tenants: ['<tenant id>', …])"

/**
 * Access tokens of Microsoft Entra ID, of one tenant or of several. Where front end and API share a registration, its
 * ID tokens have the API's audience, too: only what names a client, and scopes or roles, is an access token. Users are
 * known by `oid`, since `sub` differs from app to app. Scopes are in `scp`, roles of users and machines in `roles`; a
 * token without any is refused with 403.
 *
 * @see https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
 */
export function entra(options: EntraOptions): IssuerOptions {
  const {
    audience,
    version = 2,
    cloud,
    clients,
    more,
    ...given
  } = presetOptions('entra', options, ['tenant', 'tenants', 'audience', 'version', 'cloud', 'clients', 'more'])
  const tenants = Array.isArray(given.tenants) ? given.tenants.map(lowerCase) : given.tenants
  const of = tenants === undefined ? lowerCase(needText('entra', ONE_OR_SEVERAL, given.tenant)) : '{tid}'
  const ids = [of, ...(Array.isArray(tenants) ? (tenants as unknown[]) : [])]
  const many = ids.find((id) => ['common', 'organizations', 'consumers'].includes(id as string))
  if (many !== undefined) {
    throw optionError(
      `entra() needs the ids of tenants, and ${shown(many)} stands for many: write tenants: ['<tenant id>', …], or ` +
        'tenants: (id) => known.has(id)',
    )
  }
  const domain = ids.find((id) => String(id).includes('.'))
  if (domain !== undefined) {
    throw optionError(
      `entra() needs the id of a tenant, since tokens do not have its domain; received ${shown(domain)}`,
    )
  }
  if (cloud !== undefined && (!Object.hasOwn(HOSTS, cloud) || version === 1)) {
    throw optionError(
      `entra() takes cloud 'us-government' or 'china', with tokens of version 2; received ${shown(cloud)}` +
        (version === 1 ? ' with version 1: set requestedAccessTokenVersion to 2 in the manifest of the API' : ''),
    )
  }
  const host = HOSTS[cloud ?? 'global']
  return preset(
    'entra',
    {
      issuer: version === 1 ? `https://sts.windows.net/${of}/` : `https://${host}/${of}/v2.0`,
      ...(tenants !== undefined && {
        tenants,
        jwksUri: `https://${host}/common/discovery/${version === 1 ? '' : 'v2.0/'}keys`,
      }),
      audience,
      ...(tenants !== undefined && { requiredClaims: ['tid'] }),
      algorithms: ['RS256'],
      ...(clients && { clients }),
      scopeFrom: ['scp', 'roles'],
      scopeRequired: true,
      acrFrom: ['acrs', 'acr'], // authentication contexts of Conditional Access
      checkClaims: ({ azp, appid }) => (azp ?? appid) !== undefined, // and a scope or a role: see scopeRequired
      session({ oid, sub, tid, azp, appid, scp, idtyp }) {
        const app = azp ?? appid
        const isMachine = scp === undefined && sub === oid && oid !== undefined
        if (idtyp === 'app' || (idtyp === undefined && isMachine)) return client(app)
        if (typeof oid !== 'string') return undefined
        return user(tenants === undefined ? oid : `${String(tid)}:${oid}`, app)
      },
    },
    more,
  )
}

/** A tenant's id as tokens have it: databases and scripts may hold it in capitals. */
function lowerCase<Id>(id: Id): Id {
  return typeof id === 'string' ? (id.toLowerCase() as Id) : id
}
