import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { userDirectory } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { type RunningServer, serverOfSuite, startServer } from './support'
import { type Page, UserAgent, request } from './user-agent'

describe('the login page', () => {
  const clock = manualClock()
  const running = serverOfSuite({ clock, loginLimits: { perAddress: 10_000 } })

  const open = (agent = new UserAgent(running.issuer)) => agent.authorize(running.issuer, request())

  it('a wrong password and an unknown name get the same answer, byte for byte (O151)', async () => {
    const answers = []
    for (const [name, password] of [
      ['ada', 'wrong'],
      ['adb', 'wrong'],
    ] as const) {
      const page = await (await open()).logIn(name, password)
      assert.equal(page.status, 403)
      assert.match(page.notice ?? '', /username or password is wrong/)
      const { request: sealed = '', csrf = '' } = page.fields
      const headers = Object.fromEntries(page.response.headers)
      for (const varying of ['date', 'x-processing-time', 'content-length']) delete headers[varying]
      answers.push({ text: page.text.replace(sealed, '').replace(csrf, '').replaceAll(name, ''), headers })
    }
    assert.deepEqual(answers[0], answers[1])
  })

  it('RFC 9700 §4.7: a form without the token, from another browser or from another site signs nobody in (O141)', async () => {
    const { issuer } = running
    const victim = new UserAgent(issuer)
    const page = await open(victim)
    const attackers = await open()
    const forms: [string, Promise<Page>][] = [
      ['no token', page.submit({ username: 'ada', password: 'analytical engine', csrf: '' })],
      [
        'a foreign token',
        page.submit({ username: 'ada', password: 'analytical engine', csrf: attackers.fields.csrf ?? '' }),
      ],
      [
        'a foreign origin',
        page.submit({ username: 'ada', password: 'analytical engine' }, { origin: 'https://evil.test' }),
      ],
      [
        'cross-site',
        page.submit({ username: 'ada', password: 'analytical engine' }, { 'sec-fetch-site': 'cross-site' }),
      ],
    ]
    for (const [what, form] of forms) {
      const answer = await form
      assert.equal(answer.status, 403, what)
      assert.equal(victim.hasSession, false, what)
    }
    const cookieless = new UserAgent(issuer)
    const body = new URLSearchParams({ ...page.fields, username: 'ada', password: 'analytical engine' })
    const lost = await cookieless.request(`${issuer}/login`, { method: 'POST', body })
    assert.equal(lost.status, 403)
    assert.match(lost.notice ?? '', /cookie/)
    assert.notEqual((await (await lost.logIn()).finish()).params.get('code'), null, 'and there is a way on')
  })

  it('accepts Origin: null, which its own referrer policy causes', async () => {
    const page = await open()
    const answer = await page.submit(
      { username: 'ada', password: 'analytical engine' },
      { origin: 'null', 'sec-fetch-site': 'same-origin' },
    )
    assert.notEqual((await answer.finish()).params.get('code'), null)
  })

  it('refuses forms that it did not make', async () => {
    const page = await open()
    const { request: sealed = '' } = page.fields
    const [payload = '', mac = ''] = sealed.split('.')
    const opened = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { params: object }
    const forged = Buffer.from(
      JSON.stringify({ ...opened, params: { client_id: 'web', redirect_uri: 'https://evil.test' } }),
    )
    for (const request of ['', 'x', '.', `${payload}.`, `${forged.toString('base64url')}.${mac}`, `${sealed}x`]) {
      const answer = await page.submit({ request, username: 'ada', password: 'analytical engine' })
      assert.equal(answer.status, 400)
      assert.equal(answer.location, null)
    }
  })

  it('the session id is renewed at login, and the previous one is invalid (fixation) (O143)', async () => {
    const agent = new UserAgent(running.issuer)
    const fixed = 'A'.repeat(43)
    const other = new UserAgent(running.issuer)
    await (await open(other)).logIn()
    const name = other.cookieName('session')
    agent.cookies.set(name, fixed)
    await (await open(agent)).logIn()
    const first = agent.cookies.get(name)
    assert.notEqual(first, fixed)
    clock.advance(1_000)
    await (await agent.authorize(running.issuer, request({ prompt: 'login' }))).logIn()
    assert.notEqual(agent.cookies.get(name), first)
    const old = new UserAgent(running.issuer)
    old.cookies.set(name, first ?? '')
    assert.equal((await open(old)).title, 'Sign in')
  })

  it('sets cookies that scripts, other sites and plain connections cannot read (O145)', async () => {
    const http = await open()
    assert.match(
      http.response.headers.get('set-cookie') ?? '',
      /^tollgate-browser[a-z]{6}-[\w-]{8}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    const https = await startServer({ issuer: 'https://ident.test/oauth' })
    const agent = new UserAgent(https.origin)
    const page = await agent.authorize('https://ident.test/oauth', request())
    const answer = await page.logIn()
    for (const line of [...page.response.headers.getSetCookie(), ...answer.response.headers.getSetCookie()]) {
      assert.match(
        line,
        /^__Host-tollgate-(browser[a-z]{6}|session|device)-[\w-]{8}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure(; Max-Age=(34560000|86400))?$/,
      )
    }
    assert.equal(agent.cookies.size, 3)
  })

  it('RFC 9700 §4.16: its policy allows no script, no frame, and forms only to the server and the app (O147)', async () => {
    const headers = (await open()).response.headers
    assert.match(
      headers.get('content-security-policy') ?? '',
      /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self' https:\/\/client\.test$/,
    )
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('cross-origin-opener-policy'), 'unsafe-none', 'a popup keeps its opener')
    assert.equal(headers.get('cache-control'), 'no-store')
    const native = await new UserAgent(running.issuer).authorize(
      running.issuer,
      request({ client_id: 'native', redirect_uri: 'com.example.app:/cb' }),
    )
    assert.match(native.response.headers.get('content-security-policy') ?? '', /form-action 'self' com\.example\.app:$/)
  })

  it('an expired page begins the same request anew', async () => {
    const page = await open()
    clock.advance(15 * 60_000 + 1)
    const again = await page.logIn()
    assert.equal(again.status, 400)
    assert.match(again.notice ?? '', /too long/)
    const back = await (await again.logIn()).finish()
    assert.equal(back.params.get('state'), 'st-123')
    assert.notEqual(back.params.get('code'), null)
  })

  it('a page allows one login: a later repeat shows the login page again and starts no session', async () => {
    const agent = new UserAgent(running.issuer)
    const page = await open(agent)
    const answer = await page.logIn()
    const session = agent.cookies.get(agent.cookieName('session'))
    clock.advance(31_000)
    const again = await page.logIn()
    assert.equal(again.status, 400)
    assert.equal(again.title, 'Sign in')
    assert.equal(agent.cookies.get(agent.cookieName('session')), session)
    assert.notEqual((await answer.finish()).params.get('code'), null)
  })

  it('RFC 6749 §4.1.2.1: cancel and decline return to the app with access_denied', async () => {
    const cancelled = await (await open()).submit({ action: 'cancel' })
    assert.equal(cancelled.params.get('error'), 'access_denied')
    assert.equal(cancelled.params.get('state'), 'st-123')
    const declined = await (await (await open()).logIn('bob', 'builder')).submit({ action: 'decline' })
    assert.equal(declined.params.get('error'), 'access_denied')
    assert.equal(declined.params.get('iss'), running.issuer)
  })

  it('the terms cannot be accepted without a session, nor by another site', async () => {
    const agent = new UserAgent(running.issuer)
    const terms = await (await open(agent)).logIn('bob', 'builder')
    assert.equal((await terms.submit({ action: 'accept' }, { 'sec-fetch-site': 'cross-site' })).status, 403)
    agent.cookies.delete(agent.cookieName('session'))
    assert.equal((await terms.accept()).title, 'Sign in')
    assert.equal((await (await open()).logIn('bob', 'builder')).title, 'Terms of access', 'not accepted')
  })

  it('reads unusual bodies correctly (O161)', async () => {
    const page = await open()
    const { fields } = page
    const send = (body: string, type = 'application/x-www-form-urlencoded') =>
      page.agent.request(`${running.issuer}/login`, { method: 'POST', body, headers: { 'content-type': type } })
    const form = new URLSearchParams(fields).toString()
    assert.equal((await send(JSON.stringify(fields), 'application/json')).status, 400)
    assert.equal((await send(`${form}&username[$ne]=1&password[$ne]=1`)).status, 400)
    assert.equal((await send(`${form}&username=ada&username=bob&password=x`)).status, 400)
    assert.equal((await send(`${form}&password=${'x'.repeat(70_000)}`)).status, 413)
    assert.equal((await send('%zz')).status, 400)
    assert.equal((await send('')).status, 400)
    assert.equal((await page.logIn('ada', 'x'.repeat(4_096))).status, 403)
    assert.equal((await page.logIn('', '')).status, 403)
    assert.equal((await page.logIn('__proto__', 'x')).status, 403)
    assert.equal((await page.logIn('a\u0000da', 'x')).status, 403)
  })

  it('the issuer in pages and answers is the one configured, whatever the Host (O163)', async () => {
    const response = await fetch(`${running.issuer}/authorization?${new URLSearchParams(request()).toString()}`, {
      headers: { 'x-forwarded-host': 'evil.test', forwarded: 'host=evil.test' },
    })
    const text = await response.text()
    assert.ok(!text.includes('evil.test'))
    assert.ok(text.includes(`action="${running.issuer}/login"`))
  })
})

