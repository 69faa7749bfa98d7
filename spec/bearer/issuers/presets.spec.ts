import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import express from 'express'
import { sign } from 'jsonwebtoken'
import { type IssuerOptions, requireBearer, sessionOf } from '../../../lib'
import * as providers from '../../../lib/providers'
import { serve } from '../../support/serve'
import { says } from '../../support/addressed'

const { auth0, clerk, cognito, entra, firebase, githubActions, google } = providers
const { hydra, keycloak, kubernetes, logto, okta, supabase, zitadel } = providers

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const more = { key: publicKey }
const domain = 'acme.example'
const audience = 'api'

/** What a token of an issuer comes to: `user ada of app: scopes`, or why it is refused. */
async function outcome(issuer: IssuerOptions, claims: object): Promise<string> {
  let reason = ''
  const onDenied = (err: { readonly reason?: string | undefined }, _req: unknown, res: express.Response) => {
    reason = err.reason ?? 'refused'
    res.end()
  }
  const app = express().use(requireBearer({ ...issuer, onDenied }), (req, res) => {
    const session = sessionOf(req)
    const { kind, clientId, scope } = session
    const app = clientId === '' ? 'no app' : clientId
    res.send(`${kind} ${session.kind === 'user' ? session.userId : 'nobody'} of ${app}: ${scope.join()}`)
  })
  const { url } = await serve(app)
  const named = { iss: [issuer.issuer].flat()[0], exp: 4_102_444_800, ...claims }
  const token = sign(JSON.stringify(named), privateKey, { header: { alg: 'RS256', typ: 'at+jwt' }, algorithm: 'RS256' })
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  return reason || (await answer.text())
}

const aud = audience
const tid = 't-1'
const organized = { domain, audience, organization: 'org_acme' }
const entraOne = entra({ tenant: tid, audience, more })
const entraTwo = entra({ tenants: [tid, 't-2'], audience, more })
const ofTenant = { iss: `https://login.microsoftonline.com/${tid}/v2.0`, tid, aud, azp: 'app' }
const machine = clerk({ domain, machine: 'api', more })
const people = clerk({ domain, authorizedParties: ['https://app.test'], more })
const realm = 'https://sso.example/realms/acme/'
const bearer = { aud, typ: 'Bearer', sub: 'ada', azp: 'app' }
const roles = { realm_access: { roles: ['a'] }, resource_access: { api: { roles: ['b'] } }, scope: 'c', sid: 's' }
const fire = firebase({ project: 'acme', more })
const fireOf = firebase({ project: 'acme', tenant: 't-1', more })
const uid = (length: number) => ({ aud: 'acme', sub: 'u'.repeat(length) })
const web = { aud, sub: 'system:serviceaccount:tree:web' }

