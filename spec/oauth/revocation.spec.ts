import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SignJWT } from 'jose'
import { type ClientRegistration, clientDirectory, memoryOAuthStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { AS_WEB, CLIENTS, CLIENT_KEYS, type Form, json, post, refresh, serverOfSuite, startServer } from './support'
import { UserAgent, request, tokensFor } from './user-agent'

for (const format of ['jwt', 'opaque'] as const) {
  describe(`${format} access tokens`, () => {
    const clock = manualClock()
    const running = serverOfSuite({ clock, store: memoryOAuthStore({ clock }), accessTokens: { format } })

    const tokens = (more?: Form, agent?: UserAgent) => tokensFor(running.issuer, more, agent)
    const verified = async (token: string) => (await running.server.verify(token)) !== undefined
    const revoke = (token: string, headers: Form = AS_WEB, more: Form = {}) =>
      post(`${running.issuer}/revoke`, { token, ...more }, headers)
    const introspect = async (token: string, headers: Form = AS_WEB, more: Form = {}) =>
      json(await post(`${running.issuer}/introspect`, { token, ...more }, headers))

    it('are accepted until they expire', async () => {
      const { access_token: token, expires_in: life } = await tokens()
      assert.equal(life, format === 'jwt' ? 3_600 : 86_400)
      for (let left = life; left > 3_000; left -= 3_000) {
        assert.ok(await verified(token))
        clock.advance(3_000_000)
      }
      clock.advance(3_000_000)
      assert.equal(await verified(token), false)
    })

    it('RFC 7009 §2 and §2.1: are revoked alone, or with all of their authorization by the refresh token', async () => {
      const { access_token: token, refresh_token: first } = await tokens()
      const response = await revoke(token)
      assert.deepEqual([response.status, await json(response)], [200, {}])
      assert.equal(await verified(token), false)
      const next = (await json(await refresh(running.issuer, first))) as Form
      const { access_token: other = '', refresh_token: second = '' } = next
      assert.ok(await verified(other))
      assert.equal((await revoke(second, AS_WEB, { token_type_hint: 'refresh_token' })).status, 200)
      assert.equal(await verified(other), false)
      assert.equal((await json(await refresh(running.issuer, second))).error, 'invalid_grant')
    })

    it("RFC 7009 §2.1 and §2.2: another client's token or an unknown one is left alone, and answered 200", async () => {
      const { access_token: token, refresh_token: next } = await tokens()
      for (const one of [token, next, 'nonsense', 'a.b.c', '__proto__']) {
        assert.equal((await revoke(one, {}, { client_id: 'spa' })).status, 200)
      }
      assert.ok(await verified(token))
      assert.equal((await revoke(token, {})).status, 401)
      assert.equal((await revoke('')).status, 400)
    })

    it('RFC 7662 §2.2: introspection says what a token stands for', async () => {
      const { access_token: token, refresh_token: next } = await tokens({ scope: 'openid tree.read' })
      const { active, sub, client_id, scope, token_type } = await introspect(token)
      const expected = { active: true, sub: 'KWC6-X7D', client_id: 'web', scope: 'openid tree.read' }
      assert.deepEqual({ active, sub, client_id, scope, token_type }, { ...expected, token_type: 'Bearer' })
      assert.equal((await introspect(next)).active, true)
      await revoke(token)
      for (const one of [token, 'nonsense', 'a.b.c']) assert.deepEqual(await introspect(one), { active: false })
    })

    it('RFC 7662 §2.2: introspection tells another client nothing of the session or grant behind a token', async () => {
      const { access_token: token } = await tokens({ scope: 'openid tree.read' })
      const own = await introspect(token)
      assert.deepEqual([typeof own.sid, typeof own.grant_id], ['string', 'string'])
      clock.advance(1_000) // another assertion
      const others = await introspect(token, {}, await serviceAssertion(running.issuer, clock.date()))
      assert.deepEqual({ ...others, sid: own.sid, grant_id: own.grant_id }, own)
      assert.ok(!('sid' in others) && !('grant_id' in others))
      clock.advance(1_000)
    })

    it('RFC 7662 §2.1: introspection is for confidential clients only, and a refresh token for its own', async () => {
      const { access_token: token, refresh_token: next } = await tokens()
      assert.equal((await introspect(token, {}, { client_id: 'spa' })).error, 'unauthorized_client')
      assert.equal((await introspect(token, {})).error, 'invalid_client')
      const jwt = await serviceAssertion(running.issuer, clock.date())
      assert.deepEqual(await introspect(next, {}, jwt), { active: false })
    })

    it('POST /platform/logout ends the authorization and the website session', async () => {
      const agent = new UserAgent(running.issuer)
      const { access_token: token, refresh_token: next } = await tokens({}, agent)
      assert.notEqual((await agent.authorize(running.issuer, request())).location, null)
      const logout = (headers: Form) => post(`${running.origin}/platform/logout`, {}, headers)
      const bearer = { authorization: `Bearer ${token}` }
      for (const headers of [{}, { authorization: 'Bearer x' }]) assert.equal((await logout(headers)).status, 401)
      const response = await logout(bearer)
      assert.equal(response.status, 204)
      assert.match(response.headers.get('x-processing-time') ?? '', /^\d+$/)
      assert.equal(await verified(token), false)
      assert.equal((await json(await refresh(running.issuer, next))).error, 'invalid_grant')
      assert.equal((await agent.authorize(running.issuer, request())).title, 'Sign in')
      assert.equal((await logout(bearer)).status, 401)
    })

    if (format === 'opaque') {
      it('end after 60 idle minutes', async () => {
        const { access_token: token } = await tokens()
        assert.match(token, /^[\w-]{43}$/)
        clock.advance(59 * 60_000)
        assert.ok(await verified(token))
        clock.advance(59 * 60_000)
        assert.ok(await verified(token), 'each use begins the hour anew')
        clock.advance(60 * 60_000)
        assert.equal(await verified(token), false)
      })
    }
  })
}

async function serviceAssertion(issuer: string, nowMs: number): Promise<Form> {
  const exp = Math.floor(nowMs / 1_000) + 60
  const claims = { iss: 'service', sub: 'service', aud: issuer, exp, jti: String(nowMs) }
  return {
    client_assertion: await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(CLIENT_KEYS.privateKey),
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  }
}

describe('introspection by another app', () => {
  it('RFC 7662 §2.2: tells an API of tokens that are for it, a gateway of all, and a web app of none', async () => {
    const [tree, photos] = [{ audiences: ['https://tree.test'] }, { audiences: ['https://photos.test'] }]
    const site = { redirectUris: ['https://site.test/cb'] }
    const others = {
      tree,
      photos,
      'https://tree.test': {},
      gateway: { introspection: 'all' },
      site: { ...site, ...tree },
    }
    const named = Object.entries({ ...others, api: {}, shy: { ...tree, introspection: 'own' } })
    const apps = named.map(([id, more]) => ({ clientId: id, name: id, secret: 'secret', ...more }))
    const clients = clientDirectory([{ ...CLIENTS[0], ...tree }, ...apps] as ClientRegistration[])
    const audience = ['https://tree.test', 'https://photos.test']
    const { issuer } = await startServer({ clients, accessTokens: { format: 'opaque', audience } })
    const { access_token: token } = await tokensFor(issuer)
    for (const { clientId } of apps) {
      const authorization = `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:secret`).toString('base64')}`
      const { active } = await json(await post(`${issuer}/introspect`, { token }, { authorization }))
      assert.equal(active, ['tree', 'https://tree.test', 'gateway', 'api'].includes(clientId), clientId)
    }
  })
})

describe('logout at the website', () => {
  const running = serverOfSuite()
  const bye = { post_logout_redirect_uri: 'https://client.test/bye' }

  const signIn = async () => {
    const agent = new UserAgent(running.issuer)
    return { agent, hint: (await tokensFor(running.issuer, {}, agent)).id_token }
  }
  const leave = (agent: UserAgent, params: Form = {}) =>
    agent.request(`${running.issuer}/logout?${new URLSearchParams(params).toString()}`)
  const isSignedIn = async (agent: UserAgent) => (await agent.authorize(running.issuer, request())).location !== null

  it('RP-Initiated Logout §2: without it the user is asked, so that no other site can sign a user out', async () => {
    const { agent } = await signIn()
    const page = await leave(agent)
    assert.equal(page.title, 'Sign out?')
    assert.equal((await page.submit({}, { 'sec-fetch-site': 'cross-site' })).status, 403)
    assert.equal((await page.submit({ csrf: 'x' })).status, 403)
    assert.ok(await isSignedIn(agent))
    const done = await page.submit({})
    assert.deepEqual([done.title, agent.hasSession], ['You are signed out', false])
    assert.equal(await isSignedIn(agent), false)
  })

  it('with the id_token of a session that ended as another user signed in asks whether that one signs out', async () => {
    const { agent, hint } = await signIn()
    const { access_token: token } = await tokensFor(running.issuer, {}, agent)
    const login = await agent.authorize(running.issuer, request({ prompt: 'login' }))
    await (await login.logIn('bob', 'builder')).finish()
    const asked = await leave(agent, { ...bye, id_token_hint: hint })
    assert.deepEqual([asked.title, await running.server.verify(token)], ['Sign out?', undefined])
    assert.equal((await asked.submit({ action: 'logout' })).location, 'https://client.test/bye')
    assert.equal(await isSignedIn(agent), false)
  })

  it('RFC 8252 §7.3 and RP-Initiated Logout §3: the port of a loopback address may vary', async () => {
    const agent = new UserAgent(running.issuer)
    for (const [uri, status] of [
      ['http://127.0.0.1:49152/bye', 303],
      ['http://127.0.0.1/bye', 303],
      ['http://127.0.0.1:49152/other', 400],
      ['http://localhost:49152/bye', 400],
      ['http://127.0.0.1:99999/bye', 400],
    ] as const) {
      const page = await leave(agent, { client_id: 'native', post_logout_redirect_uri: uri })
      assert.deepEqual([page.status, page.location], [status, status === 303 ? uri : null], uri)
    }
  })
})
