import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import express from 'express'
import {
  type AuthorizationServerOptions,
  type OAuthStore,
  DirectoryBusyError,
  type SignIn,
  memoryOAuthStore,
} from '../../lib/oauth'
import { hashOf } from '../../lib/http/secret'
import { NOBODY } from '../../lib/oauth/records/owners'
import { Records } from '../../lib/oauth/records/records'
import { manualClock } from '../../lib/testing'
import { type Form, VERIFIER, json, post, startServer, askToken } from './support'
import { type Page, UserAgent, request } from './user-agent'
import { assertIs, below } from '../support/until'

const ADA = 'KWC6-X7D'

/** A server whose sign-in page does what the form says: `{ how: '{"userId": …}' }` or `{ why: '{"error": …}' }`. */
async function started(options: Partial<AuthorizationServerOptions> = {}) {
  const running = await startServer({ dialect: 'standard', login: { url: '/sign-in' }, ...options })
  const { app, server, issuer } = running
  const failed: Error[] = []
  app.use(express.urlencoded())
  app.get('/sign-in', async (req, res) => void res.json((await server.interaction(req)) ?? null))
  app.post('/sign-in', async (req, res) => {
    const { how, why, both, name, password } = req.body as Form
    if (name !== undefined) {
      const user = await server.authenticate(req, name, password)
      const isRight = user && 'id' in user && both === undefined // both: a second factor, which is wrong
      return isRight ? server.signIn(req, res, { userId: user.id }) : server.refuse(req, res, { error: 'login_failed' })
    }
    if (how !== undefined) await server.signIn(req, res, JSON.parse(how) as SignIn)
    if (why !== undefined) await server.refuse(req, res, JSON.parse(why) as object)
    if (both !== undefined) await server.refuse(req, res)
  })
  app.use(((err: Error, _req, res, _next) => {
    failed.push(err)
    if (!res.headersSent) res.status(500).end()
  }) as express.ErrorRequestHandler)
  const begin = async (more: Form = {}, agent = new UserAgent(issuer)) => ({
    agent,
    url: (await agent.authorize(issuer, request(more))).location ?? '',
  })
  return { ...running, failed, begin }
}

const told = async (agent: UserAgent, url: string) => JSON.parse((await agent.request(url)).text) as unknown
const send = (agent: UserAgent, url: string, form: Form) =>
  agent.request(url, { method: 'POST', body: new URLSearchParams(form) })
const signIn = (agent: UserAgent, url: string, how: object = { userId: ADA }) =>
  send(agent, url, { how: JSON.stringify(how) })
const refuse = (agent: UserAgent, url: string, why: object) => send(agent, url, { why: JSON.stringify(why) })
const isStartAgain = ({ status, title }: Page) => status === 400 && title === 'Please start again from the app'

async function tokensOf(issuer: string, page: Page) {
  const form = { grant_type: 'authorization_code', redirect_uri: 'https://client.test/cb', code_verifier: VERIFIER }
  return askToken(issuer, { ...form, code: page.params.get('code') ?? '' })
}

