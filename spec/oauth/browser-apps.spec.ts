import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import cors from 'cors'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { clientDirectory } from '../../lib/oauth'
import { AS_WEB, CLIENTS, VERIFIER, json, post, serverOfSuite, startServer } from './support'
import { UserAgent, request } from './user-agent'

const ORIGIN = 'http://localhost:6274'
const preflight = (url: string, method = 'POST', more: Record<string, string> = {}) =>
  fetch(url, { method: 'OPTIONS', headers: { origin: ORIGIN, 'access-control-request-method': method, ...more } })

describe('apps in browsers', () => {
  const running = serverOfSuite({ dialect: 'standard', registration: { accept: () => ({}) } })

  it('get an answer to their preflight, from any origin, without cookies', async () => {
    for (const [path, method] of [
      ['/.well-known/openid-configuration', 'GET'],
      ['/.well-known/oauth-authorization-server', 'GET'],
      ...(['/jwks', '/userinfo'] as const).map((path) => [path, 'GET'] as const),
      ...(['/token', '/par', '/register', '/revoke', '/userinfo'] as const).map((path) => [path, 'POST'] as const),
      ['/register/dyn-x', 'DELETE'],
    ] as const) {
      const response = await preflight(running.issuer + path, method)
      assert.equal(response.status, 204, path)
      assert.equal(response.headers.get('access-control-allow-origin'), '*', path)
      assert.ok(response.headers.get('access-control-allow-methods')?.includes(method), path)
      for (const field of ['Authorization', 'Content-Type', 'DPoP', 'MCP-Protocol-Version'])
        assert.ok(response.headers.get('access-control-allow-headers')?.includes(field), `${path} ${field}`)
      assert.equal(response.headers.get('access-control-allow-credentials'), null)
    }
    const root = `${running.origin}/.well-known/oauth-authorization-server/cis-web/oauth2/v3`
    assert.equal((await preflight(root, 'GET')).status, 204, "at the host's root as well")
  })

  it('may read answers, errors, and why a token was refused', async () => {
    for (const response of [
      await fetch(`${running.issuer}/.well-known/openid-configuration`, { headers: { origin: ORIGIN } }),
      await fetch(`${running.issuer}/userinfo`),
      await post(`${running.issuer}/token`, { grant_type: 'x' }),
    ]) {
      assert.equal(response.headers.get('access-control-allow-origin'), '*')
      assert.match(response.headers.get('access-control-expose-headers') ?? '', /WWW-Authenticate, DPoP-Nonce/)
    }
  })

  it('may not call what is for people or for servers', async () => {
    for (const path of ['/authorization', '/login', '/logout', '/introspect', '/apps', '/approval']) {
      const response = await preflight(running.issuer + path)
      assert.deepEqual([response.status, response.headers.get('access-control-allow-origin')], [405, null], path)
    }
  })

  it("are left to the app's own CORS middleware where it has one", async () => {
    const own = await startServer({}, cors({ origin: 'https://app.test', credentials: true }))
    const response = await fetch(`${own.issuer}/jwks`, { headers: { origin: 'https://app.test' } })
    assert.equal(response.headers.get('access-control-allow-origin'), 'https://app.test')
  })
})

