// `npm run test:browser`: apps in the browser that ask for response_mode=fragment and offline_access by themselves.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { PublicClientApplication } from '@azure/msal-browser'
import cors from 'cors'
import express, { type RequestHandler } from 'express'
import type Keycloak from 'keycloak-js'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launch } from '../browser/looks'
import { closed } from '../oauth/support'
import { startOverTls } from './over-tls'

const MODULES = 'spec/clients/node_modules'

interface AppWindow {
  readonly msal: typeof import('@azure/msal-browser')
  pca: PublicClientApplication
  readonly Keycloak: typeof Keycloak
  keycloak: Keycloak
}

describe('an app in the browser', () => {
  let browser: Browser
  let site: Server
  let home: string
  let system: Awaited<ReturnType<typeof startOverTls>>
  let context: BrowserContext
  let page: Page
  let isNamed = false
  before(async () => {
    browser = await launch()
    const app = express()
    app.get('/msal.js', (_req, res) =>
      res.sendFile(`${MODULES}/@azure/msal-browser/lib/msal-browser.min.js`, { root: '.' }),
    )
    app.get('/keycloak.js', (_req, res) => res.sendFile(`${MODULES}/keycloak-js/lib/keycloak.js`, { root: '.' }))
    app.use((_req, res) => {
      res.send(`<link rel="icon" href="data:,"><h1>the app</h1><script src="/msal.js"></script>
        <script type="module">import Keycloak from '/keycloak.js'; window.Keycloak = Keycloak</script>`)
    })
    site = createServer(app).listen(0)
    await once(site, 'listening')
    home = `http://localhost:${(site.address() as AddressInfo).port}`
  })
  after(async () => {
    await browser.close()
    await closed(site)
  })
  beforeEach(async () => {
    const app = { redirectUris: [`${home}/cb`], postLogoutRedirectUris: [`${home}/bye`] }
    // keycloak-js sends cookies along, so its origin must be named. MSAL takes what the server allows by itself.
    const named = cors({ origin: home, credentials: true })
    const first: RequestHandler = (req, res, next) => (isNamed ? named(req, res, next) : next())
    system = await startOverTls(() => app, {}, first)
    context = await browser.newContext({ ignoreHTTPSErrors: true })
    page = await context.newPage()
  })
  afterEach(async () => {
    await context.close()
    await system.close()
  })

  const isActive = async (token: string | undefined) => (await system.server.verify(token ?? '')) !== undefined
  /** At the server's page, and back at the app. */
  const logIn = async () => {
    await page.waitForURL(`${system.issuer}/authorization?**`)
    const asked = new URL(page.url()).searchParams
    await page.fill('#username', 'ada')
    await page.fill('#password', 'analytical engine')
    await page.click('button[value=login]')
    await page.waitForURL(`${home}/cb**`)
    return asked
  }

  it('with @azure/msal-browser signs in, refreshes silently and signs out', async () => {
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
    isNamed = true
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
