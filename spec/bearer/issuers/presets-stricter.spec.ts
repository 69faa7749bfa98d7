import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sign } from 'jsonwebtoken'
import { type DenialError, type IssuerOptions, requireBearer } from '../../../lib'
import * as providers from '../../../lib/providers'
import { generateKeys } from '../../support/generate-keys'

const { publicKey, privateKey } = generateKeys('rsa')
const audience = 'api'
const realm = 'https://sso.test/realms/a'
const [tid, other] = ['72f988bf-86f1-41af-91ab-2d7cd011db47', '9188040d-6c67-4c5b-b112-36a304b66dad']
const entra = (id: string) => ({ iss: `https://login.microsoftonline.com/${id}/v2.0`, tid: id, oid: 'o', azp: 'web' })

type More = providers.ProviderOptions
type Claims = Record<string, unknown>

/** Each preset: a token that it lets in, and changes to it that it must never let in. */
const PRESETS: Readonly<Record<string, [make: (more: More) => IssuerOptions, good: Claims, bad: Claims[]]>> = {
  auth0: [
    (more) => providers.auth0({ domain: 'x.test', audience, organization: 'org', more }),
    { iss: 'https://x.test/', sub: 'ada', azp: 'web', org_id: 'org', scope: 'read' },
    [{ org_id: 'other' }, { org_id: undefined }, { sub: undefined }],
  ],
  clerk: [
    (more) => providers.clerk({ domain: 'x.test', authorizedParties: ['web'], more }),
    { iss: 'https://x.test', sub: 'user_1', azp: 'web' },
    [{ azp: 'evil' }, { azp: undefined }, { sts: 'pending' }, { act: { sub: 'eve' } }, { sub: 'mch_1' }],
  ],
  'clerk for machines': [
    (more) => providers.clerk({ domain: 'x.test', machine: audience, more }),
    { iss: 'https://x.test', sub: 'mch_1' },
    [{ sub: 'user_1' }, { sub: undefined }],
  ],
  cognito: [
    (more) => providers.cognito({ userPoolId: 'eu-west-1_x', clients: ['web'], more }),
    {
      iss: 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_x',
      sub: 'ada',
      client_id: 'web',
      token_use: 'access',
    },
    [{ token_use: 'id' }, { token_use: undefined }, { client_id: 'evil' }, { sub: undefined }, { jti: 7 }],
  ],
  entra: [
    (more) => providers.entra({ tenant: tid, audience, clients: ['web'], more }),
    { ...entra(tid), sub: 's', scp: 'read' },
    [{ scp: undefined }, { azp: undefined }, { azp: 'evil' }, { oid: undefined }],
  ],
  'entra of several tenants': [
    (more) => providers.entra({ tenants: [tid], audience, more }),
    { ...entra(tid), sub: 's', scp: 'read' },
    [entra(other), { tid: other }, { tid: undefined }, { scp: undefined, groups: ['g'] }],
  ],
  firebase: [
    (more) => providers.firebase({ project: audience, tenant: 't', more }),
    { iss: `https://securetoken.google.com/${audience}`, sub: 'ada', firebase: { tenant: 't' } },
    [{ firebase: {} }, { firebase: { tenant: 't', sign_in_provider: 'anonymous' } }, { sub: 'x'.repeat(129) }],
  ],
  githubActions: [
    (more) => providers.githubActions({ audience, subjects: ['repo:a/b'], more }),
    { iss: 'https://token.actions.githubusercontent.com', sub: 'repo:a/b', environment: 'prod' },
    [{ sub: 'repo:evil/b' }, { sub: undefined }],
  ],
  google: [
    (more) => providers.google({ audience, serviceAccounts: ['a@x.test'], more }),
    { iss: 'https://accounts.google.com', sub: '1', azp: '1', email: 'a@x.test', email_verified: true },
    [{ email: 'evil@x.test' }, { email_verified: false }, { email: undefined }],
  ],
  'google for users': [
    (more) => providers.google({ audience, users: true, more }),
    { iss: 'https://accounts.google.com', sub: '1', azp: 'web' },
    [{ azp: '1' }],
  ],
  hydra: [
    (more) => providers.hydra({ issuer: 'https://x.test', audience, more }),
    { iss: 'https://x.test', sub: 'ada', client_id: 'web', scp: ['read'] },
    [{ sub: undefined }, { at_hash: 'x' }],
  ],
  keycloak: [
    (more) => providers.keycloak({ realm, audience, more }),
    { iss: realm, sub: 'ada', azp: 'web', sid: 's', typ: 'Bearer' },
    [{ typ: 'ID' }, { typ: 'Refresh' }, { typ: undefined }, { sub: undefined }],
  ],
  kubernetes: [
    (more) => providers.kubernetes({ audience, serviceAccounts: ['tree:web'], more }),
    { iss: 'https://kubernetes.default.svc.cluster.local', sub: 'system:serviceaccount:tree:web' },
    [{ sub: 'system:serviceaccount:evil:web' }, { sub: undefined }],
  ],
  logto: [
    (more) => providers.logto({ domain: 'x.test', audience, organization: 'org', more }),
    { iss: 'https://x.test/oidc', sub: 'ada', client_id: 'web', organization_id: 'org' },
    [{ organization_id: 'other' }, { organization_id: undefined }],
  ],
  okta: [
    (more) => providers.okta({ domain: 'x.test', audience, more }),
    { iss: 'https://x.test/oauth2/default', sub: 'ada@x', uid: 'ada', cid: 'web', scp: ['read'] },
    [{ cid: undefined }, { uid: undefined }],
  ],
  supabase: [
    (more) => providers.supabase({ project: 'p', more }),
    { iss: 'https://p.supabase.co/auth/v1', aud: 'authenticated', sub: 'ada', role: 'authenticated' },
    [{ role: 'anon' }, { role: undefined }, { is_anonymous: true }],
  ],
  zitadel: [
    (more) => providers.zitadel({ domain: 'x.test', project: audience, more }),
    { iss: 'https://x.test', sub: 'ada', azp: 'web', jti: 'j' },
    [{ jti: undefined }, { jti: undefined, email: 'ada@x.test' }],
  ],
}

