import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import express from 'express'
import {
  type AuthorizationServer,
  authorizationServer,
  clientDirectory,
  memoryOAuthStore,
  userDirectory,
} from '../../lib/oauth'
import { AS_WEB, CLIENTS, type Form, SIGNING_KEY, json, post, startServer } from './support'
import { UserAgent, codeForm, request } from './user-agent'
import { type Listening, listen } from '../support/serve'

describe('two issuers over one store, with the same keys and apps', () => {
  let running: Listening
  const servers: AuthorizationServer[] = []
  let issuers: string[] = []
  before(async () => {
    const app = express()
    running = await listen(app)
    const store = memoryOAuthStore()
    issuers = ['/a', '/b'].map((path) => running.url + path)
    for (const issuer of issuers) {
      const server = authorizationServer({
        issuer,
        store,
        signingKeys: [{ key: SIGNING_KEY }],
        users: userDirectory([{ id: '1', username: 'ada', password: 'analytical engine' }], { cost: 10 }),
        clients: clientDirectory(CLIENTS),
        accessTokens: { format: 'opaque' },
        pages: { terms: false },
      })
      servers.push(server)
      app.use(new URL(issuer).pathname, server)
    }
  })
  after(() => running.close())

  const tokenOf = (at: number, form: Form) => post(`${issuers[at]}/token`, form, AS_WEB)

  it('a session of one is unknown to the other, and neither cookie replaces the other', async () => {
    const agent = new UserAgent(running.url)
    const [a = '', b = ''] = issuers
    await (await agent.authorize(a, request())).logIn()
    assert.equal((await agent.authorize(b, request())).title, 'Sign in')
    await (await agent.authorize(b, request())).logIn()
    for (const issuer of issuers) assert.notEqual((await agent.authorize(issuer, request())).params.get('code'), null)
    assert.equal(new Set(agent.cookies.keys()).size, 6)
  })

  it('a page, a code, a pushed request, a refresh token, an access token and an assertion hold at their own', async () => {
    const [a = '', b = ''] = issuers
    const page = await new UserAgent(running.url).authorize(a, request())
    const moved = await page.agent.request(`${b}/login`, {
      method: 'POST',
      body: new URLSearchParams({ ...page.fields, username: 'ada', password: 'analytical engine', action: 'login' }),
    })
    assert.equal(moved.location, null)

    assert.equal((await json(await tokenOf(1, await codeForm(a)))).error, 'invalid_grant')
    const tokens = await json(await tokenOf(0, await codeForm(a)))
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string }
    assert.equal((await json(await tokenOf(1, refresh))).error, 'invalid_grant')
    const access = tokens.access_token as string
    assert.deepEqual([(await servers[0]?.verify(access))?.iss, await servers[1]?.verify(access)], [a, undefined])
    const about = await json(await post(`${b}/introspect`, { token: access }, AS_WEB))
    assert.equal(about.active, false)
    await post(`${b}/revoke`, { token: access }, AS_WEB)
    assert.notEqual(await servers[0]?.verify(access), undefined)
    assert.equal((await tokenOf(0, refresh)).status, 200)

    const { request_uri: uri } = await json(await post(`${a}/par`, request(), AS_WEB))
    const form = { client_id: 'web', request_uri: uri as string }
    assert.equal((await new UserAgent(running.url).authorize(b, form)).status, 400)
    assert.equal((await new UserAgent(running.url).authorize(a, form)).status, 200)
  })

  it('revokeUser() and failed logins at one do not affect the other', async () => {
    const [a = '', b = ''] = issuers
    const [first, second] = [await codeForm(a), await codeForm(b)]
    await servers[0]?.revokeUser('1')
    assert.equal((await json(await tokenOf(0, first))).error, 'invalid_grant')
    assert.equal((await tokenOf(1, second)).status, 200)
    const page = await new UserAgent(running.url).authorize(a, request())
    for (let i = 0; i < 11; i++) await page.logIn('ada', 'wrong')
    assert.equal((await page.logIn()).status, 429)
    assert.notEqual((await (await new UserAgent(running.url).authorize(b, request())).logIn()).location, null)
  })
})

describe('two issuers with the same keys', () => {
  it('a JWT of one is neither an access token nor an id_token_hint at the other', async (t) => {
    const servers = [await startServer(), await startServer()]
    t.after(() => Promise.all(servers.map((one) => one.close())))
    const [home, other] = servers as [(typeof servers)[0], (typeof servers)[0]]
    const tokens = (await json(await post(`${home.issuer}/token`, await codeForm(home.issuer), AS_WEB))) as Form
    const { access_token: access = '', id_token: hint = '' } = tokens
    for (const [{ issuer, server }, isHome] of [[other, false] as const, [home, true] as const]) {
      assert.equal((await server.verify(access))?.iss, isHome ? home.issuer : undefined)
      const user = await fetch(`${issuer}/userinfo`, { headers: { authorization: `Bearer ${access}` } })
      assert.equal(user.status, isHome ? 200 : 401)
      await fetch(`${issuer}/logout?${new URLSearchParams({ id_token_hint: hint }).toString()}`)
      assert.equal((await home.server.verify(access)) === undefined, isHome, 'only its own issuer ends the session')
    }
  })
})
