import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { memoryOAuthStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { AS_WEB, type Form, json, post, serverOfSuite, startServer, askToken } from './support'
import { UserAgent, codeForm, request } from './user-agent'

describe('the authorization code grant', () => {
  const clock = manualClock(Date.now())
  const running = serverOfSuite({ clock })

  const redeem = (form: Form, headers: Form = AS_WEB) => post(`${running.issuer}/token`, form, headers)
  const refused = async (form: Form, headers: Form = AS_WEB) => {
    const response = await redeem(form, headers)
    assert.equal(response.status, 400)
    return (await json(response)).error
  }

  it('RFC 6749 §4.1 and §5.1: login, terms, code, tokens', async () => {
    const { issuer } = running
    const agent = new UserAgent(issuer)
    const login = await agent.authorize(issuer, request({ scope: 'openid profile email tree.read unheard-of' }))
    assert.equal(login.title, 'Sign in')
    const terms = await login.logIn()
    assert.equal(terms.title, 'Terms of access')
    const back = await terms.accept()
    assert.equal(back.status, 303)
    assert.ok(back.location?.startsWith('https://client.test/cb?'))
    assert.equal(back.params.get('state'), 'st-123')
    const form = await codeForm(issuer, {}, agent)
    const response = await redeem({ ...form, code: back.params.get('code') ?? '' })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'application/json;charset=UTF-8')
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.equal(response.headers.get('pragma'), 'no-cache')
    assert.match(response.headers.get('x-processing-time') ?? '', /^\d+$/)
    const tokens = await json(response)
    assert.equal(tokens.expires_in, 3_600)
    assert.equal(tokens.scope, 'openid profile email tree.read')
  })

  it('OIDC Core §2 and §3.1.3.6: the id_token says who, when, how and for whom', async () => {
    const { issuer } = running
    const tokens = await json(await redeem(await codeForm(issuer, { scope: 'openid profile email user_id country' })))
    const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
    const { payload, protectedHeader } = await jwtVerify(tokens.id_token as string, keys, { issuer, audience: 'web' })
    assert.equal(protectedHeader.alg, 'RS256')
    assert.equal(payload.sub, 'KWC6-X7D')
    assert.equal(payload.nonce, 'n1')
    assert.deepEqual(payload.amr, ['pwd'])
    assert.equal(payload.auth_time, Math.floor(clock.date() / 1_000))
    assert.match(payload.sid as string, /^[\da-f-]{36}$/)
    const half = createHash('sha256')
      .update(tokens.access_token as string)
      .digest()
      .subarray(0, 16)
    assert.equal(payload.at_hash, half.toString('base64url'))
    const { givenName, given_name, family_name, gender, language, locale, user_id, country } = payload
    assert.deepEqual(
      { givenName, given_name, family_name, gender, language, locale, user_id, country },
      {
        givenName: 'Ada',
        given_name: 'Ada',
        family_name: 'Lovelace',
        gender: 'female',
        language: 'en',
        locale: 'en-GB',
        user_id: 'KWC6-X7D',
        country: 'GB',
      },
    )
    assert.equal('email' in payload, false, 'userinfo gives it (OIDC Core §5.4)')
    assert.equal('qualifies_for_affiliate_account' in payload, false)
  })

  it('RFC 9068 §2: the access token is an at+jwt with its claims', async () => {
    const { issuer } = running
    const tokens = await json(await redeem(await codeForm(issuer, { scope: 'openid tree.read' })))
    const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
    const token = tokens.access_token as string
    const { payload } = await jwtVerify(token, keys, { issuer, audience: issuer, typ: 'at+jwt' })
    assert.equal(payload.client_id, 'web')
    assert.equal(payload.sub, 'KWC6-X7D')
    assert.equal(payload.scope, 'openid tree.read')
    assert.match(payload.jti ?? '', /^[\da-f-]{36}$/)
    assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 3_600)
    assert.equal('email' in payload, false)
  })

  it("gives an id_token and the type Bearer with openid granted, the service's own type and none without", async () => {
    const { issuer } = running
    const withIt = await json(await redeem(await codeForm(issuer, { scope: 'openid' })))
    assert.equal(withIt.token_type, 'Bearer')
    assert.equal(typeof withIt.id_token, 'string')
    const without = await json(await redeem(await codeForm(issuer, { scope: 'profile email' })))
    assert.equal(without.token_type, 'family_search')
    assert.equal('id_token' in without, false)
    const none = await json(await redeem(await codeForm(issuer, { scope: '' })))
    assert.equal(none.token_type, 'family_search')
    assert.equal('scope' in none, false)
  })

  it('RFC 6749 §4.1.2: a code is good for 60 seconds (O125)', async () => {
    const form = await codeForm(running.issuer)
    clock.advance(60_000)
    assert.equal(await refused(form), 'invalid_grant')
  })

  it('RFC 9700 §4.5: a late replay is still detected', async () => {
    const form = await codeForm(running.issuer)
    const { access_token: token } = await json(await redeem(form))
    clock.advance(30 * 60_000)
    assert.equal(await refused(form), 'invalid_grant')
    assert.equal(await running.server.verify(token as string), undefined)
  })

  it("RFC 6749 §4.1.3: only its owner can spend a code; another client's attempt revokes nothing", async () => {
    const form = await codeForm(running.issuer)
    const asSpa = { ...form, client_id: 'spa' }
    assert.equal(await refused(asSpa, {}), 'invalid_grant')
    assert.equal(await refused({ ...form, redirect_uri: 'https://client.test/cb2' }), 'invalid_grant')
    assert.equal(
      await refused({ ...form, code_verifier: form.code_verifier?.replace('d', 'e') ?? '' }),
      'invalid_grant',
    )
    const { access_token: token } = await json(await redeem(form))
    assert.equal(await refused(asSpa, {}), 'invalid_grant')
    assert.equal(await refused({ ...form, redirect_uri: 'https://client.test/cb2' }), 'invalid_grant')
    assert.ok(await running.server.verify(token as string), 'still good after a stranger has tried')
  })

  it('RFC 6749 §4.1.3: redirect_uri may stand in the URL, but not differ from the body, nor be missing (O127)', async () => {
    const { issuer } = running
    const { redirect_uri: uri = '', ...form } = await codeForm(issuer)
    const at = (query: string, more: Form = {}) => post(`${issuer}/token${query}`, { ...form, ...more }, AS_WEB)
    assert.equal((await json(await at(''))).error, 'invalid_request')
    assert.equal((await json(await at(`?redirect_uri=${uri}2`, { redirect_uri: uri }))).error, 'invalid_request')
    assert.equal((await json(await at(`?redirect_uri=${uri}&redirect_uri=${uri}`))).error, 'invalid_request')
    assert.equal((await at(`?redirect_uri=${uri}`)).status, 200)
  })

  it('stores no code, token or session in plain text', async () => {
    const store = memoryOAuthStore()
    const kept: string[] = []
    const spy = {
      ...store,
      set: (key: string, value: string, ms: number) => (kept.push(key, value), store.set(key, value, ms)),
    }
    const other = await startServer({
      store: spy,
      accessTokens: { format: 'opaque' },
    })
    const agent = new UserAgent(other.issuer)
    const form = await codeForm(other.issuer, {}, agent)
    const tokens = await askToken(other.issuer, form)
    const secrets = [form.code, tokens.access_token, tokens.refresh_token, ...agent.cookies.values()] as string[]
    assert.equal(secrets.length, 6) // three cookies: the browser's session, its form, its device
    for (const secret of secrets) assert.ok(!kept.some((text) => text.includes(secret)))
    assert.throws(() => decodeJwt(tokens.access_token))
  })
})