/** What an app may add to any preset. Everything that a bad token has is asked for, so that only the preset refuses it. */
const ADDED: Readonly<Record<string, (claims: Claims) => More>> = {
  'required names': (claims) => ({ requiredClaims: Object.keys(claims) }),
  'required values': ({ iss }) => ({ requiredClaims: { iss: String(iss) } }),
  'required names and values': ({ iss }) => ({ requiredClaims: ['iss', { iss: String(iss) }] }),
  checkClaims: () => ({ checkClaims: () => true }),
  'a session': ({ sub, azp }) => ({
    session: () => ({ kind: 'user', userId: (sub ?? 'x') as string, clientId: (azp ?? 'x') as string }),
  }),
  audience: ({ aud }) => ({ audience: aud as string }),
  'other audiences': ({ aud }) => ({ audience: ['x', aud as string] }),
  'no audience': () => ({ audience: { checkedBy: 'issuer' } }),
  clients: ({ azp = 'evil', client_id = azp, cid = client_id }) => ({ clients: [cid as string, 'evil'] }),
  algorithms: () => ({ algorithms: ['RS256', 'ES256'] }),
  typ: () => ({ typ: 'at+jwt' }),
  'an age': () => ({ maxTokenAgeSec: 31_536_000 }),
  scopes: () => ({ scopeFrom: ['scp', 'roles', 'groups', 'iss'] }),
  'a scope': () => ({ scopeRequired: true, scopeFrom: ['iss'] }),
  times: () => ({ timesAsText: true, clockToleranceSec: 300 }),
  'what is undefined': () => ({
    requiredClaims: undefined,
    checkClaims: undefined,
    session: undefined,
    typ: undefined,
    idTokens: undefined,
  }),
}