describe("the app's own sign-in page", () => {
  it('is told what the app asks for, and ends with a code', async () => {
    const { begin, issuer } = await started()
    const wishes = { login_hint: 'ada', ui_locales: 'de en', acr_values: 'mfa pwd', max_age: '60' }
    const { agent, url } = await begin({ scope: 'openid tree.read', ...wishes })
    assert.match(url, /^\/sign-in\?interaction=[\w-]{43}$/)
    assert.deepEqual(await told(agent, url), {
      client: { id: 'web', name: 'Web App', host: 'client.test' },
      ...{ scope: ['openid', 'tree.read'], loginHint: 'ada', uiLocales: ['de', 'en'] },
      ...{ acrValues: ['mfa', 'pwd'], maxAgeSec: 60, prompt: [], params: {} },
    })
    const tokens = await tokensOf(issuer, await signIn(agent, url, { userId: ADA, acr: 'mfa', amr: ['pwd', 'otp'] }))
    for (const token of [tokens.id_token, tokens.access_token]) {
      const { sub, acr, amr, auth_time: at } = decodeJwt(token)
      assert.deepEqual([sub, acr, amr, typeof at], [ADA, 'mfa', ['pwd', 'otp'], 'number'])
    }
    const next = await tokensOf(issuer, await agent.authorize(issuer, request({ acr_values: 'mfa' })))
    assert.equal(decodeJwt(next.id_token).acr, 'mfa', 'the session is strong enough')
  })

  it('hears of parameters that the server does not know, of the user that the app means, and of prompt=create', async () => {
    const { begin, issuer } = await started()
    const { agent, url } = await begin()
    const { id_token: hint } = await tokensOf(issuer, await signIn(agent, url))
    const hints = { idp_hint: 'google', screen_hint: 'sign up', 'ext-é': '1 & 2', constructor: 'x' }
    type Told = { params: object; prompt: string[]; userIdHint?: string }
    const asked = async (more: Form) => {
      const next = await begin(more, agent)
      return { page: next.url, ...((await told(agent, next.url)) as Told) }
    }
    const first = await asked({ ...hints, [`x${'y'.repeat(64)}`]: 'too long a name', prompt: 'create' })
    assert.deepEqual([first.params, first.prompt, first.userIdHint], [hints, ['create'], undefined])
    assert.notEqual((await signIn(agent, first.page)).params.get('code'), null)
    for (const more of [{ id_token_hint: hint }, { claims: JSON.stringify({ id_token: { sub: { value: ADA } } }) }])
      assert.equal((await asked({ ...more, prompt: 'login' })).userIdHint, ADA)
    const none = await agent.authorize(issuer, request({ prompt: 'none create' }))
    assert.equal(none.params.get('error'), 'invalid_request')
    // A pushed request has the same, but not its app's secret.
    const form = { ...request(hints), prompt: 'login', client_secret: 'secret' }
    const pushed = await json(await post(`${issuer}/par`, form))
    const uri = { client_id: 'web', request_uri: pushed.request_uri as string, idp_hint: 'not pushed' }
    const shown = await agent.request(`${issuer}/authorization?${new URLSearchParams(uri).toString()}`)
    assert.deepEqual(((await told(agent, shown.location ?? '')) as Told).params, hints)
    // They count towards the length of the request.
    const long = await begin({ padding: 'x'.repeat(16_000), state: 'y'.repeat(400) })
    assert.equal(long.url, '')
    const discovery = await json(await fetch(`${issuer}/.well-known/openid-configuration`))
    assert.ok((discovery.prompt_values_supported as string[]).includes('create'))
    const plain = await startServer({ dialect: 'standard' })
    const refused = await new UserAgent(plain.issuer).authorize(plain.issuer, request({ prompt: 'create' }))
    assert.equal(refused.params.get('error'), 'invalid_request', 'the page of the server creates no accounts')
  })

  it('and its answers have the opener policy of the server, also behind helmet', async () => {
    const policy = 'Cross-Origin-Opener-Policy'
    for (const [openerPolicy, expected] of [
      [undefined, 'unsafe-none'],
      ['same-origin', 'same-origin'],
    ] as const) {
      const helmet: express.RequestHandler = (_req, res, next) => {
        res.setHeader(policy, 'same-origin-allow-popups')
        next()
      }
      const login = { url: '/sign-in' }
      const pages = { ...(openerPolicy && { openerPolicy }), terms: { version: '1', paragraphs: ['Be kind.'] } }
      const running = await startServer({ dialect: 'standard', login, pages }, helmet)
      running.app.get('/sign-in', (_req, res) => void res.end('mine'))
      running.app.post('/sign-in', (req, res, next) => {
        running.server.signIn(req, res, { userId: ADA }).catch(next)
      })
      const agent = new UserAgent(running.issuer)
      const sent = await agent.authorize(running.issuer, request())
      const mine = await agent.request(sent.location ?? '')
      const terms = await agent.request(sent.location ?? '', { method: 'POST' })
      const back = await terms.accept()
      const wrong = await agent.authorize(running.issuer, request({ client_id: 'nobody' }))
      assert.deepEqual(
        [sent, terms, back, wrong, mine].map(({ response }) => response.headers.get(policy)),
        [expected, expected, expected, expected, 'same-origin-allow-popups'],
      )
    }
  })

  it('may be /login below the issuer or any path beside it; those of endpoints are refused at start', async () => {
    const base = '/cis-web/oauth2/v3'
    const free = [`${base}/login`, '/login', '/token', '/logout', `${base}/sign-in?theme=dark`, `${base}/tokens`]
    for (const url of free) {
      const running = await startServer({ dialect: 'standard', login: { url } })
      running.app.get(url.split('?')[0] ?? '', (_req, res) => void res.send('<h1>My page</h1>'))
      running.app.post(url.split('?')[0] ?? '', (_req, res) => void res.send('<h1>My form</h1>'))
      const agent = new UserAgent(running.issuer)
      const { location } = await agent.authorize(running.issuer, request())
      assert.equal((await agent.request(location ?? '')).title, 'My page', url)
      assert.equal((await agent.request(location ?? '', { method: 'POST' })).title, 'My form', url)
    }
    const paths = 'authorization terms Approval logout/ apps token par userinfo revoke introspect jwks register/x'
    for (const path of [...paths.split(' '), '.well-known/openid-configuration']) {
      const login = { url: `${base}/${path}` }
      await assert.rejects(startServer({ login }), /login\.url must not be the path of an endpoint/)
    }
  })

  it('goes on to terms and approval, and with an error to the app', async () => {
    const terms = { version: '1', paragraphs: ['Be kind.'] }
    const { begin } = await started({ pages: { terms } })
    const native = { client_id: 'native', redirect_uri: 'com.example.app:/cb' }
    const { agent, url } = await begin(native)
    const page = await signIn(agent, url)
    assert.equal(page.title, 'Terms of access')
    const approval = await page.accept()
    assert.equal(approval.title, 'Allow Native?')
    const other = (await approval.submit({ action: 'other' })).location ?? ''
    assert.deepEqual(((await told(agent, other)) as { prompt: string[] }).prompt, ['select_account'])
    assert.equal((await signIn(agent, other, { userId: 'K2QX-9TT' })).title, 'Terms of access', 'bob has not accepted')

    const again = await begin()
    const refused = await refuse(again.agent, again.url, { error: 'temporarily_unavailable', description: 'Try later' })
    assert.deepEqual(
      ['error', 'error_description', 'state'].map((name) => refused.params.get(name)),
      ['temporarily_unavailable', 'Try later', 'st-123'],
    )
    const plain = await begin()
    assert.equal((await refuse(plain.agent, plain.url, {})).params.get('error'), 'access_denied')
  })

  it('asks for a stronger, newer or another login, says who is signed in, and never loops', async () => {
    const clock = manualClock()
    const { begin, issuer } = await started({ clock })
    const { agent, url } = await begin()
    await signIn(agent, url)
    for (const more of [
      { acr_values: 'mfa' },
      { prompt: 'login' },
      { prompt: 'select_account' },
      { max_age: '0' },
    ] as Form[]) {
      clock.advance(1_000)
      const again = await begin(more, agent)
      assert.equal(((await told(agent, again.url)) as { userId?: string }).userId, ADA, JSON.stringify(more))
      const page = await signIn(agent, again.url, { userId: ADA, acr: 'weak' })
      assert.notEqual(page.params.get('code'), null, 'voluntary: what was reached is said')
    }
    const claims = JSON.stringify({ id_token: { acr: { essential: true, value: 'mfa' } } })
    const must = await begin({ claims }, agent)
    assert.equal((await signIn(agent, must.url)).params.get('error'), 'unmet_authentication_requirements')
    const silent = await agent.authorize(issuer, request({ acr_values: 'mfa', prompt: 'none' }))
    assert.notEqual(silent.params.get('code'), null, 'a wish ends no silent renewal')
    const strict = await agent.authorize(issuer, request({ claims, prompt: 'none' }))
    assert.equal(strict.params.get('error'), 'login_required')
  })

  it('a session that is not remembered ends with the browser', async () => {
    const { begin } = await started()
    for (const [remember, age] of [
      [undefined, true],
      [true, true],
      [false, false],
    ] as const) {
      const { agent, url } = await begin()
      const { response } = await signIn(agent, url, { userId: ADA, remember })
      const cookie = response.headers.getSetCookie().find((field) => field.includes('-session-')) ?? ''
      assert.equal(/Max-Age=86400/.test(cookie), age, cookie)
    }
  })
})

