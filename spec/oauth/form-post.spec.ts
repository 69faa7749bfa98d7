import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { clientDirectory } from '../../lib/oauth'
import { AS_WEB, CLIENTS, type RunningServer, VERIFIER, post, startServer } from './support'
import { UserAgent, request } from './user-agent'

describe('response_mode=form_post', () => {
  let running: RunningServer
  before(async () => {
    const only = {
      clientId: 'login-only',
      name: 'Login <Only>',
      realm: '/o',
      redirectUris: ['https://only.test/cb?a=1'],
    }
    running = await startServer({ clients: clientDirectory([...CLIENTS, { ...only, responseTypes: ['id_token'] }]) })
  })
  after(() => running.close())

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