describe('response_mode=fragment', () => {
  it('OAuth 2.0 Multiple Response Types §2.1: puts the code, and errors, behind a #', async () => {
    const { issuer } = await startServer({ dialect: 'standard' })
    const agent = new UserAgent(issuer)
    const ask = (more: Record<string, string> = {}) =>
      agent.authorize(issuer, request({ response_mode: 'fragment', ...more }))
    const paramsOf = (location: string | null) => {
      const [uri, fragment] = (location ?? '').split('#')
      assert.equal(uri, 'https://client.test/cb')
      return new URLSearchParams(fragment)
    }
    const page = await (await ask()).logIn()
    const params = paramsOf(page.location)
    assert.deepEqual([params.get('state'), params.get('iss')], ['st-123', issuer])
    const form = { grant_type: 'authorization_code', redirect_uri: 'https://client.test/cb', code_verifier: VERIFIER }
    assert.equal((await post(`${issuer}/token`, { ...form, code: params.get('code') ?? '' }, AS_WEB)).status, 200)
    assert.equal(paramsOf((await ask({ max_age: 'x' })).location).get('error'), 'invalid_request')
    const cancelled = await (await ask({ prompt: 'login' })).submit({ action: 'cancel' })
    assert.equal(paramsOf(cancelled.location).get('error'), 'access_denied')
    const silent = await new UserAgent(issuer).authorize(issuer, request({ response_mode: 'fragment', prompt: 'none' }))
    assert.equal(paramsOf(silent.location).get('error'), 'login_required')
    const native = await ask({ client_id: 'native', redirect_uri: 'com.example.app:/cb', prompt: 'none' })
    assert.match(native.location ?? '', /^com\.example\.app:\/cb#error=consent_required/)
    const metadata = await json(await fetch(`${issuer}/.well-known/openid-configuration`))
    assert.deepEqual(metadata.response_modes_supported, ['query', 'fragment', 'form_post'])
  })
})

describe('prompt=none with form_post', () => {
  it('may be framed by the app that asks, and by nobody else; a page with a question by nobody', async () => {
    const { issuer } = await startServer({ dialect: 'standard' })
    const agent = new UserAgent(issuer)
    const framing = async (more: Record<string, string>) => {
      const { response } = await agent.authorize(issuer, request({ response_mode: 'form_post', ...more }))
      const [, ancestors] = /frame-ancestors ([^;]*)/.exec(response.headers.get('content-security-policy') ?? '') ?? []
      return [ancestors, response.headers.get('x-frame-options')]
    }
    assert.deepEqual(await framing({ prompt: 'none' }), ['https://client.test', null], 'login_required')
    assert.deepEqual(await framing({}), ["'none'", 'DENY'], 'the login page')
    await (await agent.authorize(issuer, request())).logIn()
    assert.deepEqual(await framing({ prompt: 'none' }), ['https://client.test', null], 'the code')
    assert.deepEqual(await framing({}), ["'none'", 'DENY'], 'asked with a page')
    assert.deepEqual(await framing({ prompt: 'none', redirect_uri: 'https://evil.test/' }), ["'none'", 'DENY'])
  })
})

describe('response_mode=form_post', () => {
  const only = { clientId: 'login-only', name: 'Login <Only>', realm: '/o', redirectUris: ['https://only.test/cb?a=1'] }
  const running = serverOfSuite({
    clients: clientDirectory([...CLIENTS, { ...only, responseTypes: ['id_token'] }]),
  })

  const ask = (more: Record<string, string>) =>
    new UserAgent(running.issuer).authorize(running.issuer, request({ response_mode: 'form_post', ...more }))
  const signIn = async (more: Record<string, string>) => {
    const page = await (await ask(more)).logIn()
    return page.title === 'Terms of access' ? page.accept() : page
  }
  const login = { client_id: 'login-only', redirect_uri: 'https://only.test/cb?a=1', response_type: 'id_token' }

  it('Form Post Response Mode §2: a form sends code, state and iss to the redirect URI, and no URL has them', async () => {
    const page = await signIn({ state: '"><script>{{x}}' })
    assert.deepEqual([page.status, page.location], [200, null])
    assert.match(page.text, /<form method="post" action="https:\/\/client.test\/cb">/)
    const { code, state, iss, ...others } = page.fields
    assert.deepEqual([state, iss, others], ['"><script>{{x}}', running.issuer, {}])
    const form = { grant_type: 'authorization_code', redirect_uri: 'https://client.test/cb', code_verifier: VERIFIER }
    assert.equal((await post(`${running.issuer}/token`, { ...form, code: code as string }, AS_WEB)).status, 200)
  })

  it('its policy lets in its own script alone, and the form to the app alone', async () => {
    const page = await signIn({})
    const policy = page.response.headers.get('content-security-policy') ?? ''
    const script = /<script>(.*)<\/script>/.exec(page.text)?.[1] ?? ''
    const hash = createHash('sha256').update(script).digest('base64')
    assert.ok(policy.includes(`script-src 'sha256-${hash}';`), policy)
    assert.match(policy, /form-action 'self' https:\/\/client\.test$/)
    assert.match(policy, /^default-src 'none';/)
    assert.equal(page.response.headers.get('cache-control'), 'no-store')
  })

  it('Form Post Response Mode §2: errors are sent by a form, too', async () => {
    const silent = await ask({ prompt: 'none' })
    assert.equal(silent.fields.error, 'login_required')
    assert.equal(silent.fields.state, 'st-123')
    const wrong = await ask({ max_age: 'x' })
    assert.equal(wrong.fields.error, 'invalid_request')
  })

  it("Form Post Response Mode §2: an app's own scheme takes no form", async () => {
    const native = { client_id: 'native', redirect_uri: 'com.example.app:/cb' }
    assert.match((await ask(native)).location ?? '', /^com\.example\.app:\/cb\?error=invalid_request/)
  })

  it('OIDC Core §3.2.2.5 and §5.4: response_type=id_token gives a login and all its claims, and no code', async () => {
    const page = await signIn({ ...login, scope: 'openid email' })
    assert.match(page.text, /action="https:\/\/only.test\/cb\?a=1"/)
    const { id_token: token = '', state, code } = page.fields
    assert.deepEqual([state, code], ['st-123', undefined])
    const keys = createRemoteJWKSet(new URL(`${running.issuer}/jwks`))
    const { payload } = await jwtVerify(token, keys, { issuer: running.issuer, audience: 'login-only' })
    assert.deepEqual([payload.nonce, payload.email, payload.at_hash], ['n1', 'ada@example.org', undefined])
  })

  it('OIDC Core §3.2.2.1: response_type=id_token is for apps registered for it, with a nonce, by form_post', async () => {
    assert.equal((await ask({ response_type: 'id_token' })).fields.error, 'unsupported_response_type')
    assert.equal((await ask({ ...login, response_type: 'code' })).fields.error, 'unsupported_response_type')
    assert.equal((await ask({ ...login, nonce: '' })).fields.error, 'invalid_request')
    assert.equal((await ask({ ...login, response_mode: 'query' })).params.get('error'), 'invalid_request')
  })
})
