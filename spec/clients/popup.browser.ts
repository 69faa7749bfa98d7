// `npm run test:browser`: apps whose login page is a popup, which reports back to the page that opened it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import cors from 'cors'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { type LoginSystem, startLoginSystem } from './today'
import { closed } from '../oauth/support'
import { launch } from '../browser/looks'

const OIDC = readFileSync('spec/clients/node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', 'utf8')

describe('an app with a popup', () => {
  let browser: Browser
  let site: Server
  let home: string
  let system: LoginSystem
  let spec: object = {}
  before(async () => {
    browser = await launch()
    const app = express()
    app.get('/oidc.js', (_req, res) => void res.type('js').send(OIDC))
    app.get('/api.json', (_req, res) => void res.json(spec))
    app.get('/swagger', (_req, res) => {
      res.send(`<link rel="icon" href="data:,"><div id="ui"></div><script src="/swagger-ui-bundle.js"></script><script>
        const ui = SwaggerUIBundle({ url: '/api.json', dom_id: '#ui', oauth2RedirectUrl: location.origin + '/oauth2-redirect.html' })
        ui.initOAuth({ clientId: 'app', scopes: 'openid', usePkceWithAuthorizationCodeGrant: true })</script>`)
    })
    app.use(express.static('spec/clients/node_modules/swagger-ui-dist', { index: false }))
    app.use(
      (_req, res) => void res.send('<link rel="icon" href="data:,"><h1>the app</h1><script src="/oidc.js"></script>'),
    )
    site = createServer(app).listen(0)
    await once(site, 'listening')
    home = `http://localhost:${(site.address() as AddressInfo).port}`
    const redirectUris = [`${home}/cb`, `${home}/oauth2-redirect.html`]
    system = await startLoginSystem(() => ({ redirectUris }), { pages: { terms: false } }, cors({ origin: home }))
  })
  after(async () => {
    await browser.close()
    await closed(site)
    await system.close()
  })
  let page: Page
  afterEach(() => page.context().close())

  const logIn = async (popup: Page) => {
    await popup.fill('#username', 'ada')
    await popup.fill('#password', 'analytical engine')
    await popup.click('button[value=login]')
  }

  it('oidc-client-ts: signinPopup() resolves with the user', async () => {
    page = await (await browser.newContext()).newPage()
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
    await logIn(popup)
    await popup.waitForURL(`${home}/cb?**`)
    await popup.evaluate(async (given) => {
      const { oidc } = window as unknown as { oidc: typeof import('oidc-client-ts') }
      await new oidc.UserManager(given).signinPopupCallback()
    }, settings)
    assert.equal(await user, 'KWC6-X7D')
  })

  it('Swagger UI: Authorize ends with a token', async () => {
    const flow = { authorizationUrl: `${system.issuer}/authorization`, tokenUrl: `${system.issuer}/token` }
    const authorizationCode = { ...flow, scopes: { openid: 'who you are' } }
    spec = {
      openapi: '3.0.3',
      info: { title: 'API', version: '1' },
      paths: { '/tree': { get: { security: [{ login: ['openid'] }], responses: { 200: { description: 'ok' } } } } },
      components: { securitySchemes: { login: { type: 'oauth2', flows: { authorizationCode } } } },
    }
    page = await (await browser.newContext()).newPage()
    await page.goto(`${home}/swagger`)
    await page.click('button.btn.authorize')
    const opened = page.waitForEvent('popup')
    await page.click('.auth-container button.authorize')
    const popup = await opened
    await popup.waitForSelector('#username')
    await logIn(popup)
    await page.waitForSelector('.auth-container button:has-text("Logout")')
  })
})