describe('an interaction', () => {
  it('is good once, for as long as a page, and in the browser in which it began', async () => {
    const clock = manualClock()
    const { begin, issuer } = await started({ clock })
    const { agent, url } = await begin()
    const thief = new UserAgent(issuer)
    await thief.authorize(issuer, request()) // has a cookie of its own
    for (const stranger of [new UserAgent(issuer), thief]) {
      assert.equal(await told(stranger, url), null)
      assert.ok(isStartAgain(await signIn(stranger, url)), 'fixation: a link to it signs nobody in')
      assert.ok(isStartAgain(await refuse(stranger, url, {})))
    }
    const both = await Promise.all([1, 2, 3].map(() => signIn(agent, url)))
    assert.equal(both.filter(({ location }) => location?.includes('code=')).length, 1)
    assert.ok(isStartAgain(await signIn(agent, url)), 'replay')
    assert.ok(isStartAgain(await refuse(agent, url, {})), 'replay')
    assert.equal(await told(agent, url), null)

    const late = await begin()
    clock.advance(4 * 60 * 60_000 + 1)
    assert.equal(await told(late.agent, late.url), null)
    assert.ok(isStartAgain(await signIn(late.agent, late.url)))
    for (const forged of [
      '',
      '?interaction=',
      `?interaction=${'x'.repeat(43)}`,
      '?interaction=a&interaction=b',
      '?interaction[]=x',
    ]) {
      assert.ok(isStartAgain(await signIn(agent, `/sign-in${forged}`)), forged)
    }
  })

  it('is found in the body, or by the id that is given', async () => {
    const { begin, issuer } = await started()
    const { agent, url } = await begin()
    const id = url.split('=')[1] ?? ''
    const how = JSON.stringify({ userId: ADA })
    assert.notEqual((await send(agent, '/sign-in', { how, interaction: id })).params.get('code'), null)
    const next = await begin({}, new UserAgent(issuer))
    const given = { userId: ADA, interaction: next.url.split('=')[1] }
    assert.notEqual((await signIn(next.agent, '/sign-in', given)).params.get('code'), null)
  })

  it('tells the page of at most 20 languages and strengths, and keeps the request once', async () => {
    const memory = memoryOAuthStore()
    let kept = 0
    const store: OAuthStore = { ...memory, set: (...args) => ((kept = args[1].length), memory.set(...args)) }
    const { begin, origin } = await started({ store })
    for (const more of [
      { ui_locales: 'a '.repeat(5_000) },
      { ui_locales: 'de-AT '.repeat(2_000), acr_values: 'x '.repeat(1_000) },
      { state: '\u20ac'.repeat(1_000) },
    ]) {
      const agent = new UserAgent(origin)
      const { url } = await begin(more, agent)
      assertIs(kept, below(17_000))
      const { uiLocales, acrValues } = (await told(agent, url)) as { uiLocales: string[]; acrValues: string[] }
      assert.ok(uiLocales.length <= 20 && acrValues.length <= 20 && uiLocales.every((tag) => tag === 'de-AT'))
    }
  })

  it('keeps to the limits of strangers, each app for itself', async () => {
    const store = memoryOAuthStore()
    const { issuer } = await started({ store })
    const begun = (id: string, by: number) =>
      new Records(store, issuer).count('attempts', `interaction.${hashOf('web')}.${id}`, by, 60_000, NOBODY)
    await begun('all', 6_000)
    const agent = new UserAgent(issuer)
    assert.equal((await agent.authorize(issuer, request())).status, 303, 'others have used up the total')
    await begun(`block.${hashOf('127.0.0.0/16')}`, 60)
    assert.equal((await agent.authorize(issuer, request())).status, 429)
    const spa = { client_id: 'spa', redirect_uri: 'https://spa.test/cb' }
    assert.equal((await agent.authorize(issuer, request(spa))).status, 303)
  })
})

