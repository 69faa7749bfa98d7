import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import express from 'express'
import { type AuthorizationServer, authorizationServer, clientDirectory, memoryOAuthStore } from '../../lib/oauth'
import { type Listening, listen } from '../support/serve'
import { warned } from '../support/heard'
import { AS_WEB, CLIENTS, type Form, SIGNING_KEY, USERS, json, post, postJson, startServer } from './support'
import { UserAgent, codeForm, request, tokensFor } from './user-agent'

describe('two issuers over one store, with the same keys and apps', () => {
  let running: Listening
  let servers: AuthorizationServer[] = []
  let issuers: string[] = []
  before(async () => {
    const app = express()
    running = await listen(app)
    issuers = ['/a', '/b'].map((path) => running.url + path)
    const shared = { store: memoryOAuthStore(), signingKeys, users: USERS }
    const clients = clientDirectory(CLIENTS)
    const options = {
      ...shared,
      clients,
      accessTokens: { format: 'opaque' as const },
      pages: { terms: false as const },
    }
    servers = issuers.map((issuer) => authorizationServer({ ...options, issuer }))
    for (const [at, server] of servers.entries()) app.use(new URL(issuers[at] ?? '').pathname, server)
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
    await servers[0]?.revokeUser('KWC6-X7D')
    assert.equal((await json(await tokenOf(0, first))).error, 'invalid_grant')
    assert.equal((await tokenOf(1, second)).status, 200)
    const page = await new UserAgent(running.url).authorize(a, request())
    for (let i = 0; i < 11; i++) await page.logIn('ada', 'wrong')
    assert.equal((await page.logIn()).status, 429)
    assert.notEqual((await (await new UserAgent(running.url).authorize(b, request())).logIn()).location, null)
  })
})

describe('two issuers with the same keys', () => {
  it('a JWT of one is neither an access token nor an id_token_hint at the other', async () => {
    const [home, other] = [await startServer(), await startServer()]
    const { access_token: access, id_token: hint } = await tokensFor(home.issuer)
    for (const [{ issuer, server }, isHome] of [[other, false] as const, [home, true] as const]) {
      assert.equal((await server.verify(access))?.iss, isHome ? home.issuer : undefined)
      const user = await fetch(`${issuer}/userinfo`, { headers: { authorization: `Bearer ${access}` } })
      assert.equal(user.status, isHome ? 200 : 401)
      await fetch(`${issuer}/logout?${new URLSearchParams({ id_token_hint: hint }).toString()}`)
      assert.equal((await home.server.verify(access)) === undefined, isHome, 'only its own issuer ends the session')
    }
  })
})

const signingKeys = [{ key: SIGNING_KEY }]
const make = (issuer: string, more: object = {}) =>
  authorizationServer({
    issuer,
    clients: clientDirectory([]),
    users: USERS,
    signingKeys,
    log: () => undefined,
    ...more,
  })
const register = (uri: string, more: object = {}) =>
  clientDirectory([{ clientId: 'a', name: 'A', redirectUris: [uri] }], more)

const http = (hosts: string) => hosts.split(' ').map((host) => `http://${host}`)
const HERE = http('localhost:3000 app.localhost:3000 a.b.localhost 127.0.0.1 [::1]')
const INNER = http(
  'auth:3000 192.168.178.20:3000 host.docker.internal:3000 10.0.2.2:3000 172.16.0.1 [fd12::1] nas.local router.lan 169.254.1.1',
)
const PUBLIC = http('ident.example.org 8.8.8.8 172.32.0.1 localhost.example.org notlocalhost.org')

describe('an http issuer', () => {
  it('is taken on this machine, *.localhost included, and anywhere with allowHttp, without a word', async () => {
    const said = warned({ after })
    for (const issuer of HERE) make(issuer)
    for (const issuer of [...INNER, ...PUBLIC]) make(issuer, { allowHttp: true })
    await setImmediate()
    assert.deepEqual(said, [])
  })

  it('is refused on the public Internet, and taken on a local network with one warning', async () => {
    const said = warned({ after })
    for (const issuer of PUBLIC)
      assert.throws(() => make(issuer), /issuer must be an https URL .* allowHttp: true/, issuer)
    for (const issuer of INNER) make(issuer)
    await setImmediate()
    assert.equal(said.length, 1)
    assert.match(said[0] ?? '', /the issuer http:\/\/auth:3000 is http on a local network.*allowHttp: true/)
  })
})

describe('an http redirect URI', () => {
  it('is as the issuer: this machine, a local network, or anywhere with allowHttp', () => {
    for (const origin of [...HERE, ...INNER]) register(`${origin}/cb`)
    for (const origin of PUBLIC) {
      assert.throws(
        () => register(`${origin}/cb`),
        /must be https except on localhost, or with allowHttp: true/,
        origin,
      )
      register(`${origin}/cb`, { allowHttp: true })
    }
  })

  it('of a stranger is this machine alone, and any host where the server has allowHttp', async () => {
    for (const allowHttp of [false, true]) {
      const { issuer } = await startServer({ registration: { accept: () => ({}) }, allowHttp })
      const status = async (uri: string) => {
        const metadata = { redirect_uris: [uri], token_endpoint_auth_method: 'none' }
        return (await postJson(`${issuer}/register`, metadata)).status
      }
      assert.equal(await status('http://app.localhost:5000/cb'), 201)
      for (const origin of [...INNER, ...PUBLIC])
        assert.equal(await status(`${origin}/cb`), allowHttp ? 201 : 400, origin)
      assert.equal(await status('javascript:alert(1)'), 400)
      const bye = { redirect_uris: ['https://a.test/'], post_logout_redirect_uris: ['http://nas.test/'] }
      const response = await postJson(`${issuer}/register`, bye)
      assert.equal(response.status, allowHttp ? 201 : 400)
      if (!allowHttp) assert.match(String((await json(response)).error_description), /allowHttp: true/)
    }
  })

  it('of *.localhost matches with any port for a native app, as that of localhost does', async () => {
    const app = { name: 'A', realm: '/a', redirectUris: ['http://app.localhost/cb'], approval: 'auto' as const }
    const clients = clientDirectory([
      { ...app, clientId: 'a', anyLocalhostPort: true },
      { ...app, clientId: 'b', anyLocalhostPort: false },
      { ...app, clientId: 'native', redirectUris: ['http://localhost:3000/cb', 'com.example.app:/cb'] },
    ])
    const { issuer } = await startServer({ clients })
    const status = async (client_id: string, redirect_uri: string) =>
      (await new UserAgent(issuer).authorize(issuer, request({ client_id, redirect_uri }))).status
    assert.equal(await status('a', 'http://app.localhost:5173/cb'), 200)
    assert.equal(await status('native', 'http://localhost:49152/cb'), 200)
    for (const place of ['other.localhost:5173/cb', 'app.localhost:5173/other', 'app.localhost:99999/cb'])
      assert.equal(await status('a', `http://${place}`), 400, place)
    assert.deepEqual(
      [await status('b', 'http://app.localhost/cb'), await status('b', 'http://app.localhost:1/cb')],
      [200, 400],
    )
  })
})
