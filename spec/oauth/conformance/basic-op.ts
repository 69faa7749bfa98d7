// OpenID Connect's Basic OP profile, a spec for each module of its certification plan and named after it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { manualClock } from '../../../lib/testing'
import { clientDirectory } from '../../../lib/oauth'
import { type Form, VERIFIER, CHALLENGE, json, post, serverOfSuite } from '../support'
import { CLIENTS, RelyingParty, USERS, tokenError } from './relying-party'
import { USER_CLAIMS } from '../user-claims'
import { assertIs, above } from '../../support/until'

/** The claims of each module's scope (OIDC Core §5.4). */
const SCOPES = {
  'oidcc-scope-profile': [
    ...['name', 'family_name', 'given_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture'],
    ...['website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
  ],
  'oidcc-scope-email': ['email', 'email_verified'],
  'oidcc-scope-address': ['address'],
  'oidcc-scope-phone': ['phone_number', 'phone_number_verified'],
}

describe('oidcc-basic-certification-test-plan', () => {
  const clock = manualClock()
  const running = serverOfSuite({ clock, users: USERS, clients: clientDirectory(CLIENTS) })

  const party = (client = 0) => new RelyingParty(running, clock, CLIENTS[client])
  /** A request with these parameters ends with tokens. */
  const succeeds = (more: Form) => async () => void (await party().signIn(more))

  it('oidcc-server', async () => {
    for (const app of [party(0), party(1)]) {
      const tokens = await app.signIn()
      assert.equal((await app.userinfo(tokens.access_token)).sub, tokens.claims.sub)
    }
  })

  it('oidcc-response-type-missing', async () => {
    const app = party()
    const request = app.request({ response_type: '' })
    const params = app.response(await app.agent.authorize(running.issuer, request), request)
    assert.deepEqual([params.get('error'), params.get('code')], ['invalid_request', null])
  })

  for (const [module, init] of [
    ['oidcc-userinfo-get', () => ({})],
    [
      'oidcc-userinfo-post-header',
      (token: string) => ({ method: 'POST', headers: { authorization: `Bearer ${token}` } }),
    ],
    [
      'oidcc-userinfo-post-body',
      (token: string) => ({ method: 'POST', headers: {}, body: new URLSearchParams({ access_token: token }) }),
    ],
  ] as const) {
    it(module, async () => {
      const app = party()
      const { access_token: token, claims } = await app.signIn()
      assert.equal((await app.userinfo(token, init(token))).sub, claims.sub)
    })
  }

  it('oidcc-ensure-request-without-nonce-succeeds-for-code-flow', succeeds({ nonce: '' }))

  for (const [module, names] of Object.entries({ ...SCOPES, 'oidcc-scope-all': Object.values(SCOPES).flat() })) {
    it(module, async () => {
      const app = party()
      const modules = module === 'oidcc-scope-all' ? Object.keys(SCOPES) : [module]
      const scopes = modules.map((one) => one.replace(/^oidcc-scope-/, ''))
      const { access_token: token } = await app.signIn({ scope: ['openid', ...scopes].join(' ') })
      const { sub, ...claims } = await app.userinfo(token)
      const expected = Object.fromEntries(names.map((name) => [name, USER_CLAIMS[name as keyof typeof USER_CLAIMS]]))
      assert.deepEqual([sub, claims], ['KWC6-X7D', expected])
    })
  }

  it('oidcc-ensure-other-scope-order-succeeds', succeeds({ scope: 'email openid' }))
  it('oidcc-display-page', succeeds({ display: 'page' }))
  it('oidcc-display-popup', succeeds({ display: 'popup' }))

  it('oidcc-prompt-login', async () => {
    const app = party()
    const first = await app.signIn()
    clock.advance(2_000)
    const request = app.request({ prompt: 'login' })
    const { params, wasAsked } = await app.visit(request)
    assert.ok(wasAsked)
    const { claims } = await app.tokens(await app.redeem(params.get('code') ?? ''), request.nonce)
    assert.equal(claims.sub, first.claims.sub)
    assertIs(claims.auth_time ?? 0, above(first.claims.auth_time ?? Infinity))
  })

  it('oidcc-prompt-none-not-logged-in', async () => {
    const { params } = await party().visit(party().request({ prompt: 'none' }))
    assert.deepEqual([params.get('error'), params.get('code')], ['login_required', null])
  })

  it('oidcc-prompt-none-logged-in', async () => {
    const app = party()
    const first = await app.signIn()
    clock.advance(2_000)
    const second = await app.signIn({ prompt: 'none' })
    assert.deepEqual([second.claims.sub, second.claims.auth_time], [first.claims.sub, first.claims.auth_time])
  })

  it('oidcc-max-age-1', async () => {
    const app = party()
    const first = await app.signIn()
    clock.advance(2_000)
    const request = app.request({ max_age: '1' })
    const { params, wasAsked } = await app.visit(request)
    assert.ok(wasAsked)
    const { claims } = await app.tokens(await app.redeem(params.get('code') ?? ''), request.nonce)
    assert.equal(claims.auth_time, Math.floor(clock.date() / 1_000))
    assertIs(claims.auth_time, above(first.claims.auth_time ?? Infinity))
  })

  it('oidcc-max-age-10000', async () => {
    const app = party()
    const first = await app.signIn({ max_age: '15000' })
    clock.advance(2_000)
    const request = app.request({ max_age: '10000' })
    const { params, wasAsked } = await app.visit(request)
    assert.equal(wasAsked, false)
    const { claims } = await app.tokens(await app.redeem(params.get('code') ?? ''), request.nonce)
    assert.deepEqual([claims.sub, claims.auth_time], [first.claims.sub, first.claims.auth_time])
  })

  it('oidcc-ensure-request-with-unknown-parameter-succeeds', succeeds({ extra: 'foobar' }))

  it('oidcc-id-token-hint', async () => {
    const app = party()
    const first = await app.signIn()
    const second = await app.signIn({ prompt: 'none', id_token_hint: first.id_token })
    assert.equal(second.claims.sub, first.claims.sub)
  })

  it('oidcc-login-hint', succeeds({ login_hint: 'countess@example.org' }))
  it('oidcc-ui-locales', succeeds({ ui_locales: 'se' }))
  it('oidcc-claims-locales', succeeds({ claims_locales: 'se' }))

  it('oidcc-ensure-request-with-acr-values-succeeds', async () => {
    const { claims } = await party().signIn({ acr_values: '1 2' })
    assert.equal(claims.acr, '1')
  })

  for (const [module, laterMs] of [
    ['oidcc-codereuse', 0],
    ['oidcc-codereuse-30seconds', 30_000],
  ] as const) {
    it(module, async () => {
      const app = party()
      const request = app.request()
      const code = (await app.visit(request)).params.get('code') ?? ''
      const { access_token: token } = await app.tokens(await app.redeem(code), request.nonce)
      clock.advance(laterMs)
      assert.equal(await tokenError(await app.redeem(code)), 'invalid_grant')
      assert.equal((await app.askUserinfo(token)).status, 401, 'what came of the code is revoked')
    })
  }

  it('oidcc-ensure-registered-redirect-uri', async () => {
    const app = party()
    const page = await app.agent.authorize(running.issuer, app.request({ redirect_uri: `${app.redirectUri}/other` }))
    assert.deepEqual([page.status, page.location], [400, null])
  })

  it('oidcc-ensure-post-request-succeeds', async () => {
    const app = party()
    const request = app.request()
    const body = new URLSearchParams(request)
    const page = await app.agent.request(`${running.issuer}/authorization`, { method: 'POST', body })
    const code = app.response(await app.complete(page), request).get('code') ?? ''
    await app.tokens(await app.redeem(code), request.nonce)
  })

  it('oidcc-server-client-secret-post', async () => {
    const app = party()
    const request = app.request()
    const code = (await app.visit(request)).params.get('code') ?? ''
    const form = { grant_type: 'authorization_code', code, redirect_uri: app.redirectUri }
    const credentials = { client_id: app.clientId, client_secret: `the secret of ${app.clientId}` }
    await app.tokens(await post(`${running.issuer}/token`, { ...form, ...credentials }), request.nonce)
  })

  it('oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported', async () => {
    const app = party()
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const request = app.request({ request: `${part({ alg: 'none' })}.${part({ state: 'another' })}.` })
    const { params } = await app.visit(request)
    assert.deepEqual([params.get('error'), params.get('code')], ['request_not_supported', null])
  })

  it('oidcc-ensure-request-object-with-redirect-uri', async () => {
    const discovery = await json(await fetch(`${running.issuer}/.well-known/openid-configuration`))
    assert.equal(discovery.request_parameter_supported, false)
  })

  it('oidcc-claims-essential', async () => {
    const app = party()
    const claims = JSON.stringify({ userinfo: { name: { essential: true } } })
    const { access_token: token } = await app.signIn({ claims })
    assert.equal((await app.userinfo(token)).name, USER_CLAIMS.name)
  })

  it('oidcc-refresh-token', async () => {
    const app = party()
    const first = await app.signIn()
    clock.advance(2_000)
    const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
    assert.equal(await tokenError(await party(1).token(form)), 'invalid_grant', "another app's")
    const fresh = await app.tokens(await app.token(form))
    assert.notEqual(fresh.access_token, first.access_token)
    assert.equal((await app.userinfo(fresh.access_token)).sub, first.claims.sub)
    const { iss, sub, aud, auth_time: authTime, iat = 0 } = fresh.claims
    assert.deepEqual([iss, sub, aud], [first.claims.iss, first.claims.sub, first.claims.aud])
    assert.equal(authTime, first.claims.auth_time)
    assertIs(iat, above(first.claims.iat ?? Infinity))
  })

  it('oidcc-ensure-request-with-valid-pkce-succeeds', async () => {
    const pkce = { code_challenge: CHALLENGE, code_challenge_method: 'S256' }
    await party().signIn(pkce, { code_verifier: VERIFIER })
  })
})