describe('login limits at a page of the app', () => {
  it('count what refuse() reports, and hold a right password back as well', async () => {
    const clock = manualClock()
    const { begin } = await started({ clock })
    const { agent, url } = await begin()
    const fail = (account: string) => refuse(agent, url, { error: 'login_failed', account })
    for (let i = 0; i < 10; i++) {
      const back = await fail(i % 2 ? ' ADA' : 'ada')
      assert.match(back.location ?? '', /^\/sign-in\?interaction=[\w-]{43}&error=login_failed$/)
    }
    assert.match((await fail('ada')).location ?? '', /&error=too_many_attempts&minutes=15$/)
    assert.match((await signIn(agent, url)).location ?? '', /&error=too_many_attempts/, 'also where it is right')
    assert.match((await signIn(agent, url, { userId: ADA, amr: ['pwd', 'otp'] })).location ?? '', /too_many/)
    const passkey = await begin()
    assert.notEqual((await signIn(passkey.agent, passkey.url, { userId: ADA, amr: ['hwk'] })).params.get('code'), null)
    assert.notEqual((await signIn((await begin()).agent, url, { userId: ADA })).status, 500)
    clock.advance(15 * 60_000)
    const later = await begin()
    assert.notEqual((await signIn(later.agent, later.url)).params.get('code'), null)
  })
})