type Case = [title: string, issuer: IssuerOptions, claims: object, expected: string]
const CASES: readonly Case[] = [
  [
    'Clerk: a native app without azp',
    clerk({ domain, authorizedParties: ['https://app.test'], azpRequired: false, more }),
    { sub: 'user_1' },
    'user user_1 of no app: ',
  ],
  [
    'Clerk: another origin where azp may be absent',
    clerk({ domain, authorizedParties: ['https://app.test'], azpRequired: false, more }),
    { sub: 'user_1', azp: 'https://other.test' },
    'claim_check',
  ],
  ['Clerk: azp is needed by default', people, { sub: 'user_1' }, 'client'],
  [
    'Entra: a national cloud',
    entra({ tenant: tid, audience, cloud: 'us-government', more }),
    { ...ofTenant, iss: `https://login.microsoftonline.us/${tid}/v2.0`, oid: 'o', scp: 'a' },
    'user o of app: a',
  ],
  [
    'Entra: the global cloud where a national one is set',
    entra({ tenant: tid, audience, cloud: 'china', more }),
    { ...ofTenant, oid: 'o', scp: 'a' },
    'issuer',
  ],
  [
    'Supabase: a host of one’s own',
    supabase({ project: 'tree', url: 'https://auth.acme.example/auth/v1/', more }),
    { iss: 'https://auth.acme.example/auth/v1', aud: 'authenticated', role: 'authenticated', sub: 'ada' },
    'user ada of no app: ',
  ],
  [
    'GitHub: another branch',
    githubActions({ audience, repositories: ['acme/tree'], refs: ['refs/heads/main'], more }),
    { aud, sub: 's', repository: 'acme/tree', ref: 'refs/heads/x' },
    'claim_check',
  ],
  [
    'GitHub: all repositories of an owner',
    githubActions({ audience, repositories: ['acme/*'], refs: ['refs/tags/*'], more }),
    { aud, sub: 's', repository: 'acme/tree', ref: 'refs/tags/v1' },
    'client nobody of s: ',
  ],
  [
    'GitHub: a repository of another owner',
    githubActions({ audience, repositories: ['acme/*'], more }),
    { aud, sub: 's', repository: 'acme-2/tree' },
    'claim_check',
  ],
  [
    'a type of choice',
    okta({ domain, more: { ...more, typ: 'AT+JWT' } }),
    { iss: `https://${domain}/oauth2/default`, aud: 'api://default', cid: 'app', sub: 'ada', uid: 'u' },
    'user u of app: ',
  ],
  [
    'a type that is another',
    okta({ domain, more: { ...more, typ: 'application/okta-internal-at+jwt' } }),
    { aud: 'api://default', cid: 'app', sub: 'ada', uid: 'u' },
    'token_type',
  ],
  [
    'issuers by a function: every domain of an Auth0 tenant',
    {
      ...auth0({ domain, audience, more }),
      issuer: 'https://{domain}/',
      tenants: (name) => Promise.resolve(name === 'login.acme.example'),
    },
    { iss: 'https://login.acme.example/', aud, sub: 'auth0|1', azp: 'app' },
    'user auth0|1 of app: ',
  ],
  [
    'issuers by a function: a domain that it does not know',
    { ...auth0({ domain, audience, more }), issuer: 'https://{domain}/', tenants: () => false },
    { iss: 'https://login.acme.example/', aud, sub: 'auth0|1', azp: 'app' },
    'issuer',
  ],
  ['Auth0: a machine', auth0({ domain, audience, more }), { aud, sub: 'x@clients', azp: 'x' }, 'client nobody of x: '],
  [
    'Auth0: no app',
    auth0({ domain, audience, more }),
    { aud, sub: 'undefined@clients' },
    'user undefined@clients of no app: ',
  ],
  [
    'Auth0: an app that is no text',
    auth0({ domain, audience, more }),
    { aud, sub: 'ada', azp: 7 },
    'user ada of no app: ',
  ],
  [
    'Auth0: any organization',
    auth0({ domain, audience, more }),
    { aud, sub: 'ada', org_id: 'x' },
    'user ada of no app: ',
  ],
  [
    'Auth0: its organization',
    auth0({ ...organized, more }),
    { aud, sub: 'ada', org_id: 'org_acme' },
    'user ada of no app: ',
  ],
  ['Auth0: another organization', auth0({ ...organized, more }), { aud, sub: 'ada', org_id: 'x' }, 'claim_check'],
  ['Clerk: a machine', machine, { aud, sub: 'mch_1', scope: 'mch_2' }, 'client nobody of mch_1: '],
  ['Clerk: a user for a machine', machine, { aud, sub: 'user_1' }, 'subject'],
  ['Clerk: a machine without sub', machine, { aud }, 'subject'],
  ['Clerk: a session', people, { sub: 'user_1', azp: 'https://app.test' }, 'user user_1 of https://app.test: '],
  ['Clerk: a machine for a user', people, { sub: 'mch_1', azp: 'https://app.test' }, 'subject'],
  ['Clerk: a session without sub', people, { azp: 'https://app.test' }, 'subject'],
  ['Entra: a user', entraOne, { ...ofTenant, sub: 's', oid: 'o', scp: 'a b' }, 'user o of app: a,b'],
  ['Entra: a user whose sub is the oid', entraOne, { ...ofTenant, sub: 'o', oid: 'o', scp: 'a' }, 'user o of app: a'],
  ['Entra: a user with a role', entraOne, { ...ofTenant, sub: 's', oid: 'o', roles: ['r'] }, 'user o of app: r'],
  ['Entra: a user without scope', entraOne, { ...ofTenant, sub: 's', oid: 'o' }, 'scope'],
  ['Entra: a machine', entraOne, { ...ofTenant, sub: 'o', oid: 'o', roles: ['r'] }, 'client nobody of app: r'],
  [
    'Entra: a machine by idtyp',
    entraOne,
    { ...ofTenant, sub: 's', oid: 'o', idtyp: 'app', roles: ['r'] },
    'client nobody of app: r',
  ],
  ['Entra: nobody', entraOne, { ...ofTenant, roles: ['r'] }, 'subject'],
  [
    'Entra: a user of one of several tenants',
    entraTwo,
    { ...ofTenant, sub: 's', oid: 'o', scp: 'a' },
    'user t-1:o of app: a',
  ],
  ['Entra: nobody of one of several tenants', entraTwo, { ...ofTenant, sub: 's', scp: 'a' }, 'subject'],
  [
    'Entra: another app',
    entra({ tenant: tid, audience, clients: ['x'], more }),
    { ...ofTenant, oid: 'o', scp: 'a' },
    'client',
  ],
  [
    'Entra: an app listed',
    entra({ tenant: tid, audience, clients: ['app'], more }),
    { ...ofTenant, oid: 'o', scp: 'a' },
    'user o of app: a',
  ],
  ['Keycloak: scopes', keycloak({ realm, audience, more }), { ...bearer, ...roles }, 'user ada of app: c'],
  [
    'Keycloak: roles of the realm',
    keycloak({ realm, audience, roles: 'realm', more }),
    { ...bearer, ...roles },
    'user ada of app: c,a',
  ],
  [
    'Keycloak: roles of the client',
    keycloak({ realm, audience, roles: 'client', more }),
    { ...bearer, ...roles },
    'user ada of app: c,b',
  ],
  [
    'Keycloak: a login of earlier versions',
    keycloak({ realm, audience, more }),
    { ...bearer, session_state: 's' },
    'user ada of app: ',
  ],
  ['Keycloak: a service account', keycloak({ realm, audience, more }), bearer, 'client nobody of app: '],
  [
    'Keycloak: its client_id',
    keycloak({ realm, audience, more }),
    { ...bearer, client_id: 'x' },
    'client nobody of x: ',
  ],
  ...[
    [{ client_id: 'b', clientHost: 'h', preferred_username: 'service-account-b', sid: 's' }, 'client nobody of b: '],
    [{ clientId: 'B', preferred_username: 'service-account-b', session_state: 's' }, 'client nobody of B: '],
    [{ client_id: 'b', clientAddress: 'h', sid: 's' }, 'client nobody of b: '],
    [{ preferred_username: 'service-account-app' }, 'client nobody of app: '],
    [{ preferred_username: 'service-account-app', sid: 's' }, 'user ada of app: '], // a user may choose that name
    [{ preferred_username: 'service-account-b' }, 'user ada of app: '],
    [{ preferred_username: 'ada' }, 'user ada of app: '],
    [{ preferred_username: 'ada', client_id: 'app', sid: 's' }, 'user ada of app: '], // with a mapper for RFC 9068
    [{ client_id: 'app', sid: 's' }, 'user ada of app: '],
  ].map(([claims, expected]): Case => [
    `Keycloak: ${JSON.stringify(claims)}`,
    keycloak({ realm, audience, more }),
    { ...bearer, ...(claims as object) },
    expected as string,
  ]),
  [
    'Google: a person',
    google({ audience, users: true, more }),
    { iss: 'accounts.google.com', aud, sub: '1', azp: 'web' },
    'user 1 of web: ',
  ],
  ['Google: a machine for a person', google({ audience, users: true, more }), { aud, sub: '1', azp: '1' }, 'subject'],
  [
    'Entra: a user by idtyp',
    entraOne,
    { ...ofTenant, sub: 'o', oid: 'o', idtyp: 'user', roles: ['r'] },
    'user o of app: r',
  ],
  [
    'Entra: a user with scopes and roles',
    entraOne,
    { ...ofTenant, sub: 's', oid: 'o', scp: 'a', roles: ['r'] },
    'user o of app: a,r',
  ],
  [
    'Zitadel: roles',
    zitadel({ domain, project: 'api', roles: true, more }),
    {
      aud,
      sub: '1',
      jti: 'j',
      scope: 's',
      'urn:zitadel:iam:org:project:api:roles': { admin: { 1: 'x' } },
      'urn:zitadel:iam:org:project:roles': { other: { 1: 'x' } },
    },
    'user 1 of no app: s,admin',
  ],
  [
    'Auth0: permissions, and what the app asked for',
    auth0({ domain, audience, more }),
    { aud, sub: 'ada', permissions: ['p'], scope: 's' },
    'user ada of no app: p',
  ],
  [
    'Auth0: no permissions',
    auth0({ domain, audience, more }),
    { aud, sub: 'ada', permissions: [], scope: 's' },
    'user ada of no app: ',
  ],
  [
    'Auth0: another claim of scopes',
    auth0({ domain, audience, more: { ...more, scopeFrom: ['scope'] } }),
    { aud, sub: 'ada', permissions: ['p'], scope: 's' },
    'user ada of no app: s',
  ],
  ['Keycloak: its clientId', keycloak({ realm, audience, more }), { ...bearer, clientId: 'y' }, 'client nobody of y: '],
  ['Okta: no cid', okta({ domain, audience, more }), { aud, sub: 'ada', uid: '1' }, 'required_claim'],
  [
    'Okta: a user',
    okta({ domain, audience, more }),
    { aud, sub: 'ada', uid: '1', cid: 'app', scp: ['a'] },
    'user 1 of app: a',
  ],
  ['Okta: a machine', okta({ domain, audience, more }), { aud, sub: 'app', cid: 'app' }, 'client nobody of app: '],
  ['Okta: neither', okta({ domain, audience, more }), { aud, sub: 'ada', cid: 'app' }, 'subject'],
  ['Firebase: any tenant', fire, { ...uid(1), firebase: { tenant: 'x' }, at_hash: 'h' }, 'user u of no app: '],
  ['Firebase: its tenant', fireOf, { ...uid(1), firebase: { tenant: 't-1' } }, 'user u of no app: '],
  ['Firebase: another tenant', fireOf, { ...uid(1), firebase: { tenant: 'x' } }, 'claim_check'],
  ['Firebase: no tenant', fireOf, uid(1), 'claim_check'],
  ['Firebase: the longest id', fire, uid(128), `user ${'u'.repeat(128)} of no app: `],
  ['Firebase: too long an id', fire, uid(129), 'subject'],
  ['Firebase: nobody', fire, { aud: 'acme', firebase: { sign_in_provider: 'anonymous' } }, 'subject'],
  [
    'Kubernetes: a short name',
    kubernetes({ audience, serviceAccounts: ['tree:web'], more }),
    web,
    `client nobody of ${web.sub}: `,
  ],
  [
    'Kubernetes: a full name',
    kubernetes({ audience, serviceAccounts: [web.sub], more }),
    web,
    `client nobody of ${web.sub}: `,
  ],
  ['Kubernetes: another', kubernetes({ audience, serviceAccounts: ['tree:jobs'], more }), web, 'claim_check'],
  [
    'Logto: its organization',
    logto({ ...organized, more }),
    { aud, sub: 'ada', organization_id: 'org_acme' },
    'user ada of no app: ',
  ],
  [
    'Logto: another organization',
    logto({ ...organized, more }),
    { aud, sub: 'ada', organization_id: 'x' },
    'claim_check',
  ],
  ['Zitadel: an ID token', zitadel({ domain, project: 'api', more }), { aud, sub: '1' }, 'required_claim'],
  ['Zitadel: a person', zitadel({ domain, project: 'api', more }), { aud, sub: '1', jti: 'j' }, 'user 1 of no app: '],
  [
    'Zitadel: a service user',
    zitadel({ domain, project: 'api', serviceUsers: ['1'], more }),
    { aud, sub: '1', jti: 'j' },
    'client nobody of 1: ',
  ],
]

