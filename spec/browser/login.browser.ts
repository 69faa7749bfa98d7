// `npm run test:browser`: the pages in Debian's chromium (`apt-get install chromium`, or CHROMIUM=/path/to/it).
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { clientDirectory } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { type RunningServer, json, openServer } from '../oauth/support'
import { request } from '../oauth/user-agent'
import { ARABIC } from './arabic'
import { DESK, launch, looksWell } from './looks'

describe('the pages in a browser', () => {
  const clock = manualClock()
  const faults: string[] = []
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let running: RunningServer
  let callback: string

  before(async () => {
    browser = await launch()
  })
  after(() => browser.close())
  beforeEach(async () => {
    callback = 'https://not-yet.test/'
    let clients = clientDirectory([])
    running = await openServer({
      clock,
      clients: { findClient: (id) => clients.findClient(id) },
      pages: { brand: 'Family Records', texts: ([locale]) => (locale === 'ar' ? ARABIC : {}) },
      registration: { accept: () => ({ scopes: ['tree.read'] }) },
    })
    callback = `http://localhost:${new URL(running.origin).port}/cb`
    const app = { name: 'Tree Sketcher', redirectUris: [callback] }
    clients = clientDirectory([
      { clientId: 'web', realm: '/w', ...app },
      { clientId: 'no-realm', ...app },
    ])
    running.app.get('/cb', (_req, res) => void res.send('<link rel="icon" href="data:,"><h1>the app</h1>'))
    context = await browser.newContext({ viewport: DESK, javaScriptEnabled: false })
    page = await context.newPage()
    page.on('console', (message) => void (message.type() === 'error' && faults.push(message.text())))
    page.on('pageerror', (err) => faults.push(err.message))
  })
  afterEach(async () => {
    await context.close()
    await running.close()
    // Chromium reports every 4xx page as an error of its own; those are what the specs ask for.
    const real = faults.splice(0).filter((text) => !text.startsWith('Failed to load resource'))
    assert.deepEqual(real, [], 'no console or CSP error')
  })

  const url = (more = {}) =>
    `${running.issuer}/authorization?${new URLSearchParams(request({ redirect_uri: callback, ...more })).toString()}`
  const open = (more = {}) => page.goto(url(more))
  const title = () => page.locator('h1').innerText()
  /** The very page where scripts run, as axe-core is one, without its own, which would submit it. */
  const shot = async (what: string) => {
    const url = page.url()
    const body = (await page.content()).replace(/<script[^]*?<\/script>/g, '')
    const looker = await browser.newContext({ viewport: DESK })
    const copy = await looker.newPage()
    await copy.route(
      ({ href }) => href === url,
      (route) => route.fulfill({ contentType: 'text/html', body }),
    )
    await copy.goto(url)
    await looksWell(copy, what)
    await looker.close()
  }
  const logIn = async (password = 'analytical engine') => {
    await page.fill('#username', 'ada')
    await page.fill('#password', password)
    await page.click('button[value=login]')
  }
  const back = () => new URL(page.url()).searchParams

  it('login, terms, redirect; then signed in already', async () => {
    await open()
    await shot('login')
    await logIn()
    assert.equal(await title(), 'Terms of access')
    await shot('terms')
    await page.click('button[value=accept]')
    assert.equal(await title(), 'the app')
    assert.match(back().get('code') ?? '', /^[\w-]{43}$/)
    await open()
    assert.equal(await title(), 'the app')
  })

  it('wrong password, then lock-out', async () => {
    await open()
    for (let i = 0; i < 10; i++) await logIn('wrong')
    assert.match(await page.locator('.notice').innerText(), /username or password is wrong/)
    await shot('wrong-password')
    await logIn()
    assert.match(await page.locator('.notice').innerText(), /wait 15 min/)
    await shot('locked')
  })

  it('an expired page leads on', async () => {
    await open()
    clock.advance(16 * 60_000)
    await logIn()
    assert.match(await page.locator('.notice').innerText(), /too long/)
    await shot('expired')
    await logIn()
    assert.equal(await title(), 'Terms of access')
  })

  it('a form posts back to the app, by hand without JavaScript', async () => {
    await open({ response_mode: 'form_post' })
    await logIn()
    await page.click('button[value=accept]')
    assert.equal(await page.locator('.actions button').innerText(), 'Continue')
    await shot('form-post')
  })

  /** The key of an app that registers itself. */
  const register = async (more: object = {}) => {
    const metadata = { client_name: 'Tree Robot', redirect_uris: [callback], token_endpoint_auth_method: 'none' }
    const body = JSON.stringify({ ...metadata, scope: 'openid email tree.read', ...more })
    const headers = { 'content-type': 'application/json' }
    return (await json(await fetch(`${running.issuer}/register`, { method: 'POST', headers, body })))
      .client_id as string
  }

  const registerOnTheWeb = async (more: object = {}) => {
    const redirect_uri = 'https://robot.test/'
    return { redirect_uri, client_id: await register({ redirect_uris: [redirect_uri], ...more }) }
  }

  it('an app that registered itself: the user denies, then allows, and is asked again each time', async () => {
    const asked = { client_id: await register(), scope: 'openid email tree.read' }
    await open(asked)
    await logIn()
    await page.click('button[value=accept]')
    assert.equal(await title(), 'Allow Tree Robot?')
    assert.ok((await page.locator('main').innerText()).includes(new URL(callback).host))
    assert.equal(await page.locator('li').count(), 4)
    await shot('approval')
    await page.click('button[value=decline]')
    // A program on this machine waits for its answer. Any other app that registered itself gets a page with a link first.
    assert.deepEqual([await title(), back().get('error')], ['the app', 'access_denied'])
    await open(asked)
    await page.click('button[value=accept]')
    assert.match(back().get('code') ?? '', /^[\w-]{43}$/)
    await open(asked)
    assert.equal(await title(), 'Allow Tree Robot?', 'any program on this machine may have registered')
  })

  it('an app of the web that registered itself: who denies is asked before the browser goes there', async () => {
    await open({ ...(await registerOnTheWeb()), scope: 'openid email tree.read' })
    await logIn()
    await page.click('button[value=accept]')
    await page.click('button[value=decline]')
    assert.equal(await title(), 'Go back to Tree Robot (robot.test)?')
    assert.match(
      (await page.locator('a.button').getAttribute('href')) ?? '',
      /^https:\/\/robot\.test\/\?error=access_denied&/,
    )
    await shot('denied')
  })

  it('from right to left, with names of either direction', async () => {
    const asked = { scope: 'openid email tree.read', ui_locales: 'ar' }
    await open({ client_id: await register(), ...asked })
    await shot('arabic-login')
    await logIn()
    await shot('arabic-terms')
    await page.click('button[value=accept]')
    await shot('arabic-approval')
    await open({ client_id: await register({ client_name: 'شجرة العائلة' }), ...asked })
    await shot('arabic-approval-of-arabic')
    await open({ ...(await registerOnTheWeb({ client_name: 'شجرة العائلة' })), ...asked, ui_locales: 'en' })
    await shot('approval-of-arabic')
    await page.click('button[value=decline]')
    await shot('denied-to-arabic')
  })

  it('an app without a realm is told so', async () => {
    await open({ client_id: 'no-realm' })
    assert.equal(await title(), 'the app')
    assert.equal(back().get('error'), 'invalid_request')
    assert.match(back().get('error_description') ?? '', /client registration is required/)
  })

  it('an unknown app gets a page; cancel goes back; logout asks', async () => {
    await open({ client_id: 'nobody' })
    assert.equal(await title(), 'This link does not work')
    await shot('error')
    await open()
    await page.click('button[value=cancel]')
    assert.equal(back().get('error'), 'access_denied')
    await open()
    await logIn()
    await page.goto(`${running.issuer}/logout`)
    await shot('logout')
    await page.click('button[value=logout]')
    assert.equal(await title(), 'You are signed out')
    await shot('logged-out')
  })
})
