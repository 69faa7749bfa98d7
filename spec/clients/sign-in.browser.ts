// `npm run test:long -- clients/sign-in`: the recipes of docs/sign-in.md, as programs, with Chromium.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import sqlite from 'node-sqlite3-wasm'
import { userDirectory } from '../../lib/oauth'
import { launch } from '../browser/looks'
import { VERIFIER, closed, json, post } from '../oauth/support'
import { UserAgent, request } from '../oauth/user-agent'
import { freePort } from '../support/redis'
import { CERT } from '../support/tls'
import { startOverTls } from './over-tls'
import { SECRET } from './today'

const PASSWORD = 'analytical engine'

/** The app to which people sign in. */
const app = createServer((_req, res) => res.end('the app')).listen(0)
const home = `http://localhost:${(app.address() as AddressInfo).port}`
const WEB = { client_id: 'web', redirect_uri: `${home}/callback` }

/** Runs a recipe until the spec is over. Returns its issuer, once it listens. */
async function start(t: TestContext, file: string, more: NodeJS.ProcessEnv = {}, port?: number): Promise<string> {
  port ??= await freePort()
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const hasSqlite = major > 22 || (major === 22 && minor >= 13)
  const needsNewer = file === 'sql-users.mjs' && !hasSqlite
  const [command, args] = needsNewer ? ['npx', ['--yes', '-p', 'node@24', 'node']] : [process.execPath, []]
  const child = spawn(command, [...args, join('examples/sign-in', file)], {
    env: { ...process.env, NODE_OPTIONS: '', PORT: String(port), APP: home, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  t.after(async () => {
    if (child.exitCode === null) process.kill(-(child.pid as number), 'SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const [issuer] = (await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), once(child, 'exit')])) as [
    unknown,
  ]
  assert.equal(typeof issuer, 'string', said)
  return (issuer as string).trim()
}

/** RFC 6238 §4: the code of this half minute, or of the next ones. */
function code(later = 0, secret: string | Buffer = '12345678901234567890') {
  const step = Buffer.alloc(8)
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later))
  const hash = createHmac('sha1', secret).update(step).digest()
  const at = (hash.at(-1) as number) & 15
  return String((hash.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

describe('recipes of docs/sign-in.md', () => {
  let browser: Browser
  before(async () => void (browser = await launch()))
  after(async () => {
    await browser.close()
    await closed(app)
  })

  async function open(t: TestContext): Promise<{ context: BrowserContext; page: Page }> {
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    t.after(() => context.close())
    return { context, page: await context.newPage() }
  }
  const authorize = (page: Page, issuer: string, more: object = {}) =>
    page.goto(`${issuer}/authorization?${new URLSearchParams(request({ ...WEB, ...more })).toString()}`)
  const answered = async (page: Page) => {
    await page.waitForURL(`${home}/callback?**`)
    return new URL(page.url()).searchParams
  }
  const claimsOf = async (issuer: string, params: URLSearchParams) => {
    const code = params.get('code') ?? ''
    const form = { grant_type: 'authorization_code', code, ...WEB, code_verifier: VERIFIER }
    const { id_token: token } = await json(await post(`${issuer}/token`, form))
    const { sub, acr, amr } = decodeJwt(token as string)
    return { sub, acr, amr }
  }
  const alert = (page: Page) => page.textContent('[role=alert]')
  const enter = async (page: Page, fields: Record<string, string>) => {
    for (const [name, value] of Object.entries(fields)) await page.fill(`[name=${name}]`, value)
    await page.click('form:has([name=password], [name=name], [name=code]) button:not([name])')
  }
  /** Sends the form of the page that is open, as the browser would. */
  const sent = (page: Page, form: Record<string, string>) => page.request.post(page.url(), { form, maxRedirects: 0 })

  it('a page of its own, in two steps, with EJS and an Express session', async (t) => {
    const issuer = await start(t, 'own-page.mjs')
    const { page } = await open(t)
    await authorize(page, issuer, { login_hint: 'ada' })
    assert.equal(await page.textContent('h1'), 'Sign in to Web App')
    assert.equal(await page.inputValue('[name=name]'), 'ada')
    await enter(page, {})
    await enter(page, { password: 'a guess' })
    assert.match((await alert(page)) ?? '', /is wrong/)
    await page.reload()
    assert.match((await page.textContent('form')) ?? '', /Hello, ada/)
    const { page: other } = await open(t)
    await other.goto(page.url())
    assert.equal(await other.textContent('h1'), 'Please start again from the app', 'in another browser')
    const used = page.url()
    await enter(page, { password: PASSWORD })
    assert.deepEqual(await claimsOf(issuer, await answered(page)), { sub: 'u-1', acr: undefined, amr: ['pwd'] })
    await page.goto(used)
    assert.equal(await page.textContent('h1'), 'Please start again from the app', 'once')

    await authorize(page, issuer, { prompt: 'login' })
    await page.click('[value=cancel]')
    assert.equal((await answered(page)).get('error'), 'access_denied')
  })

  it('a second factor', async (t) => {
    const issuer = await start(t, 'totp.mjs')
    const { page } = await open(t)
    await authorize(page, issuer, { acr_values: 'mfa' })
    const skipped = await sent(page, { code: code() })
    assert.equal(skipped.status(), 303)
    assert.match(skipped.headers().location ?? '', /^\/sign-in/, 'a code without a password leads to the page')
    await enter(page, { name: 'ada', password: PASSWORD })
    const tab = await page.context().newPage()
    await authorize(tab, issuer)
    assert.ok(await tab.isVisible('[name=password]'), 'the password was for another sign-in')
    for (const wrong of ['000000', '12345', 'x']) {
      await enter(page, { code: wrong })
      assert.equal(await alert(page), 'That was wrong.')
    }
    const used = code()
    await enter(page, { code: used })
    const claims = { sub: 'u-1', acr: 'mfa', amr: ['pwd', 'otp'] }
    assert.deepEqual(await claimsOf(issuer, await answered(page)), claims)
    await authorize(page, issuer, { acr_values: 'mfa' })
    await answered(page) // the session is strong enough

    await authorize(page, issuer, { prompt: 'login' })
    await enter(page, { name: 'ada', password: PASSWORD })
    await enter(page, { code: used })
    assert.equal(await alert(page), 'That was wrong.', 'a code is good once')
    for (let i = 0; i < 10; i++) await sent(page, { code: '000000' })
    await enter(page, { code: code(1) })
    assert.equal(await alert(page), 'Please try again later.', 'wrong codes count for the account')

    const { page: hers } = await open(t)
    assert.equal((await hers.goto(`${issuer}/sign-in/factor`))?.status(), 401)
    await authorize(hers, issuer)
    await enter(hers, { name: 'grace', password: PASSWORD })
    assert.deepEqual(await claimsOf(issuer, await answered(hers)), { sub: 'u-2', acr: 'pwd', amr: ['pwd'] })
    await hers.goto(`${issuer}/sign-in/factor`)
    await enter(hers, { code: '000000' })
    const [, base32 = ''] = /secret=(\w+)/.exec((await hers.textContent('form')) ?? '') ?? []
    const bits = [...base32]
      .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
      .join('')
    const first = code(0, Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2))))
    await enter(hers, { code: first })
    await hers.getByText('has been added').waitFor()
    assert.equal((await hers.goto(`${issuer}/sign-in/factor`))?.status(), 409)
    await authorize(hers, issuer, { acr_values: 'mfa' })
    await enter(hers, { name: 'grace', password: PASSWORD })
    await enter(hers, { code: first })
    assert.equal(await alert(hers), 'That was wrong.', 'nor is the first code good again')
  })

  it('passkeys', async (t) => {
    const issuer = await start(t, 'passkeys.mjs')
    const { context, page } = await open(t)
    const cdp = await context.newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
        ...{ isUserVerified: true, automaticPresenceSimulation: true },
      },
    })
    assert.equal((await page.goto(`${issuer}/passkeys`))?.status(), 401)
    await authorize(page, issuer)
    await enter(page, { name: 'ada', password: PASSWORD })
    await answered(page)
    await page.goto(`${issuer}/passkeys`)
    await page.click('#use-passkey')
    await page.getByText('The passkey has been added').waitFor()

    await context.clearCookies()
    await authorize(page, issuer)
    await authorize(await context.newPage(), issuer) // another tab, with a challenge of its own
    const submitted = page.waitForRequest((each) => each.method() === 'POST')
    await page.click('#use-passkey')
    const proof = new URLSearchParams((await submitted).postData() ?? '').get('passkey') ?? ''
    const claims = { sub: 'u-1', acr: 'phr', amr: ['pop', 'user'] }
    assert.deepEqual(await claimsOf(issuer, await answered(page)), claims)

    await context.clearCookies()
    await authorize(page, issuer)
    for (const passkey of [
      proof,
      '',
      'null',
      '{}',
      '[',
      proof.replace(/"id":"./, '"id":"_'),
      JSON.stringify({ id: 1 }),
    ]) {
      const answer = await sent(page, { passkey })
      assert.equal(answer.status(), 303, passkey)
      assert.match(answer.headers().location ?? '', /error=login_failed$/, `replayed or made up: ${passkey}`)
    }
  })

  /** A recipe, with a stand-in for Google. */
  async function withGoogle(t: TestContext, file: string) {
    const port = await freePort()
    const folder = mkdtempSync(join(tmpdir(), 'google-'))
    t.after(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'ca.pem'), CERT)
    const people = ['ada', 'eve'].map((username, i) => ({
      ...{ id: `google-${i}`, username, password: `${username} at Google` },
      claims: { email: 'ada@example.org' }, // of both: an address says nothing
    }))
    const google = await startOverTls(
      () => ({ redirectUris: [`http://localhost:${port}/sign-in/google/callback`], secret: SECRET }),
      { users: userDirectory(people, { cost: 10 }) },
    )
    t.after(() => google.close())
    const env = { GOOGLE: google.issuer, GOOGLE_ID: 'app', GOOGLE_SECRET: SECRET }
    const issuer = await start(t, file, { ...env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }, port)
    const { context, page } = await open(t)
    const atGoogle = async (username: string, button = 'login') => {
      await authorize(page, issuer)
      await page.click('text=Sign in with Google')
      const tab = await context.newPage()
      await authorize(tab, issuer)
      await tab.click('text=Sign in with Google')
      await tab.close()
      await page.fill('#username', username)
      await page.fill('#password', `${username} at Google`)
      await page.click(`button[value=${button}]`)
    }
    return { issuer, context, page, atGoogle }
  }

  it('Sign in with Google', async (t) => {
    const { issuer, context, page, atGoogle } = await withGoogle(t, 'google.mjs')
    await atGoogle('ada')
    await page.getByText('To link your Google account').waitFor()
    await enter(page, { name: 'ada', password: PASSWORD })
    assert.deepEqual(await claimsOf(issuer, await answered(page)), { sub: 'u-1', acr: undefined, amr: ['pwd'] })
    await context.clearCookies()
    await atGoogle('ada')
    assert.deepEqual(await claimsOf(issuer, await answered(page)), { sub: 'u-1', acr: undefined, amr: ['fed'] })
    await context.clearCookies()
    await atGoogle('eve')
    await page.getByText('To link your Google account').waitFor()
    await authorize(page, issuer)
    assert.equal(await page.isVisible('text=To link'), false, 'the link was for another sign-in')

    await context.clearCookies()
    await atGoogle('ada', 'cancel')
    assert.match((await alert(page)) ?? '', /^Google did not sign you in/)
    const url = page.url()
    await page.goto(`${issuer}/sign-in/google/callback?code=x&state=y`)
    assert.equal(await page.textContent('h1'), 'Please start again from the app', 'nothing was begun')
    await page.goto(url.replace('/sign-in?', '/sign-in/google?'))
    for (const query of ['code=x&state=of+another+browser', 'code=x', 'code=x&state=&state=']) {
      await page.goto(`${issuer}/sign-in/google/callback?${query}`)
      assert.equal(await page.textContent('h1'), 'Please start again from the app', query)
    }
  })

  it('Google, then a code', async (t) => {
    const { issuer, context, page, atGoogle } = await withGoogle(t, 'google-totp.mjs')
    for (const given of ['000000', '']) {
      await context.clearCookies()
      await atGoogle('ada')
      await page.getByText('To link your Google account').waitFor() // a password alone has linked nothing
      await enter(page, { name: 'ada', password: PASSWORD })
      await page.waitForSelector('[name=code]')
      await enter(page, { code: given || code() })
    }
    assert.deepEqual(await claimsOf(issuer, await answered(page)), { sub: 'u-1', acr: 'mfa', amr: ['pwd', 'otp'] })
    await context.clearCookies()
    await atGoogle('ada')
    await page.waitForSelector('[name=code]')
    const tab = await context.newPage()
    await authorize(tab, issuer)
    assert.ok(await tab.isVisible('[name=password]'), 'Google was for another sign-in')
    await enter(page, { code: code(1) })
    assert.deepEqual(await claimsOf(issuer, await answered(page)), { sub: 'u-1', acr: 'mfa', amr: ['fed', 'otp'] })
  })

  it('users in SQL, whose bcrypt hashes are replaced as they sign in', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sql-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'users.db')
    const issuer = await start(t, 'sql-users.mjs', { DATABASE: file })
    const hash = () => {
      const db = new sqlite.Database(file, { readOnly: true })
      const { password_hash: found } = db.get('select * from users') as { password_hash: string }
      db.close()
      return found
    }
    const logIn = async (name: string, password: string) =>
      (await new UserAgent(issuer).authorize(issuer, request(WEB))).logIn(name, password)
    assert.match(hash(), /^\$2b\$10\$/)
    assert.equal((await logIn('ada', 'a guess')).status, 403)
    assert.equal((await logIn('nobody', PASSWORD)).status, 403)
    assert.match(hash(), /^\$2b\$10\$/, 'a guess changes nothing')
    for (const name of ['Ada ', 'ada']) {
      assert.deepEqual(await claimsOf(issuer, (await logIn(name, PASSWORD)).params), {
        sub: '1',
        acr: undefined,
        amr: ['pwd'],
      })
      assert.match(hash(), /^\$scrypt\$ln=17,/)
    }
    assert.equal((await logIn('ada', 'a guess')).status, 403)
  })
})
