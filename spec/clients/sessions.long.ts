// Libraries that keep a user's session in the app's own server.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import OAuth2Strategy from 'passport-oauth2'
import { Passport } from 'passport'
import { closed } from '../oauth/support'
import { UserAgent } from '../oauth/user-agent'
import { CERT } from '../support/tls'
import { startOverTls } from './over-tls'
import { SECRET, type LoginSystem, follow, startLoginSystem } from './today'

describe('passport-oauth2', () => {
  let system: LoginSystem
  before(async () => {
    system = await startLoginSystem(() => ({ secret: SECRET, defaultScope: ['openid', 'tree.read'] }), {
      dialect: 'standard',
    })
  })
  after(() => system.close())

  it('signs in by its defaults, without a scope, refreshes and signs out', async () => {
    const issued: { access: string; refresh: string; params: Record<string, string> }[] = []
    const strategy = new OAuth2Strategy(
      {
        authorizationURL: `${system.issuer}/authorization`,
        tokenURL: `${system.issuer}/token`,
        ...{ clientID: 'app', clientSecret: SECRET, callbackURL: system.callback, pkce: true, state: true },
      },
      (
        access: string,
        refresh: string,
        params: Record<string, string>,
        _profile: unknown,
        done: (err: null, user: object) => void,
      ) => {
        issued.push({ access, refresh, params })
        done(null, { id: 'user' })
      },
    )
    const passport = new Passport()
    passport.use(strategy)
    const session: Record<string, unknown> = {}
    system.mount('/', (req, _res, next) => (Object.assign(req, { session }), next()))
    system.mount('/login', passport.authenticate('oauth2', { session: false }))
    system.mount('/cb', (req, res, next) => {
      passport.authenticate('oauth2', { session: false })(req, res, (err?: unknown) =>
        err ? next(err) : void res.end('in'),
      )
    })
    const agent = new UserAgent(system.origin)
    const page = await follow(agent, `${system.origin}/login`, () => false)
    assert.equal(typeof page === 'string' ? page : page.text, 'in')
    const [first] = issued
    assert.equal(first?.params.scope, 'openid tree.read')
    const tokens = await new Promise<{ access: string; refresh: string }>((resolve, reject) => {
      const oauth2 = (strategy as unknown as { _oauth2: OAuth2 })._oauth2
      const form = { grant_type: 'refresh_token' }
      oauth2.getOAuthAccessToken(first?.refresh ?? '', form, (err, access, refresh) =>
        err ? reject(new Error(JSON.stringify(err))) : resolve({ access, refresh }),
      )
    })
    assert.ok(await system.server.verify(tokens.access))
    const leave = new URLSearchParams({
      id_token_hint: first?.params.id_token ?? '',
      post_logout_redirect_uri: system.origin,
    })
    assert.equal((await agent.request(`${system.issuer}/logout?${leave.toString()}`)).location, system.origin)
    assert.equal(await system.server.verify(tokens.access), undefined)
  })
})

/** What passport-oauth2 has inside, and apps refresh with. */
interface OAuth2 {
  getOAuthAccessToken(token: string, form: object, done: (err: unknown, access: string, refresh: string) => void): void
}

describe('@hono/oidc-auth', () => {
  let site: Server
  before(async () => {
    site = createServer().listen(0, '127.0.0.1')
    await once(site, 'listening')
  })
  after(() => closed(site))

  it('signs in with all scopes that discovery lists, refreshes behind the session, and revokes', async (t) => {
    const home = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    const system = await startOverTls(() => ({ secret: SECRET, redirectUris: [`${home}/callback`], scopes: [] }))
    t.after(() => system.close())
    // The library has no setting for a certificate of one's own.
    const { Agent, setGlobalDispatcher, getGlobalDispatcher } = await import('undici')
    const usual = getGlobalDispatcher()
    setGlobalDispatcher(new Agent({ connect: { ca: CERT } }))
    t.after(() => setGlobalDispatcher(usual))

    const { Hono } = await import('hono')
    const { getRequestListener } = await import('@hono/node-server')
    const oidc = await import('@hono/oidc-auth')
    const app = new Hono()
    app.use(
      oidc.initOidcAuthMiddleware({
        ...{ OIDC_AUTH_SECRET: 's'.repeat(32), OIDC_AUTH_REFRESH_INTERVAL: '-1', OIDC_ISSUER: system.issuer },
        ...{ OIDC_CLIENT_ID: 'app', OIDC_CLIENT_SECRET: SECRET, OIDC_REDIRECT_URI: `${home}/callback` },
      }),
    )
    app.get('/logout', async (c) => (await oidc.revokeSession(c), c.text('out')))
    app.get('/callback', (c) => oidc.processOAuthCallback(c))
    app.use('*', oidc.oidcAuthMiddleware())
    app.get('/', async (c) => c.json(await oidc.getAuth(c)))
    const answer = getRequestListener(app.fetch)
    site.on('request', (req, res) => void answer(req, res))

    const signedIn = async (agent: UserAgent) => {
      const { text } = await agent.request(`${home}/`)
      return (JSON.parse(text) as { sub: string; email: string; rtk: string }).sub
    }
    const agent = new UserAgent(home)
    const atServer = new UserAgent(system.origin)
    const { location: asked } = await agent.request(`${home}/`)
    assert.match(new URL(asked ?? '').searchParams.get('scope') ?? '', /offline_access/)
    const back = await follow(atServer, asked ?? '', (to) => to.startsWith(home))
    await agent.request(back as string)
    assert.equal(await signedIn(agent), 'KWC6-X7D')
    assert.equal(await signedIn(agent), 'KWC6-X7D', 'each request refreshes')
    const kept = new Map(agent.cookies)
    await agent.request(`${home}/logout`)
    for (const [name, value] of kept) agent.cookies.set(name, value)
    assert.equal((await agent.request(`${home}/`)).status, 302, 'the refresh token is revoked')
  })
})
