import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { type AuthorizationServerOptions, type ClientRegistration, clientDirectory } from '../../lib/oauth'
import { AS_WEB, CLIENTS, type Form, json, post, startServer, askToken } from './support'
import { UserAgent, codeForm, request } from './user-agent'

const WEB = CLIENTS[0] as ClientRegistration
const OWN = 'unauthenticated_session givenName qualifies_for_affiliate_account user_id country language'.split(' ')

async function started(options: Partial<AuthorizationServerOptions> = {}, web: Partial<ClientRegistration> = {}) {
  const running = await startServer({ dialect: 'standard', clients: clientDirectory([{ ...WEB, ...web }]), ...options })
  const { issuer } = running
  const token = async (form: Form) => askToken(issuer, form)
  const signIn = async (more: Form) => token(await codeForm(issuer, more))
  const refused = async (more: Form) =>
    (await new UserAgent(issuer).authorize(issuer, request(more))).params.get('error')
  const metadata = async () => json(await fetch(`${issuer}/.well-known/openid-configuration`))
  return { ...running, token, signIn, refused, metadata }
}

describe('offline_access', () => {
  it('OIDC Core §11: is listed, granted with a refresh token, and may stand in its refresh', async () => {
    const { token, signIn, metadata } = await started()
    const scope = 'openid offline_access'
    const tokens = await signIn({ scope })
    assert.equal(tokens.scope, scope)
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    assert.equal((await token({ ...form, scope })).scope, scope)
    assert.ok(((await metadata()).scopes_supported as string[]).includes('offline_access'))
  })

  it('is left out for an app without refresh tokens, and of the scopes that the app is for', async () => {
    const { signIn, refused } = await started({}, { grants: ['authorization_code'] })
    assert.equal((await signIn({ scope: 'openid offline_access' })).scope, 'openid')
    assert.equal(await refused({ scope: 'offline_access' }), 'invalid_scope')
    const few = await started({}, { identityScopes: ['openid'] })
    assert.equal((await few.signIn({ scope: 'openid offline_access email' })).scope, 'openid')
    const none = await started({ scopes: { offline_access: false } })
    assert.equal((await none.signIn({ scope: 'openid offline_access' })).scope, 'openid')
  })
})

describe('scope', () => {
  it('RFC 8414 §2: discovery lists those of the API as well, each once', async () => {
    const { metadata } = await started({}, { scopes: ['notes.read', 'openid', 'notes.read'] })
    const listed = (await metadata()).scopes_supported as string[]
    assert.deepEqual(listed, ['openid', 'profile', 'email', 'address', 'phone', 'offline_access', 'notes.read'])
    const findClient = () => Promise.resolve(undefined)
    const own = await started({ clients: { findClient, scopes: ['a', 'b'] } })
    assert.deepEqual(((await own.metadata()).scopes_supported as string[]).slice(-2), ['a', 'b'])
    assert.ok(
      !(await (await started({ clients: { findClient } })).metadata()).scopes_supported?.toString().includes('tree'),
    )
  })

  it('RFC 6749 §3.3: a request that ends with none is invalid_scope, or takes the defaultScope of its app', async () => {
    const plain = await started()
    for (const scope of ['', ' ', 'notes.delete', 'a b c'])
      assert.equal(await plain.refused({ scope }), 'invalid_scope', scope)
    for (const form of [{}, { scope: 'notes.delete' }, { scope: 'openid' }] as Form[]) {
      assert.equal((await plain.token({ grant_type: 'client_credentials', ...form })).error, 'invalid_scope')
    }
    const pushed = await json(await post(`${plain.issuer}/par`, request({ scope: 'x' }), AS_WEB))
    assert.equal(pushed.error, 'invalid_scope')

    const own = await started({}, { defaultScope: ['openid', 'tree.read'] })
    assert.equal((await own.signIn({ scope: '' })).scope, 'openid tree.read')
    assert.equal((await own.signIn({ scope: 'tree.write' })).scope, 'tree.write')
    assert.equal(await own.refused({ scope: 'notes.delete' }), 'invalid_scope', 'what is asked for is no default')
    assert.equal((await own.token({ grant_type: 'client_credentials' })).scope, 'tree.read')
    const none = await started({}, { scopes: [] })
    assert.equal(
      (await none.token({ grant_type: 'client_credentials' })).token_type,
      'Bearer',
      'an app without scopes needs none',
    )
  })
})

