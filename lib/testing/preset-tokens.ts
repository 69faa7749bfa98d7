import type { Audience } from '../bearer/claims/claim-options'
import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import { optionError } from '../http/help'
import { shown } from '../http/options'
import { presetOf } from '../providers/provider'
import { knownUrl } from '../http/url'

/** Whom a token is for: a user of an app, or the app itself. */
export interface Holder {
  readonly isMachine: boolean
  /** The user's id. */
  readonly who: string
  /** The app's id. */
  readonly app: string
  /** `'read write'`; undefined for none. */
  readonly scope: string | undefined
  readonly issuer: string
}

/** The claims by which a preset tells users from machines. */
type ClaimsOf = (holder: Holder) => Record<string, unknown>

const listOf = (scope: string | undefined): readonly string[] | undefined => scope?.split(' ')

/**
 * Claims of each provider's tokens, beside `iss`, `aud` and the times. The sources are those of the presets:
 * docs/providers.md#users-and-machines.
 */
const CLAIMS: { readonly [preset: string]: ClaimsOf } = {
  auth0: ({ isMachine, who, app, scope }) =>
    isMachine ? { sub: `${app}@clients`, azp: app, gty: 'client-credentials', scope } : { sub: who, azp: app, scope },

  cognito: ({ isMachine, who, app, scope }) => ({
    sub: isMachine ? app : who,
    client_id: app,
    token_use: 'access',
    version: 2,
    scope,
    ...(!isMachine && { username: who }),
  }),

  entra({ isMachine, who, app, scope, issuer }) {
    const isOld = issuer.startsWith('https://sts.windows.net/')
    const common = {
      [isOld ? 'appid' : 'azp']: app,
      tid: knownUrl(issuer).pathname.split('/')[1],
      ver: isOld ? '1.0' : '2.0',
    }
    if (!isMachine) return { ...common, oid: who, sub: `${who} in ${app}`, scp: scope ?? 'access_as_user' }
    const account = `account of ${app}`
    return { ...common, oid: account, sub: account, roles: listOf(scope) ?? ['access_as_app'] }
  },

  hydra: ({ isMachine, who, app, scope }) => ({
    sub: isMachine ? app : who,
    client_id: app,
    scp: listOf(scope) ?? [],
    ext: {},
  }),

  keycloak({ isMachine, who, app, scope }) {
    const common = { typ: 'Bearer', azp: app, acr: '1', scope }
    if (!isMachine) return { ...common, sub: who, sid: `session of ${who}`, preferred_username: who }
    const account = `service-account-${app.toLowerCase()}`
    const address = '192.0.2.1'
    return {
      ...common,
      sub: account,
      preferred_username: account,
      client_id: app,
      clientHost: address,
      clientAddress: address,
    }
  },

  logto: ({ isMachine, who, app, scope }) => ({ sub: isMachine ? app : who, client_id: app, scope }),

  okta: ({ isMachine, who, app, scope }) =>
    isMachine
      ? { sub: app, cid: app, scp: listOf(scope), ver: 1 }
      : { sub: `${who}@login.test`, uid: who, cid: app, scp: listOf(scope), ver: 1 },
}

/** Providers whose tokens have no `typ`, or another than `JWT`. */
const TYPES: { readonly [preset: string]: string | undefined } = {
  cognito: undefined,
  okta: undefined,
  logto: 'at+jwt',
}

/** The tokens of a preset. */
export interface PresetTokens {
  readonly issuer: string
  /** `aud`, in one or several names; undefined where the tokens have none. */
  readonly audience: string | readonly string[] | undefined
  /** `typ` of the header. */
  readonly typ: string | undefined
  /** An app that the preset accepts. */
  readonly app: string
  readonly claimsOf: ClaimsOf
}

/**
 * What the tokens of a preset look like.
 *
 * @param issuer the name in the tokens. Default: the preset's first, of its first tenant
 * @throws {TypeError} if the options are of no preset, or of one whose tokens are not known here
 */
export function tokensLike(like: IssuerOptions, issuer: string | undefined): PresetTokens {
  const name = presetOf(like)
  const claimsOf = name !== undefined && Object.hasOwn(CLAIMS, name) ? CLAIMS[name] : undefined
  if (name === undefined || !claimsOf) {
    throw optionError(
      `devIssuer({ like }) takes the options that a preset of express-tollgate/providers returns, one of ` +
        `${Object.keys(CLAIMS).join(', ')}; received ${name === undefined ? shown(like) : `those of ${name}`}. For others ` +
        'give issuer and audience, and the claims to token(who, { claims })',
    )
  }
  const [first = ''] = [like.issuer ?? []].flat()
  const tenant = typeof like.tenants === 'function' ? undefined : like.tenants?.[0]
  const named = issuer ?? (tenant === undefined ? first : first.replace(/\{[^{}]*\}/, () => tenant))
  if (named.includes('{')) {
    throw optionError(
      `devIssuer({ like }) needs issuer, the name of one tenant, since tenants is a function: ${shown(first)} with a ` +
        'tenant in place of the braces; received undefined',
    )
  }
  const names = namesOf(like.audience)
  const audience = names.length > 1 ? names : names[0]
  const typ = like.typ ?? (name in TYPES ? TYPES[name] : 'JWT')
  return { issuer: named, audience, typ, app: like.clients?.[0] ?? 'dev-app', claimsOf }
}

/** One name of each audience that a token must be for. */
function namesOf(audience: Audience | undefined): readonly string[] {
  if (audience === undefined || typeof audience === 'string') return audience === undefined ? [] : [audience]
  if ('all' in audience) return audience.all.flatMap(namesOf)
  return 'checkedBy' in audience ? [] : audience.slice(0, 1)
}
