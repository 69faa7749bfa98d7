import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Passport } from 'passport'
import OpenIDConnectStrategy from 'passport-openidconnect'
import { AuthorizationCode } from 'simple-oauth2'
import { CLIENT_KEYS } from '../oauth/support'
import { UserAgent } from '../oauth/user-agent'
import { startSystem } from './system'

const SECRET = 'a secret + more/%'
let system: Awaited<ReturnType<typeof startSystem>>
before(async () => {
  system = await startSystem()
})
after(() => system.close())

/** Follows the app's link, signs in, and returns the URL that the browser is sent to. */
async function visit(url: string | URL, agent = new UserAgent(system.origin)): Promise<URL> {
  const page = await agent.request(String(url))
  const back = page.location === null ? await (await page.logIn()).finish() : page
  return new URL(back.location ?? '')
}

const servicePrivateKey = () =>
  crypto.subtle.importKey(
    'pkcs8',
    CLIENT_KEYS.privateKey.export({ type: 'pkcs8', format: 'der' }),
    { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
    false,
    ['sign'],
  )

describe('openid-client 6', () => {
  it('discovers, logs in with PKCE, state, nonce and max_age, refreshes, introspects, revokes and logs out', async () => {
    const client = await import('openid-client')
    const execute = { execute: [client.allowInsecureRequests] }
    const config = await client.discovery(new URL(system.issuer), 'confidential', SECRET, undefined, execute)
    const verifier = client.randomPKCECodeVerifier()
    const [state, nonce] = [client.randomState(), client.randomNonce()]
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: system.callback,
      scope: 'openid profile email tree.read',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      max_age: '600',
    })
    const agent = new UserAgent(system.origin)
    const checks = {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      maxAge: 600,
      idTokenExpected: true,
    }
    const tokens = await client.authorizationCodeGrant(config, await visit(url, agent), checks)
    assert.equal(tokens.claims()?.sub, 'KWC6-X7D')
    assert.equal(tokens.claims()?.given_name, 'Ada')
    const user = await client.fetchUserInfo(config, tokens.access_token, 'KWC6-X7D')
    assert.equal(user.email, 'ada@example.org')
    const fresh = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
    assert.equal(fresh.claims()?.sub, 'KWC6-X7D')
    assert.equal((await client.tokenIntrospection(config, fresh.access_token)).active, true)
    await client.tokenRevocation(config, fresh.access_token)
    assert.equal((await client.tokenIntrospection(config, fresh.access_token)).active, false)
    const end = client.buildEndSessionUrl(config, {
      id_token_hint: fresh.id_token ?? '',
      post_logout_redirect_uri: system.callback,
    })
    assert.equal((await visit(end, agent)).href, system.callback)
  })

  it('authenticates by private_key_jwt, client_secret_basic and client_secret_post', async () => {
    const client = await import('openid-client')
    const execute = { execute: [client.allowInsecureRequests] }
    const other = await startSystem('Bearer') // it accepts no other value
    const methods = [
      ['service', client.PrivateKeyJwt(await servicePrivateKey())],
      ['confidential', client.ClientSecretBasic(SECRET)],
      ['confidential', client.ClientSecretPost(SECRET)],
    ] as const
    for (const [id, method] of methods) {
      const config = await client.discovery(new URL(other.issuer), id, undefined, method, execute)
      const tokens = await client.clientCredentialsGrant(config)
      assert.equal((await other.server.verify(tokens.access_token))?.sub, id)
    }
    await other.close()
  })
})

describe('oauth4webapi 3', () => {
  it('goes through every step of a public client without openid, with our token type recognized', async () => {
    const oauth = await import('oauth4webapi')
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(system.issuer)
    const as = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' }),
    )
    const client = { client_id: 'a02j000000JBxOxAAL' }
    const verifier = oauth.generateRandomCodeVerifier()
    const state = oauth.generateRandomState()
    const url = new URL(as.authorization_endpoint ?? '')
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: system.callback,
      response_type: 'code',
      scope: 'email',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString()
    const params = oauth.validateAuthResponse(as, client, await visit(url), state)
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      oauth.None(),
      params,
      system.callback,
      verifier,
      insecure,
    )
    const recognizedTokenTypes = { family_search: () => undefined }
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, { recognizedTokenTypes })
    assert.equal(tokens.token_type, 'family_search')
    assert.equal(tokens.id_token, undefined)
  })
})

describe('passport-openidconnect', () => {
  it('logs a user in', async () => {
    const passport = new Passport()
    const options = {
      issuer: system.issuer,
      clientID: 'no-pkce', // it does not support PKCE
      clientSecret: SECRET,
      callbackURL: system.callback,
      authorizationURL: `${system.issuer}/authorization`,
      tokenURL: `${system.issuer}/token`,
      userInfoURL: `${system.issuer}/userinfo`,
      skipUserProfile: false,
      scope: ['profile', 'email'],
      nonce: true,
      maxAge: 600,
    }
    passport.use(new OpenIDConnectStrategy(options, (_issuer, profile, done) => done(null, profile)))
    const session = {}
    system.app.use('/cb', (req, _res, next) => {
      Object.assign(req, { session })
      next()
    })
    const authenticate = passport.authenticate('openidconnect', { session: false })
    system.app.get('/cb', authenticate, (req, res) => void res.json((req as { user?: unknown }).user))

    const agent = new UserAgent(system.origin)
    const start = await agent.request('/cb')
    const profile = await agent.request((await visit(start.location ?? '', agent)).href)
    assert.equal(profile.status, 200, profile.text)
    const { id, emails } = JSON.parse(profile.text) as { id: string; emails: { value: string }[] }
    assert.equal(id, 'KWC6-X7D')
    assert.equal(emails[0]?.value, 'ada@example.org')
  })
})

describe('simple-oauth2', () => {
  const config = (more: object = {}) => ({
    client: { id: 'confidential', secret: SECRET },
    auth: {
      tokenHost: system.origin,
      tokenPath: '/cis-web/oauth2/v3/token',
      revokePath: '/cis-web/oauth2/v3/revoke',
      ...more,
    },
  })

  it('logs a user in, refreshes and revokes', async () => {
    const client = new AuthorizationCode(config({ authorizePath: '/cis-web/oauth2/v3/authorization' }))
    const verifier = 'v'.repeat(64)
    const digest = await crypto.subtle.digest('SHA-256', Buffer.from(verifier))
    const url = client.authorizeURL({
      redirect_uri: system.callback,
      scope: ['profile', 'email'],
      state: 'st',
      code_challenge: Buffer.from(digest).toString('base64url'),
      code_challenge_method: 'S256',
    })
    const code = (await visit(url)).searchParams.get('code')
    const access = await client.getToken({ code, redirect_uri: system.callback, code_verifier: verifier })
    assert.equal(access.token.token_type, 'family_search')
    const fresh = await access.refresh()
    assert.notEqual(fresh.token.access_token, access.token.access_token)
    await fresh.revokeAll()
    assert.equal(await system.server.verify(fresh.token.access_token as string), undefined)
  })
})