describe('claims in access tokens', () => {
  const ada = (claims: object) => ({
    authenticate: () => Promise.resolve({ id: 'KWC6-X7D', username: 'ada', claims: claims as never, tenant: 't-7' }),
    findUser: () => Promise.resolve({ id: 'KWC6-X7D', username: 'ada', claims: claims as never, tenant: 't-7' }),
  })

  it('RFC 9068 §2.2.3.1: roles, groups and entitlements of granted scopes stand there', async () => {
    const users = ada({ roles: ['editor'], groups: null, secret: 'x', entitlements: ['e'] })
    const scopes = { roles: ['roles', 'groups', 'secret'], other: ['entitlements'] }
    const { signIn, verifyOf } = await withVerify({ users, scopes })
    const { access_token: token } = await signIn({ scope: 'openid roles' })
    const claims = decodeJwt(token)
    assert.deepEqual(
      [claims.roles, claims.groups, claims.secret, claims.entitlements],
      [['editor'], undefined, undefined, undefined],
    )
    assert.deepEqual((await verifyOf(token))?.roles, ['editor'])
    assert.equal(decodeJwt((await signIn({ scope: 'openid' })).access_token).roles, undefined)
  })

  it('accessTokenClaims() adds others, for users and apps, in both formats, also after a refresh', async () => {
    for (const format of ['jwt', 'opaque'] as const) {
      const seen: unknown[] = []
      const accessTokenClaims: AuthorizationServerOptions['accessTokenClaims'] = async (user, client, scope) => {
        seen.push([user?.id, client.clientId, scope.join(' ')])
        await Promise.resolve()
        return {
          tenant: (user as { tenant?: string } | undefined)?.tenant ?? null,
          roles: ['added'],
          deep: { a: null, b: 1 },
        }
      }
      const { signIn, token, verifyOf } = await withVerify({
        users: ada({}),
        accessTokenClaims,
        accessTokens: { format },
      })
      const tokens = await signIn({ scope: 'openid tree.read' })
      const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      for (const issued of [tokens, await token({ ...form, scope: 'tree.read' })]) {
        const claims = await verifyOf(issued.access_token)
        assert.deepEqual([claims?.tenant, claims?.roles, claims?.deep], ['t-7', ['added'], { b: 1 }])
      }
      const job = await verifyOf((await token({ grant_type: 'client_credentials', scope: 'tree.read' })).access_token)
      assert.deepEqual([job !== undefined, 'tenant' in (job ?? {})], [true, false])
      assert.deepEqual(seen, [
        ['KWC6-X7D', 'web', 'openid tree.read'],
        ['KWC6-X7D', 'web', 'tree.read'],
        [undefined, 'web', 'tree.read'],
      ])
    }
  })

  const circular: Record<string, unknown> = {}
  circular.itself = circular

  it('that the server sets itself, no object, or a failure is an error that says so; the code stays good', async () => {
    for (const [claims, reason] of [
      [() => ({ exp: 9_999_999_999 }), /accessTokenClaims must return an object of JSON values without exp/],
      [() => ({ sub: 'root' }), /without sub/],
      [() => ({ cnf: {} }), /without cnf/],
      [() => ({ session_kind: 'client' }), /without session_kind/],
      [() => ['roles'], /accessTokenClaims must return an object/],
      [() => 'roles', /accessTokenClaims must return an object/],
      [() => circular, /accessTokenClaims must return an object of JSON values .* received an object with itself/],
      [() => Promise.reject(new Error('database')), /database/],
    ] as [() => unknown, RegExp][]) {
      const failed: unknown[] = []
      let isBroken = true
      const accessTokenClaims = () => (isBroken ? claims() : undefined)
      const { issuer, token } = await started({ accessTokenClaims, onError: (err) => failed.push(err) })
      const form = await codeForm(issuer)
      assert.equal((await token(form)).error, 'temporarily_unavailable')
      assert.match(String(failed[0]), reason)
      isBroken = false
      assert.equal(typeof (await token(form)).access_token, 'string')
    }
  })

  async function withVerify(options: Partial<AuthorizationServerOptions>) {
    const running = await started({ ...options })
    return { ...running, verifyOf: (token: unknown) => running.server.verify(token as string) }
  }
})

describe("the service's own grant, scopes and claims", () => {
  const said = async ({ issuer, metadata }: Awaited<ReturnType<typeof started>>) => {
    const page = await new UserAgent(issuer).authorize(issuer, request())
    return `${JSON.stringify(await metadata())} ${page.text}`
  }

  it('are in the dialect familysearch, and in standard only if they are turned on', async () => {
    const standard = await said(await started())
    for (const word of OWN) assert.ok(!standard.includes(word), word)
    for (const options of [{ dialect: 'familysearch' }, { serviceScopes: true }] as const) {
      const own = await said(await started(options))
      for (const word of OWN) assert.ok(own.includes(word), word)
    }
    const without = await said(await started({ dialect: 'familysearch', serviceScopes: false }))
    for (const word of OWN) assert.ok(!without.includes(word), word)
  })

  it('an app without grants has the code grant alone in standard, and what it registers always', async () => {
    const session = { grant_type: 'unauthenticated_session', ip_address: '192.0.2.1' }
    const web = { ...WEB, grants: undefined }
    const clients = clientDirectory([web, { ...web, clientId: 'guest', grants: ['unauthenticated_session'] }])
    const standard = await started({ clients })
    assert.equal((await standard.token(session)).error, 'unauthorized_client')
    assert.equal(typeof (await standard.signIn({})).access_token, 'string')
    const guest = { ...session, client_id: 'guest', client_secret: 'secret' }
    assert.equal((await post(`${standard.issuer}/token`, guest)).status, 200)
    for (const options of [{ dialect: 'familysearch' }, { serviceScopes: true }] as const) {
      assert.equal(typeof (await (await started({ clients, ...options })).token(session)).access_token, 'string')
    }
  })

  it('gives given_name for the givenName of a directory in either dialect', async () => {
    const { signIn } = await started()
    const claims = decodeJwt((await signIn({ scope: 'openid profile' })).id_token)
    assert.deepEqual([claims.given_name, claims.givenName, claims.language], ['Ada', undefined, undefined])
    const both = decodeJwt(
      (await (await started({ serviceScopes: true })).signIn({ scope: 'openid profile' })).id_token,
    )
    assert.deepEqual([both.given_name, both.givenName, both.language], ['Ada', 'Ada', 'en'])
  })
})