describe('a bound of sign-ins', () => {
  it('says so, with a link back to the app, and tabs opened at once all go on', async () => {
    const { issuer, begin } = await started()
    const tabs = await Promise.all(Array.from({ length: 12 }, () => begin()))
    const agent = new UserAgent(issuer)
    for (const tab of tabs) for (const [name, value] of tab.agent.cookies) agent.cookies.set(name, value)
    for (const { url } of tabs) assert.notEqual(await told(agent, url), null)
    for (let i = tabs.length; i < 600; i++) await begin()
    const { status, title, text } = await new UserAgent(issuer).authorize(issuer, request())
    assert.deepEqual([status, title], [429, 'Too many people are signing in'])
    assert.match(text, /href="https:\/\/client\.test\/cb\?error=temporarily_unavailable&amp;[^"]*state=st-123/)
  })
})

describe('server.authenticate()', () => {
  const PASSWORD = 'analytical engine'
  const ada = { id: ADA, username: 'ada' }
  /** A directory that notes the names it is asked about. */
  const noting = (asked: string[]) => ({
    authenticate: (name: string, password: string) => {
      asked.push(name)
      if (password === 'busy') return Promise.reject(new DirectoryBusyError(7))
      if (password === 'broken') return Promise.reject(new Error('no connection'))
      if (password === 'blocked') return Promise.resolve({ refused: 'You are blocked' })
      return Promise.resolve(name === 'ada' && password === PASSWORD ? ada : undefined)
    },
    findUser: () => Promise.resolve(ada),
  })

  it('asks the directory under the login limits, and no more once they are reached', async () => {
    const asked: string[] = []
    const { begin } = await started({ users: noting(asked) })
    const { agent, url } = await begin()
    const type = async (password: string) => (await send(agent, url, { name: 'ada', password })).location ?? ''
    for (let i = 0; i < 5; i++) {
      assert.match(await type('wrong'), /&error=login_failed$/)
      assert.match(await type('blocked'), /&error=login_refused$/, 'a right password is not called wrong')
    }
    for (const password of ['wrong', PASSWORD])
      assert.match(await type(password), /&error=too_many_attempts&minutes=15$/)
    assert.equal(asked.length, 10)
    const other = await begin()
    assert.match((await send(other.agent, url, { name: 'ada', password: PASSWORD })).title ?? '', /start again/)
    assert.equal(asked.length, 10, 'nor without an interaction of this browser')
  })

  it('counts a second factor that is wrong, and nothing after a right one', async () => {
    const { begin } = await started({ users: noting([]) })
    for (let i = 0; i < 12; i++) {
      const { agent, url } = await begin()
      assert.notEqual((await send(agent, url, { name: 'ada', password: PASSWORD })).params.get('code'), null)
    }
    const { agent, url } = await begin()
    const second = async () => (await send(agent, url, { name: 'ada', password: PASSWORD, both: '1' })).location ?? ''
    for (let i = 0; i < 10; i++) assert.match(await second(), /&error=login_failed$/)
    assert.match(await second(), /&error=too_many_attempts/)
  })

  it('counts nothing while the directory is busy or fails, and takes whatever is sent', async () => {
    const asked: string[] = []
    const { begin, failed } = await started({ users: noting(asked), loginLimits: { perAccount: 7 } })
    const { agent, url } = await begin()
    for (let i = 0; i < 8; i++) {
      const busy = await send(agent, url, { name: 'ada', password: 'busy' })
      assert.match(busy.location ?? '', /&error=too_many_logins$/)
      assert.equal((await send(agent, url, { name: 'ada', password: 'broken' })).status, 500)
    }
    assert.equal(failed.length, 8)
    assert.equal(asked.length, 16)
    for (const form of [
      { name: '', password: PASSWORD },
      { name: 'x'.repeat(257), password: PASSWORD },
      { name: 'a\u0000da', password: PASSWORD },
      { name: 'ada', password: 'analytical\0engine' },
      { 'name[]': 'ada', password: PASSWORD, name: 'x' },
      { name: 'ada', 'password[]': PASSWORD },
    ] as Form[]) {
      assert.match((await send(agent, url, form)).location ?? '', /&error=login_failed$/, JSON.stringify(form))
    }
    assert.deepEqual(asked.slice(16), ['', 'x'], 'no text that a directory would fail at')
  })
})

