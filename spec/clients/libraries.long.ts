import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import * as arctic from 'arctic'
import { auth } from 'express-openid-connect'
import express from 'express'
import { Issuer, generators } from 'openid-client5'
import type { ClientRegistration } from '../../lib/oauth'
import { UserAgent } from '../oauth/user-agent'
import { type LoginSystem, SECRET, follow, startLoginSystem } from './today'

async function started(t: TestContext, app: Partial<ClientRegistration> = {}): Promise<LoginSystem> {
  const system = await startLoginSystem(() => ({ secret: SECRET, ...app }))
  t.after(() => system.close())
  return system
}

/** Follows the app's link, signs in, and returns the URL that the browser is sent to. */
async function visit(system: LoginSystem, url: string | URL): Promise<string> {
  const end = await follow(new UserAgent(system.origin), String(url), (to) => to.startsWith(system.callback))
  if (typeof end !== 'string') throw new Error(end.text)
  return end
}

describe('openid-client 5', () => {
  it('discovers, logs in with PKCE and nonce, asks userinfo, refreshes, introspects, revokes and logs out', async (t) => {
    const system = await started(t)
    const issuer = await Issuer.discover(system.issuer)
    const client = new issuer.Client({ client_id: 'app', client_secret: SECRET, redirect_uris: [system.callback] })
    const [verifier, state, nonce] = [generators.codeVerifier(), generators.state(), generators.nonce()]
    const url = client.authorizationUrl({
      scope: 'openid profile email',
      code_challenge: generators.codeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
    const params = client.callbackParams(await visit(system, url))
    const tokens = await client.callback(system.callback, params, { code_verifier: verifier, state, nonce })
    assert.equal(tokens.claims().sub, 'KWC6-X7D')
    assert.equal((await client.userinfo(tokens)).email, 'ada@example.org')
    assert.equal((await client.userinfo(tokens, { method: 'POST', via: 'body' })).email, 'ada@example.org')
    const fresh = await client.refresh(tokens)
    assert.equal((await client.introspect(fresh.access_token ?? '')).active, true)
    await client.revoke(fresh.access_token ?? '')
    assert.equal((await client.introspect(fresh.access_token ?? '')).active, false)
    const end = client.endSessionUrl({ id_token_hint: fresh, post_logout_redirect_uri: system.origin })
    assert.equal((await new UserAgent(system.origin).request(end)).location, system.origin)
  })

  it('pushes its request, proves a key with DPoP, and takes form_post', async (t) => {
    const system = await started(t, { requirePushedRequests: true, requireDpop: true })
    const issuer = await Issuer.discover(system.issuer)
    const client = new issuer.Client({ client_id: 'app', client_secret: SECRET, redirect_uris: [system.callback] })
    const { privateKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign'])
    const DPoP = (await import('node:crypto')).KeyObject.from(privateKey)
    const verifier = generators.codeVerifier()
    const { request_uri } = await client.pushedAuthorizationRequest({
      scope: 'openid email',
      response_type: 'code',
      redirect_uri: system.callback,
      response_mode: 'form_post',
      code_challenge: generators.codeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    let posted: Record<string, string> = {}
    system.mount('/cb', (req, res) => {
      express.urlencoded({ extended: false })(req, res, () => {
        posted = req.body as Record<string, string>
        res.end('there')
      })
    })
    const url = `${issuer.metadata.authorization_endpoint}?client_id=app&request_uri=${encodeURIComponent(request_uri)}`
    await follow(new UserAgent(system.origin), url, () => false)
    const tokens = await client.callback(system.callback, posted, { code_verifier: verifier }, { DPoP })
    assert.equal(tokens.token_type, 'DPoP')
    assert.equal((await client.userinfo(tokens, { DPoP })).email, 'ada@example.org')
  })
})

describe('arctic', () => {
  it('logs a user in with PKCE, without openid, refreshes and revokes', async (t) => {
    const system = await started(t)
    const client = new arctic.OAuth2Client('app', SECRET, system.callback)
    const [state, verifier] = [arctic.generateState(), arctic.generateCodeVerifier()]
    const endpoint = `${system.issuer}/authorization`
    const { S256 } = arctic.CodeChallengeMethod
    const url = client.createAuthorizationURLWithPKCE(endpoint, state, S256, verifier, ['tree.read'])
    const back = new URL(await visit(system, url)).searchParams
    assert.equal(back.get('state'), state)
    const token = `${system.issuer}/token`
    const tokens = await client.validateAuthorizationCode(token, back.get('code') ?? '', verifier)
    assert.deepEqual([tokens.tokenType(), tokens.scopes()], ['Bearer', ['tree.read']])
    const fresh = await client.refreshAccessToken(token, tokens.refreshToken(), [])
    assert.ok(await system.server.verify(fresh.accessToken()))
    await client.revokeToken(`${system.issuer}/revoke`, fresh.accessToken())
    assert.equal(await system.server.verify(fresh.accessToken()), undefined)
  })
})

describe('express-openid-connect', () => {
  it('with its defaults: response_type=id_token by form_post, without a secret', async (t) => {
    const system = await startLoginSystem((origin) => ({
      redirectUris: [`${origin}/app/callback`],
      responseTypes: ['id_token'],
    }))
    t.after(() => system.close())
    const secret = 'a secret of its own for its cookies'
    const baseURL = `${system.origin}/app`
    const app = express.Router()
    app.use(auth({ issuerBaseURL: system.issuer, baseURL, clientID: 'app', secret }))
    app.get('/me', (req, res) => void res.json(req.oidc.user))
    system.mount('/app', app)

    const agent = new UserAgent(system.origin)
    const start = await agent.request('/app/me')
    const asked = new URL(start.location ?? '').searchParams
    assert.deepEqual(
      ['response_type', 'response_mode', 'scope'].map((name) => asked.get(name)),
      ['id_token', 'form_post', 'openid profile email'],
    )
    const end = await follow(agent, start.location ?? '', () => false)
    if (typeof end === 'string') throw new Error(end)
    assert.equal(end.status, 200, end.text)
    const { sub, given_name, email } = JSON.parse(end.text) as Record<string, unknown>
    assert.deepEqual([sub, given_name, email], ['KWC6-X7D', 'Ada', 'ada@example.org'])
  })
})
