// `npm run test:browser`: libraries of apps in the browser, on an origin of their own, sign users in.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { PublicClientApplication } from '@azure/msal-browser'
import cors from 'cors'
import express from 'express'
import type Keycloak from 'keycloak-js'
import type { UserManager } from 'oidc-client-ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { type AuthorizationServerOptions, userDirectory } from '../../lib/oauth'
import { faultsOf, launch } from '../browser/looks'
import { closed } from '../oauth/support'
import { assertIs, above } from '../support/until'
import { startOverTls } from './over-tls'
import { type LoginSystem, startLoginSystem } from './today'

/** What the app's page has: the libraries, and what they made once `start()` was called. */
interface AppWindow {
  readonly oidc: typeof import('oidc-client-ts')
  manager: UserManager
  readonly msal: typeof import('@azure/msal-browser')
  pca: PublicClientApplication
  readonly Keycloak: typeof Keycloak
  keycloak: Keycloak
}

const SCRIPTS = {
  '/oidc.js': 'oidc-client-ts/dist/browser/oidc-client-ts.min.js',
  '/msal.js': '@azure/msal-browser/lib/msal-browser.min.js',
  '/keycloak.js': 'keycloak-js/lib/keycloak.js',
}

/** @param api the API that Swagger UI shows */
function siteWith(api: () => object): express.Express {
  const app = express()
  for (const [path, file] of Object.entries(SCRIPTS))
    app.get(path, (_req, res) => res.sendFile(`spec/clients/node_modules/${file}`, { root: '.' }))
  app.get('/api.json', (_req, res) => void res.json(api()))
  app.get('/swagger', (_req, res) => {
    res.send(`<link rel="icon" href="data:,"><div id="ui"></div><script src="/swagger-ui-bundle.js"></script><script>
      const ui = SwaggerUIBundle({ url: '/api.json', dom_id: '#ui', oauth2RedirectUrl: location.origin + '/oauth2-redirect.html' })
      ui.initOAuth({ clientId: 'app', scopes: 'openid', usePkceWithAuthorizationCodeGrant: true })</script>`)
  })
  app.use(express.static('spec/clients/node_modules/swagger-ui-dist', { index: false }))
  return app.use((_req, res) => {
    res.send(`<link rel="icon" href="data:,"><h1>the app</h1><script src="/oidc.js"></script><script src="/msal.js"></script>
      <script type="module">import Keycloak from '/keycloak.js'; window.Keycloak = Keycloak</script>`)
  })
}

