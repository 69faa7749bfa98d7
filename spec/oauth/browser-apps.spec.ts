import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import cors from 'cors'
import { type RunningServer, VERIFIER, json, post, startServer } from './support'
import { UserAgent, request } from './user-agent'

const ORIGIN = 'http://localhost:6274'
const preflight = (url: string, method = 'POST', more: Record<string, string> = {}) =>
  fetch(url, { method: 'OPTIONS', headers: { origin: ORIGIN, 'access-control-request-method': method, ...more } })

describe('apps in browsers', () => {
  let running: RunningServer
  before(async () => {
    running = await startServer({ dialect: 'standard', registration: { accept: () => ({}) } })
  })
  after(() => running.close())

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

  it("are left to the app's own CORS middleware where it has one", async (t) => {
    const own = await startServer({}, cors({ origin: 'https://app.test', credentials: true }))
    t.after(() => own.close())
    const response = await fetch(`${own.issuer}/jwks`, { headers: { origin: 'https://app.test' } })
    assert.equal(response.headers.get('access-control-allow-origin'), 'https://app.test')
  })
})

describe('response_mode=fragment', () => {
  it('OAuth 2.0 Multiple Response Types §2.1: puts the code, and errors, behind a #', async (t) => {
    const { issuer, ...running } = await startServer({ dialect: 'standard' })
    t.after(() => running.close())
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
    const tokens = await post(`${issuer}/token`, {
      ...form,
      code: params.get('code') ?? '',
      client_id: 'web',
      client_secret: 'secret',
    })
    assert.equal(tokens.status, 200)
    assert.equal(paramsOf((await ask({ max_age: 'x' })).location).get('error'), 'invalid_request')
    assert.equal(
      paramsOf((await ask({ prompt: 'login' }).then((login) => login.submit({ action: 'cancel' }))).location).get(
        'error',
      ),
      'access_denied',
    )
    const silent = await new UserAgent(issuer).authorize(issuer, request({ response_mode: 'fragment', prompt: 'none' }))
    assert.equal(paramsOf(silent.location).get('error'), 'login_required')
    const native = request({
      client_id: 'native',
      redirect_uri: 'com.example.app:/cb',
      response_mode: 'fragment',
      prompt: 'none',
    })
    assert.match(
      (await agent.authorize(issuer, native)).location ?? '',
      /^com\.example\.app:\/cb#error=consent_required/,
    )
    const metadata = await json(await fetch(`${issuer}/.well-known/openid-configuration`))
    assert.deepEqual(metadata.response_modes_supported, ['query', 'fragment', 'form_post'])
  })
})

describe('prompt=none with form_post', () => {
  it('may be framed by the app that asks, and by nobody else; a page with a question by nobody', async (t) => {
    const { issuer, ...running } = await startServer({ dialect: 'standard' })
    t.after(() => running.close())
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