describe('the limits of failed logins', () => {
  const open = async (running: RunningServer) => new UserAgent(running.issuer).authorize(running.issuer, request())

  it('lock an account after ten failures, also against the right password, until the window ends', async () => {
    const clock = manualClock()
    const running = await startServer({ clock })
    const page = await open(running)
    for (let i = 0; i < 10; i++) assert.equal((await page.logIn('ada', `guess ${i}`)).status, 403)
    for (const password of ['guess', 'analytical engine']) {
      const locked = await page.logIn('ADA ', password)
      assert.equal(locked.status, 429)
      assert.equal(locked.response.headers.get('retry-after'), '900')
      assert.match(locked.notice ?? '', /wait 15 min/)
    }
    assert.equal((await page.logIn('bob', 'builder')).title, 'Terms of access', 'others are not locked')
    clock.advance(900_000)
    assert.equal((await (await open(running)).logIn()).title, 'Terms of access')
  })

  it('apply to parallel guesses and to unknown names', async () => {
    const running = await startServer()
    const page = await open(running)
    for (const name of ['ada', 'nobody']) {
      const all = await Promise.all(Array.from({ length: 30 }, (_, i) => page.logIn(name, `guess ${i}`)))
      const statuses = all.map(({ status }) => status).sort()
      assert.deepEqual(statuses, [...Array<number>(10).fill(403), ...Array<number>(20).fill(429)])
    }
  })

  it('do not count logins that succeed, wait or are refused, at once, of one account or behind one address', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `user-${i}`)
    const right = names.map((username) => ({ id: username, username, password: 'right' }))
    const users = userDirectory(right, { cost: 10 })
    const options = { loginLimits: { perAccount: 2, perAddress: 9 }, pages: { terms: false } } as const
    const running = await startServer({ users, ...options, directoryTimeoutMs: 60_000 }) // of a busy machine
    const page = await open(running)
    const all = ['user-0', 'user-0', 'user-0', ...names].map(async (name) => (await page.logIn(name, 'right')).status)
    const guesses = Array.from({ length: 30 }, async (_, i) => (await page.logIn(`user-${i % 2}`, `guess ${i}`)).status)
    const guessed = await Promise.all(guesses)
    assert.equal(guessed.filter((status) => status === 403).length, 4, 'two for each account that is guessed at')
    const statuses = await Promise.all(all)
    assert.deepEqual([...new Set(statuses.slice(5))], [303], 'whose account nobody guesses at')
  })

  it('end with `revokeUser()`, after which no guess before counts', async () => {
    const running = await startServer({ pages: { terms: false } })
    for (let i = 0; i < 10; i++) await (await open(running)).logIn('ada', `guess ${i}`)
    assert.equal((await (await open(running)).logIn()).status, 429)
    await running.server.revokeUser('KWC6-X7D')
    assert.equal((await (await open(running)).logIn()).status, 303)
  })

  it('lock an address after too many failures on whatever account, an IPv6 network as one (O155)', async () => {
    const running = await startServer({ loginLimits: { perAddress: 5 } })
    running.app.set('trust proxy', true)
    const from = async (ip: string, name: string) => {
      const page = await open(running)
      return (await page.submit({ username: name, password: 'x' }, { 'x-forwarded-for': ip })).status
    }
    for (let i = 0; i < 5; i++) assert.equal(await from('203.0.113.7', `user${i}`), 403)
    assert.equal(await from('203.0.113.7', 'user6'), 429)
    assert.equal(await from('::ffff:203.0.113.7', 'user7'), 429)
    assert.equal(await from('203.0.113.8', 'user8'), 403)
    for (let i = 0; i < 5; i++) assert.equal(await from(`2001:db8:0:1${i}::${i}`, `six${i}`), 403)
    assert.equal(await from('2001:db8:0:1f:ffff::1', 'six6'), 429)
    assert.equal(await from('2001:db8:0:200::1', 'six7'), 403)
  })
})