describe('an app in the browser', () => {
  let browser: Browser
  let site: Server
  let home: string
  let api: object = {}
  before(async () => {
    browser = await launch()
    site = createServer(siteWith(() => api)).listen(0)
    await once(site, 'listening')
    home = `http://localhost:${(site.address() as AddressInfo).port}`
  })
  after(async () => {
    await browser.close()
    await closed(site)
  })

  let context: BrowserContext
  let page: Page
  let faults: string[]
  let system: LoginSystem
  beforeEach(async () => {
    context = await browser.newContext({ ignoreHTTPSErrors: true })
    page = await context.newPage()
    faults = faultsOf(page)
  })
  afterEach(async () => {
    await context.close()
    await system.close()
    assert.deepEqual(faults, [])
  })

  const app = () => ({
    redirectUris: [`${home}/cb`, `${home}/oauth2-redirect.html`],
    postLogoutRedirectUris: [`${home}/bye`],
  })
  const startSystem = (options: Partial<AuthorizationServerOptions> = {}) =>
    startLoginSystem(app, options, cors({ origin: home, exposedHeaders: ['DPoP-Nonce', 'WWW-Authenticate'] }))
  const isActive = async (token: string | undefined) => (await system.server.verify(token ?? '')) !== undefined
  const fillIn = async (login: Page) => {
    await login.fill('#username', 'ada')
    await login.fill('#password', 'analytical engine')
    await login.click('button[value=login]')
  }
  /** At the server's page, and back at the app, without terms. */
  const logIn = async () => {
    await page.waitForURL(`${system.issuer}/authorization?**`)
    const asked = new URL(page.url()).searchParams
    await fillIn(page)
    await page.waitForURL(`${home}/cb**`)
    return asked
  }

  /** Makes the page's manager, as the app's script would each time it is loaded. */
  const startManager = (isBound: boolean) =>
    page.evaluate(
      ({ settings, isBound }) => {
        const app = window as unknown as AppWindow
        const dpop = isBound && { dpop: { bind_authorization_code: true, store: new app.oidc.IndexedDbDPoPStore() } }
        app.manager = new app.oidc.UserManager({ ...settings, ...dpop })
      },
      {
        isBound,
        settings: {
          authority: system.issuer,
          client_id: 'app',
          redirect_uri: `${home}/cb`,
          post_logout_redirect_uri: `${home}/bye`,
          scope: 'openid profile email',
          loadUserInfo: !isBound, // the library sends no proof with it
          automaticSilentRenew: false,
        },
      },
    )
  /** To the server, through login and terms, and back to the app. */
  const signIn = async (isBound = false) => {
    await page.goto(home)
    await startManager(isBound)
    await Promise.all([
      page.waitForURL(`${system.issuer}/authorization?**`),
      page.evaluate(() => void (window as unknown as AppWindow).manager.signinRedirect()), // settles never: the page goes
    ])
    await fillIn(page)
    await page.click('button[value=accept]')
    await page.waitForURL(`${home}/cb?**`)
    await startManager(isBound)
    return page.evaluate(async () => {
      const user = await (window as unknown as AppWindow).manager.signinCallback()
      return { ...user, profile: { ...user?.profile } }
    })
  }

  it('with oidc-client-ts signs a user in with PKCE, asks userinfo, renews in silence, revokes and signs out', async () => {
    system = await startSystem()
    const user = await signIn()
    assert.deepEqual(
      [user.profile.sub, user.profile.given_name, user.profile.email],
      ['KWC6-X7D', 'Ada', 'ada@example.org'],
    )
    assert.ok(await system.server.verify(user.access_token as string))

    const fresh = await page.evaluate(async () => {
      const fresh = await (window as unknown as AppWindow).manager.signinSilent()
      return { accessToken: fresh?.access_token, refreshToken: fresh?.refresh_token }
    })
    assert.notEqual(fresh.accessToken, user.access_token)
    assert.notEqual(fresh.refreshToken, user.refresh_token)
    assert.ok(await system.server.verify(fresh.accessToken as string))
    await page.evaluate(() => (window as unknown as AppWindow).manager.revokeTokens())
    assert.equal(await system.server.verify(fresh.accessToken as string), undefined)

    await Promise.all([
      page.waitForURL(`${home}/bye`),
      page.evaluate(() => void (window as unknown as AppWindow).manager.signoutRedirect()), // settles never: the page goes
    ])
    assert.equal(await page.locator('h1').innerText(), 'the app')
  })

  it('with oidc-client-ts signs out with an id_token of more than 6,000 characters, and the session is over', async () => {
    const claims = { name: 'Ada', picture: `https://photos.test/${'p'.repeat(4_400)}` }
    const ada = { id: 'KWC6-X7D', username: 'ada', password: 'analytical engine', claims }
    system = await startSystem({ users: userDirectory([ada], { cost: 10 }) })
    const user = await signIn()
    assertIs((user.id_token ?? '').length, above(6_000), `${user.id_token?.length}`)
    await Promise.all([
      page.waitForURL(`${home}/bye`),
      page.evaluate(() => void (window as unknown as AppWindow).manager.signoutRedirect()),
    ])
    await startManager(false)
    await Promise.all([
      page.waitForURL(`${system.issuer}/authorization?**`),
      page.evaluate(() => void (window as unknown as AppWindow).manager.signinRedirect()),
    ])
    assert.equal(await page.locator('h1').innerText(), 'Sign in')
  })

  it('with oidc-client-ts proves its key with DPoP, nonce included, for a code and tokens that are bound to it', async () => {
    system = await startSystem({ dpop: { nonce: true } })
    const user = await signIn(true)
    assert.equal(user.token_type, 'DPoP')
    const claims = await system.server.verify(user.access_token as string)
    assert.match(claims?.cnf?.jkt ?? '', /^[\w-]{43}$/)
    const asked = await page.evaluate(async (url) => {
      const { manager } = window as unknown as AppWindow
      const user = await manager.signinSilent()
      if (!user) throw new Error('nobody is signed in')
      const headers = { authorization: `DPoP ${user.access_token}` }
      let dpop = (await manager.dpopProof(url, user, 'GET')) as string
      let answer = await fetch(url, { headers: { ...headers, dpop } })
      if (answer.status === 401) {
        dpop = (await manager.dpopProof(url, user, 'GET', answer.headers.get('DPoP-Nonce') ?? '')) as string
        answer = await fetch(url, { headers: { ...headers, dpop } })
      }
      return { type: user.token_type, claims: (await answer.json()) as Record<string, unknown> }
    }, `${system.issuer}/userinfo`)
    assert.deepEqual([asked.type, asked.claims.email], ['DPoP', 'ada@example.org'])
  })

  it('with signinPopup() of oidc-client-ts gets the user of a popup', async () => {
    system = await startSystem({ pages: { terms: false } })
    await page.goto(home)
    const settings = { authority: system.issuer, client_id: 'app', redirect_uri: `${home}/cb`, scope: 'openid' }
    const opened = page.waitForEvent('popup')
    const user = page.evaluate(async (given) => {
      const { oidc } = window as unknown as { oidc: typeof import('oidc-client-ts') }
      return (await new oidc.UserManager(given).signinPopup()).profile.sub
    }, settings)
    const popup = await opened
    await popup.waitForSelector('#username')
    assert.equal(popup.isClosed(), false)
    await fillIn(popup)
    await popup.waitForURL(`${home}/cb?**`)
    await popup.evaluate(async (given) => {
      const { oidc } = window as unknown as { oidc: typeof import('oidc-client-ts') }
      await new oidc.UserManager(given).signinPopupCallback()
    }, settings)
    assert.equal(await user, 'KWC6-X7D')
  })

  it('of Swagger UI gets a token by Authorize', async () => {
    system = await startSystem({ pages: { terms: false } })
    const flow = { authorizationUrl: `${system.issuer}/authorization`, tokenUrl: `${system.issuer}/token` }
    const authorizationCode = { ...flow, scopes: { openid: 'who you are' } }
    api = {
      openapi: '3.0.3',
      info: { title: 'API', version: '1' },
      paths: { '/tree': { get: { security: [{ login: ['openid'] }], responses: { 200: { description: 'ok' } } } } },
      components: { securitySchemes: { login: { type: 'oauth2', flows: { authorizationCode } } } },
    }
    await page.goto(`${home}/swagger`)
    await page.click('button.btn.authorize')
    const opened = page.waitForEvent('popup')
    await page.click('.auth-container button.authorize')
    const popup = await opened
    await popup.waitForSelector('#username')
    await fillIn(popup)
    await page.waitForSelector('.auth-container button:has-text("Logout")')
  })

  it('with @azure/msal-browser signs in, refreshes silently and signs out', async () => {
    system = await startOverTls(app) // the server allows the origin by itself
    const start = () =>
      page.evaluate(
        async ([authority, home]) => {
          const app = window as unknown as AppWindow
          app.pca = new app.msal.PublicClientApplication({
            auth: {
              ...{ clientId: 'app', authority, knownAuthorities: [new URL(authority).host] },
              ...{ redirectUri: `${home}/cb`, postLogoutRedirectUri: `${home}/bye` },
            },
            system: { protocolMode: 'OIDC' },
          })
          await app.pca.initialize()
          const back = await app.pca.handleRedirectPromise({ navigateToLoginRequestUrl: false })
          return back && { token: back.accessToken, scopes: back.scopes, user: back.uniqueId }
        },
        [system.issuer, home] as const,
      )
    await page.goto(home)
    await start()
    void page
      .evaluate(() => (window as unknown as AppWindow).pca.loginRedirect({ scopes: ['tree.read'] }))
      .catch(() => undefined)
    const asked = await logIn()
    assert.deepEqual([asked.get('response_mode'), /offline_access/.test(asked.get('scope') ?? '')], ['fragment', true])
    const first = await start()
    assert.equal(first?.user, 'KWC6-X7D')
    assert.ok(await isActive(first?.token))
    const second = await page.evaluate(async () => {
      const { pca } = window as unknown as AppWindow
      const [account] = pca.getAllAccounts()
      if (!account) throw new Error('nobody is signed in')
      return (await pca.acquireTokenSilent({ account, scopes: ['tree.read'], forceRefresh: true })).accessToken
    })
    assert.notEqual(second, first?.token)
    void page
      .evaluate(() => {
        const { pca } = window as unknown as AppWindow
        const [account] = pca.getAllAccounts()
        return pca.logoutRedirect({
          account: account ?? null,
          ...(account?.idToken && { idTokenHint: account.idToken }),
        })
      })
      .catch(() => undefined)
    await page.waitForURL(/\/(bye|logout)/)
    if (page.url().startsWith(system.issuer)) await page.click('button[value=logout]')
    await page.waitForURL(`${home}/bye**`)
    assert.equal(await isActive(second), false)
  })

  it('with keycloak-js signs in, refreshes and signs out', async () => {
    // It sends cookies along, so its origin must be named.
    system = await startOverTls(app, {}, cors({ origin: home, credentials: true }))
    const start = (onLoad?: 'login-required') =>
      page.evaluate(
        async ([oidcProvider, onLoad, home]) => {
          const app = window as unknown as AppWindow
          // The library reads refresh tokens as JWTs, which they need not be (RFC 6749 §1.5): the page dresses them up.
          const fetch = window.fetch.bind(window)
          window.fetch = async (input, init) => {
            const url = input as string
            if (!url.endsWith('/token')) return fetch(url, init)
            const body = new URLSearchParams(
              (init?.body as URLSearchParams).toString().replace('refresh_token=e30.e30.', 'refresh_token='),
            )
            const response = await fetch(url, { ...init, body })
            const answer = (await response.json()) as Record<string, string>
            if (!response.ok) throw new Error(JSON.stringify(answer))
            return Response.json({ ...answer, refresh_token: `e30.e30.${answer.refresh_token}` })
          }
          app.keycloak = new app.Keycloak({ clientId: 'app', oidcProvider })
          await app.keycloak.init({
            ...{ checkLoginIframe: false, pkceMethod: 'S256', scope: 'openid tree.read', redirectUri: `${home}/cb` },
            ...(onLoad && { onLoad }),
          })
          return { token: app.keycloak.token, sub: app.keycloak.idTokenParsed?.sub }
        },
        [system.issuer, onLoad, home] as const,
      )
    await page.goto(home)
    void start('login-required').catch(() => undefined)
    const asked = await logIn()
    assert.equal(asked.get('response_mode'), 'fragment')
    const first = await start()
    assert.equal(first.sub, 'KWC6-X7D')
    assert.ok(await isActive(first.token))
    const second = await page.evaluate(async () => {
      const { keycloak } = window as unknown as AppWindow
      await keycloak.updateToken(-1)
      return keycloak.token
    })
    assert.notEqual(second, first.token)
    const leave = (to: string) => void (window as unknown as AppWindow).keycloak.logout({ redirectUri: to })
    void page.evaluate(leave, `${home}/bye`).catch(() => undefined)
    await page.waitForURL(`${home}/bye**`)
    assert.equal(await isActive(second), false)
  })
})