describe('PKCE', () => {
  const running = serverOfSuite()

  const spa = { client_id: 'spa', redirect_uri: 'https://spa.test/cb' }
  const legacy = {
    client_id: 'legacy',
    redirect_uri: 'http://localhost/cb',
    code_challenge: '',
    code_challenge_method: '',
  }
  const redeem = (form: Form) => post(`${running.issuer}/token`, form)

  it('OAuth 2.1 §4.1.3: in the dialect standard a token request needs no redirect_uri where PKCE proves the client', async () => {
    const standard = await startServer({ dialect: 'standard' })
    const { issuer } = standard
    const code = async (more: Form = {}) => {
      const form = await codeForm(issuer, { ...spa, ...more })
      delete form.redirect_uri
      return { ...form, client_id: more.client_id ?? 'spa' }
    }
    const error = async (form: Form) => (await askToken(issuer, form, {})).error
    assert.equal(await error(await code()), undefined)
    assert.equal(await error({ ...(await code()), redirect_uri: '' }), undefined, 'an empty one is none')
    assert.equal(await error({ ...(await code()), redirect_uri: 'https://spa.test/other' }), 'invalid_grant')
    assert.equal(await error({ ...(await code()), code_verifier: 'x'.repeat(43) }), 'invalid_grant')
    assert.equal(await error(await code({ ...legacy })), 'invalid_grant', 'no PKCE')
    assert.equal(
      await error({ ...(await code({ ...legacy })), code_verifier: '', redirect_uri: legacy.redirect_uri }),
      undefined,
    )
  })

  it('RFC 7636 §4.6: refuses a missing, a wrong and a malformed verifier, and the challenge in its place (O129, O133)', async () => {
    const { code_verifier: verifier = '', ...form } = await codeForm(running.issuer, spa)
    for (const wrong of [
      '',
      verifier.replace('d', 'e'),
      verifier.slice(1),
      'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      'x'.repeat(129),
    ]) {
      const response = await redeem({ ...form, client_id: 'spa', code_verifier: wrong })
      assert.equal(response.status, 400)
      assert.equal((await json(response)).error, 'invalid_grant')
    }
    assert.equal((await redeem({ ...form, client_id: 'spa', code_verifier: verifier })).status, 200)
  })

  it('RFC 7636 §4.4.1: is required unless the registration says otherwise', async () => {
    const agent = new UserAgent(running.issuer)
    const refused = await agent.authorize(
      running.issuer,
      request({ ...spa, code_challenge: '', code_challenge_method: '' }),
    )
    assert.equal(refused.params.get('error'), 'invalid_request')
    const form = { ...(await codeForm(running.issuer, legacy)), client_id: 'legacy', code_verifier: '' }
    assert.equal((await redeem(form)).status, 200)
  })

  it('RFC 9700 §2.1.1: a verifier without a challenge is a downgrade and refused (O131)', async () => {
    const response = await redeem({ ...(await codeForm(running.issuer, legacy)), client_id: 'legacy' })
    assert.deepEqual(
      [response.status, (await json(response)).error],
      [400, 'invalid_grant'],
      'codeForm() sends a verifier',
    )
  })

  it('RFC 7636 §4.2: plain is only for clients registered for it', async () => {
    const verifier = 'v'.repeat(43)
    const plain = { code_challenge: verifier, code_challenge_method: 'plain' }
    const agent = new UserAgent(running.issuer)
    assert.equal(
      (await agent.authorize(running.issuer, request({ ...spa, ...plain }))).params.get('error'),
      'invalid_request',
    )
    const scope = { scope: '', client_id: 'plain', redirect_uri: 'https://plain.test/cb' }
    const form = await codeForm(running.issuer, { ...plain, ...scope })
    assert.equal((await redeem({ ...form, client_id: 'plain', code_verifier: verifier })).status, 200)
  })
})