describe('mistakes of the page', () => {
  it('are told by an error in its own handler, with the reason', async () => {
    const { begin, failed } = await started()
    for (const [form, reason] of [
      [{ how: '{"userId":"nobody"}' }, /findUser\('nobody'\) knows no such user/],
      [{ how: '{"userId":7.5}' }, /userId must be a text, or a whole number; received 7.5/],
      [{ how: '{"userId":"KWC6-X7D","amr":"pwd"}' }, /amr must be a list of texts/],
      [{ how: '{"userId":"KWC6-X7D","acr":1}' }, /acr must be a string/],
      [{ how: '{"userId":"KWC6-X7D","user":1}' }, /signIn\(\) has no option "user"/],
      [{ why: '{"error":"ein \\"Fehler\\""}' }, /error must be printable ASCII/],
      [{ why: '{"description":"Bücher"}' }, /description must be printable ASCII/],
      [{ why: '{"error":"login_failed"}' }, /login_failed needs the account/],
    ] as [Form, RegExp][]) {
      const { agent, url } = await begin()
      assert.equal((await send(agent, url, form)).status, 500, JSON.stringify(form))
      assert.match(String(failed.pop()?.message), reason)
      assert.notEqual((await signIn(agent, url)).params.get('code'), null, 'and nothing is used up')
    }
    const { agent, url } = await begin()
    const twice = await send(agent, url, { how: '{"userId":"KWC6-X7D"}', both: '1' })
    assert.notEqual(twice.params.get('code'), null)
    assert.match(String(failed.pop()?.message), /refuse\(\) was called for a response that has ended/)
  })
})