describe('presets of express-tollgate/providers', () => {
  for (const [title, issuer, claims, expected] of CASES) {
    it(title, async () => assert.equal(await outcome(issuer, claims), expected))
  }

  it('have checkClaims of the app count beside their own', async () => {
    const claims = { aud, sub: 'ada', org_id: 'org_acme' }
    for (const [answer, org_id, expected] of [
      [true, 'org_acme', 'user ada of no app: '],
      [false, 'org_acme', 'claim_check'],
      [true, 'x', 'claim_check'],
    ] as const) {
      const told: string[] = []
      const checkClaims: IssuerOptions['checkClaims'] = ({ sub }, { header }) => {
        told.push(`${String(sub)}, ${String(header.alg)}`)
        return answer
      }
      const issuer = auth0({ ...organized, more: { ...more, checkClaims } })
      assert.equal(await outcome(issuer, { ...claims, org_id }), expected)
      assert.deepEqual(told, org_id === 'x' ? [] : ['ada, RS256'])
    }
    const alone = supabase({ project: 'acme', more: { ...more, checkClaims: () => false } })
    assert.equal(await outcome(alone, { aud: 'authenticated', role: 'authenticated', sub: 'ada' }), 'claim_check')
  })

  it('set no option to undefined, so that an option of the app spread before them stays', () => {
    const all = [
      ...[
        auth0({ domain, audience }),
        keycloak({ realm, audience }),
        supabase({ project: 'acme' }),
        firebase({ project: 'acme' }),
      ],
      ...[
        entra({ tenant: tid, audience }),
        okta({ domain }),
        logto({ domain, audience }),
        clerk({ domain, machine: 'api' }),
      ],
    ]
    for (const options of all) assert.ok(!Object.values(options).includes(undefined), inspect(options))
    const { secret } = { secret: 's', ...supabase({ project: 'acme' }) }
    assert.equal(secret, 's')
  })

  it('have keys of the app in place of the provider’s', () => {
    const at = (own: object) => supabase({ project: 'acme', more: own }).jwksUri
    assert.equal(at({}), 'https://acme.supabase.co/auth/v1/.well-known/jwks.json')
    assert.equal(at({ maxTokenAgeSec: 60 }), 'https://acme.supabase.co/auth/v1/.well-known/jwks.json')
    assert.equal(at({ jwksUri: 'https://keys.test' }), 'https://keys.test')
    for (const own of [{ key: publicKey }, { keys: [publicKey] }, { secret: 's' }]) assert.equal(at(own), undefined)
  })

  it('ask an endpoint or a function of the app in place of keys, and check what it says as before', async () => {
    const asked = (said: object) => keycloak({ realm, audience, more: { verify: () => said } })
    const good = { iss: realm.slice(0, -1), aud: audience, sub: 'ada', azp: 'web', sid: 's', typ: 'Bearer' }
    const presets = {
      entra: entra({ tenant: tid, audience, more: { verify: () => undefined } }),
      logto: logto({ domain, audience, more: { verify: () => undefined } }),
      firebase: firebase({ project: 'acme', more: { verify: () => undefined } }),
    }
    for (const preset of Object.values(presets)) assert.ok(requireBearer(preset))
    assert.equal((await requireBearer(asked(good)).check('opaque')).userId, 'ada')
    await assert.rejects(requireBearer(asked({ ...good, typ: 'Refresh' })).check('opaque'), { reason: 'claim_check' })
  })

  it('entra() asks for a tenant’s id where it was given its domain, which no token has', () => {
    for (const of of [{ tenant: 'acme.onmicrosoft.com' }, { tenants: [tid, 'acme.example'] }]) {
      assert.throws(() => entra({ ...of, audience }), /entra\(\) needs the id of a tenant.*received 'acme\./)
    }
    for (const of of [{ tenant: 'common' }, { tenants: ['common'] }, { tenants: [tid, 'organizations'] }]) {
      assert.throws(() => entra({ ...of, audience }), /'(common|organizations)' stands for many: write tenants: \[/)
    }
  })

  it('entra() takes the ids of tenants in capitals, too, as some databases have them', () => {
    assert.equal(entra({ tenant: 'ABC-1', audience }).issuer, 'https://login.microsoftonline.com/abc-1/v2.0')
    assert.deepEqual(entra({ tenants: ['ABC-1', 'abc-2'], audience }).tenants, ['abc-1', 'abc-2'])
  })

  it('say nobody’s session where the claims name nobody', () => {
    const read = (issuer: IssuerOptions, claims: Record<string, unknown>) => issuer.session?.(claims, { header: {} })
    assert.equal(read(auth0({ domain, audience }), {}), undefined)
    assert.equal(read(keycloak({ realm, audience }), {}), undefined)
  })

  it('write the issuer as its tokens have it, whatever the domain is written like', () => {
    for (const written of ['acme.example', 'https://acme.example', 'acme.example/', 'https://acme.example/']) {
      assert.equal(auth0({ domain: written, audience }).issuer, 'https://acme.example/')
    }
    assert.equal(clerk({ domain: 'acme.example/clerk/', machine: 'm' }).issuer, 'https://acme.example/clerk')
    assert.equal(keycloak({ realm, audience }).issuer, 'https://sso.example/realms/acme')
    const { issuer, audience: own } = okta({ domain })
    assert.deepEqual([issuer, own], ['https://acme.example/oauth2/default', 'api://default'])
    const several = entra({ tenants: [tid], audience, version: 1 })
    assert.equal(several.issuer, 'https://sts.windows.net/{tid}/')
    assert.equal(several.jwksUri, 'https://login.microsoftonline.com/common/discovery/keys')
  })

  const texts: readonly [name: string, option: string, make: (value: never) => unknown][] = [
    ['auth0', 'domain', (value) => auth0({ domain: value, audience })],
    ['clerk', 'domain', (value) => clerk({ domain: value, machine: 'm' })],
    ['clerk', 'machine', (value) => clerk({ domain, machine: value ?? '' })],
    ['cognito', 'userPoolId', (value) => cognito({ userPoolId: value, clients: ['c'] })],
    ['entra', "tenant (or tenants: ['<tenant id>', …])", (value) => entra({ tenant: value, audience })],
    ['firebase', 'project', (value) => firebase({ project: value })],
    ['hydra', 'issuer', (value) => hydra({ issuer: value, audience })],
    ['keycloak', 'realm', (value) => keycloak({ realm: value, audience })],
    ['logto', 'domain', (value) => logto({ domain: value, audience })],
    ['okta', 'domain', (value) => okta({ domain: value })],
    ['supabase', 'project', (value) => supabase({ project: value })],
    ['zitadel', 'domain', (value) => zitadel({ domain: value, project: 'p' })],
  ]
  const lists: typeof texts = [
    ['clerk', 'authorizedParties', (value) => clerk({ domain, authorizedParties: value })],
    ['cognito', 'clients', (value) => cognito({ userPoolId: 'r_1', clients: value })],
    ['githubActions', 'subjects or repositories', (value) => githubActions({ audience, subjects: value })],
    ['google', 'serviceAccounts, or users: true', (value) => google({ audience, serviceAccounts: value })],
    ['kubernetes', 'serviceAccounts', (value) => kubernetes({ audience, serviceAccounts: value, more })],
  ]
  for (const [name, option, make] of [...texts, ...lists]) {
    it(`${name}() names ${option} where it is none`, () => {
      const isText = texts.some((one) => one[2] === make)
      const wrong = isText ? [undefined, '', 7, ['a']] : [undefined, [], 'a', '', [''], [7], ['a', ''], ['a', 7]]
      for (const value of wrong) {
        const received = option === 'machine' && value === undefined ? '' : value
        const needed = `${name}() needs ${option}, ${isText ? 'a text' : 'a list of texts'}; received ${inspect(received)}`
        assert.throws(() => make(value as never), says(needed))
      }
    })
  }
})
