// `npm run test:browser`: an app in the browser, on an origin of its own, signs its users in by oidc-client-ts.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import cors from 'cors'
import express from 'express'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { UserManager } from 'oidc-client-ts'
import { type AuthorizationServerOptions, userDirectory } from '../../lib/oauth'
import { type LoginSystem, startLoginSystem } from './today'
import { closed } from '../oauth/support'
import { faultsOf, launch } from '../browser/looks'
import { assertIs, above } from '../support/until'

const LIBRARY = readFileSync('spec/clients/node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', 'utf8')

/** What the app's page has: the library, and its manager once `start()` was called. */
interface AppWindow {
  readonly oidc: typeof import('oidc-client-ts')
  manager: UserManager
}

describe('oidc-client-ts in a browser', () => {
  let browser: Browser
  let site: Server
  let home: string
  before(async () => {
    browser = await launch()
    const app = express()
    app.get('/oidc.js', (_req, res) => void res.type('js').send(LIBRARY))
    app.use(
      (_req, res) => void res.send('<link rel="icon" href="data:,"><h1>the app</h1><script src="/oidc.js"></script>'),
    )
    site = createServer(app).listen(0)
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
    context = await browser.newContext()
    page = await context.newPage()
    faults = faultsOf(page)
  })
  afterEach(async () => {
    await context.close()
    await system.close()
    assert.deepEqual(faults, [])
  })

  const startSystem = (options: Partial<AuthorizationServerOptions> = {}) =>
    startLoginSystem(
      () => ({ redirectUris: [`${home}/cb`], postLogoutRedirectUris: [`${home}/bye`] }),
      options,
      cors({ origin: home, exposedHeaders: ['DPoP-Nonce', 'WWW-Authenticate'] }),
    )

  /** Makes the page's manager, as the app's script would each time it is loaded. */
  const start = (isBound: boolean) =>
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
    await start(isBound)
    await Promise.all([
      page.waitForURL(`${system.issuer}/authorization?**`),
      page.evaluate(() => void (window as unknown as AppWindow).manager.signinRedirect()), // settles never: the page goes
    ])
    await page.fill('#username', 'ada')
    await page.fill('#password', 'analytical engine')
    await page.click('button[value=login]')
    await page.click('button[value=accept]')
    await page.waitForURL(`${home}/cb?**`)
    await start(isBound)
    return page.evaluate(async () => {
      const user = await (window as unknown as AppWindow).manager.signinCallback()
      return { ...user, profile: { ...user?.profile } }
    })
  }

  it('signs a user in with PKCE, asks userinfo, renews in silence, revokes and signs out', async () => {
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

  it('signs out with an id_token of more than 6,000 characters, and the session is over', async () => {
    const claims = { name: 'Ada', picture: `https://photos.test/${'p'.repeat(4_400)}` }
    const ada = { id: 'KWC6-X7D', username: 'ada', password: 'analytical engine', claims }
    system = await startSystem({ users: userDirectory([ada], { cost: 10 }) })
    const user = await signIn()
    assertIs((user.id_token ?? '').length, above(6_000), `${user.id_token?.length}`)
    await Promise.all([
      page.waitForURL(`${home}/bye`),
      page.evaluate(() => void (window as unknown as AppWindow).manager.signoutRedirect()),
    ])
    await start(false)
    await Promise.all([
      page.waitForURL(`${system.issuer}/authorization?**`),
      page.evaluate(() => void (window as unknown as AppWindow).manager.signinRedirect()),
    ])
    assert.equal(await page.locator('h1').innerText(), 'Sign in')
  })

  it('proves its key with DPoP, nonce included, for a code and tokens that are bound to it', async () => {
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
})
