// Every optional option takes undefined, in types and at run time.
import assert from 'node:assert/strict'
import { type KeyObject, generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import * as main from '../lib'
import * as client from '../lib/client'
import * as dashboard from '../lib/dashboard'
import * as oauth from '../lib/oauth'
import * as providers from '../lib/providers'
import * as testing from '../lib/testing'

/** Values that are no options: what they are made of is not the caller's. */
type Leaf =
  | KeyObject
  | Uint8Array
  | Date
  | ((...args: never[]) => unknown)
  | main.RedisClient
  | main.Clock
  | main.ThrottleStore
  | oauth.UserDirectory

/** Names of options that may be left out but refuse `undefined`, with those of the options that they hold. */
type Refusing<Options, Depth extends 0[] = []> = Depth['length'] extends 4
  ? never
  : Options extends Leaf | string
    ? never
    : Options extends readonly (infer One)[]
      ? Refusing<One, [...Depth, 0]>
      : Options extends object
        ? { [Name in keyof Options & string]-?: OfOption<Options, Name, Depth> }[keyof Options & string]
        : never

type OfOption<Options, Name extends keyof Options & string, Depth extends 0[]> =
  | (object extends Pick<Options, Name>
      ? { [_ in Name]: undefined } extends Pick<Options, Name>
        ? never
        : Name
      : never)
  | `${Name}.${Refusing<Exclude<Options[Name], undefined>, [...Depth, 0]>}`

type OfFactory<Factory> = Factory extends (...args: infer Args) => unknown ? Refusing<Required<Args>[number]> : never
type OfAll<Module> = { [Name in keyof Module & string]: `${Name}: ${OfFactory<Module[Name]>}` }[keyof Module & string]

type Modules = [
  Pick<typeof main, 'requireBearer' | 'allowUnauthenticated' | 'requireStepUp' | 'protectedResource'>,
  Pick<typeof main, 'redisRevocations' | 'redisProofs' | 'throttle' | 'redisStore' | 'processingTime'>,
  Pick<typeof main, 'serviceUnavailable'>,
  Pick<
    typeof oauth,
    'authorizationServer' | 'clientDirectory' | 'userDirectory' | 'redisOAuthStore' | 'memoryOAuthStore'
  >,
  Pick<typeof testing, 'devIssuer'>,
  typeof client,
  typeof dashboard,
  typeof providers,
]
type Factories = { [Index in keyof Modules]: OfAll<Modules[Index]> }[number]

/** Compiles only while no option refuses `undefined`; else the error names those that do. */
const refusing: [Factories] extends [never] ? [] : Factories[] = []

const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const unset = process.env.TOLLGATE_UNSET
const audience = 'api'
const domain = 'acme.example'
const more = { key: publicKey, jwksUri: unset, keys: undefined, typ: undefined, clockToleranceSec: undefined }

describe('options that are undefined', () => {
  it('count as left out, in types', () => assert.deepEqual(refusing, []))

  const given: Readonly<Record<string, main.IssuerOptions>> = {
    auth0: providers.auth0({ domain, audience, organization: unset, more }),
    clerk: providers.clerk({ domain, authorizedParties: ['x'], machine: undefined, impersonation: undefined, more }),
    cognito: providers.cognito({ userPoolId: 'eu_1', clients: ['x'], more }),
    entra: providers.entra({ tenant: 't', tenants: undefined, audience, version: undefined, clients: undefined, more }),
    firebase: providers.firebase({ project: 'p', tenant: unset, more }),
    githubActions: providers.githubActions({ audience, subjects: ['x'], more }),
    google: providers.google({ audience, serviceAccounts: ['x'], users: undefined, more }),
    hydra: providers.hydra({ issuer: 'https://x.test', audience, more }),
    keycloak: providers.keycloak({ realm: 'https://x.test/realms/a', audience, roles: undefined, more }),
    kubernetes: providers.kubernetes({ issuer: unset, audience, serviceAccounts: ['a:b'], more }),
    logto: providers.logto({ domain, audience, organization: unset, more }),
    okta: providers.okta({ domain, server: unset, audience: unset, more }),
    supabase: providers.supabase({ project: 'p', secret: unset, more }),
    zitadel: providers.zitadel({ domain, project: 'p', serviceUsers: undefined, more }),
  }
  for (const [name, options] of Object.entries(given)) {
    it(`count as left out in ${name}()`, () => {
      const unfilled = Object.fromEntries(Object.entries({ secret: unset, session: undefined, ...options }))
      const [key] = main
        .requireBearer({ ...unfilled, tokenFrom: undefined, realm: unset, cacheBytes: undefined })
        .keys()
      assert.equal(key?.issuer, [options.issuer].flat()[0])
    })
  }

  it('count as left out in the other factories', () => {
    main.throttle({ limitMs: undefined, name: unset, store: undefined, routes: { '/a': { limitMs: 1, name: unset } } })
    main.serviceUnavailable({ log: undefined, errorFormat: { json: unset, default: undefined } })
    main.protectedResource({ resource: 'https://api.test', scopes: undefined, name: unset })
    main.allowUnauthenticated({ paths: undefined, methods: undefined })
    const none = { lifetimeSec: undefined, idleSec: undefined, graceSec: undefined }
    oauth.authorizationServer({
      issuer: 'https://as.test',
      clients: oauth.clientDirectory([]),
      users: oauth.userDirectory([], { cost: undefined }),
      refreshTokens: { lifetimeSec: none.lifetimeSec, graceSec: none.graceSec },
      websiteSession: { lifetimeSec: none.lifetimeSec, idleSec: none.idleSec },
      loginLimits: { perAccount: undefined },
      pages: { texts: { login: unset } },
    })
  })
})