const now = Math.floor(Date.now() / 1_000)
const tokens = new Map<string, string>()
function tokenOf(claims: string, typ: string): string {
  const made =
    tokens.get(typ + claims) ?? sign(claims, privateKey, { algorithm: 'RS256', header: { alg: 'RS256', typ } })
  tokens.set(typ + claims, made)
  return made
}

/** What the check says to a token, or `throws` if the options contradict each other. */
async function outcome(make: () => IssuerOptions, claims: Claims, typ = make().typ ?? 'JWT'): Promise<string> {
  const token = tokenOf(JSON.stringify({ aud: audience, iat: now, exp: now + 600, ...claims }), typ)
  let options: IssuerOptions
  try {
    options = make()
  } catch {
    return 'throws'
  }
  const { check } = requireBearer({ ...options, warnings: false })
  return check(token).then(
    ({ kind }) => `let in: ${kind}`,
    (err: DenialError) => String(err.reason),
  )
}

describe('what an app adds to a preset makes it stricter', () => {
  const key = { key: publicKey }
  for (const [name, [make, good, changes]] of Object.entries(PRESETS)) {
    const { typ = 'JWT', idTokens, audience: whom } = make(key)
    const hasAudience = typeof whom === 'string'
    it(name, async () => {
      assert.match(await outcome(() => make(key), good), /^let in/)
      for (const change of [...changes, ...(hasAudience ? [{ aud: 'other' }] : []), { events: {} }]) {
        const claims = { ...good, ...change }
        assert.doesNotMatch(await outcome(() => make(key), claims), /^let in/, JSON.stringify(change))
        for (const [what, add] of Object.entries(ADDED)) {
          const got = await outcome(() => make({ ...key, ...add({ aud: audience, ...claims }) }), claims, typ)
          assert.doesNotMatch(got, /^let in/, `${what} with ${JSON.stringify(change)}`)
        }
      }
      for (const [what, add] of Object.entries(ADDED)) {
        if ((what === 'typ' && idTokens) || (what === 'clients' && !('azp' in good || 'client_id' in good))) continue
        const more = { ...key, ...add({ aud: audience, ...good }) }
        assert.match(await outcome(() => make(more), good, what === 'typ' ? 'at+jwt' : typ), /^(let in|throws)/, what)
      }
    })
  }

  it('counts beside the preset’s own', async () => {
    const [make, good] = PRESETS.githubActions as (typeof PRESETS)[string]
    const added = (more: More, claims: Claims) => outcome(() => make({ ...key, ...more }), { ...good, ...claims })
    assert.equal(await added({ requiredClaims: { environment: 'prod' } }, { environment: 'test' }), 'claim_check')
    assert.equal(await added({ audience: ['second', 'third'] }, {}), 'audience')
    assert.equal(await added({ audience: ['second', 'third'] }, { aud: [audience, 'third'] }), 'let in: client')
    const [ofTenants, claims] = PRESETS['entra of several tenants'] as (typeof PRESETS)[string]
    for (const [tenants, expected] of [
      [[other], 'throws'],
      [() => false, 'issuer'],
      [() => Promise.resolve(false), 'issuer'],
      [() => true, 'let in: user'],
    ] as const) {
      assert.equal(await outcome(() => ofTenants({ ...key, tenants: tenants }), claims, 'JWT'), expected)
    }
  })

  it('throws where it would take a check away', () => {
    for (const [name, [make]] of Object.entries(PRESETS)) {
      if (make({}).idTokens) continue
      assert.throws(
        () => make({ idTokens: true }),
        /more: \{ idTokens: true \} would remove a check of the preset/,
        name,
      )
    }
    assert.throws(() => PRESETS.entra?.[0]({ scopeRequired: false }), /more: \{ scopeRequired: false \} would remove/)
    assert.throws(
      () => PRESETS.entra?.[0]({ algorithms: ['ES256'] }),
      /more: \{ algorithms \} has none of the preset's/,
    )
  })
})
