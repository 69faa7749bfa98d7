import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AuthorizationServerOptions, type UserDirectory, memoryOAuthStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { generateKeys } from '../support/generate-keys'
import { AS_WEB, SIGNING_KEY, USERS, json, post, startServer, refresh } from './support'
import { type Page, UserAgent, codeForm, request, tokensFor } from './user-agent'

const started = (options: Partial<AuthorizationServerOptions> = {}) =>
  startServer({ pages: { terms: false }, ...options })

/** What the app receives: `code` or an error. The page's title, if the user is at a page. */
function told({ location, title }: Page): string | undefined {
  if (location === null) return title
  const params = new URL(location).searchParams
  return params.has('code') ? 'code' : (params.get('error') ?? '')
}

describe('each way to sign in ends at the app:', () => {
  it('a form that is sent twice at once, or again after its answer', async () => {
    const { issuer } = await started()
    const page = await new UserAgent(issuer).authorize(issuer, request())
    const both = await Promise.all([page.logIn(), page.logIn()])
    assert.deepEqual([...both, await page.logIn()].map(told), ['code', 'code', 'code'])
  })

  it('two tabs at once, each with a login of its own', async () => {
    const { issuer } = await started()
    const agent = new UserAgent(issuer)
    const ask = () => agent.authorize(issuer, request({ prompt: 'login' }))
    const [first, second] = [await ask(), await ask()]
    assert.deepEqual([told(await first.logIn()), told(await second.logIn())], ['code', 'code'])
  })

  it('the terms of a pushed request, accepted twice at once', async () => {
    const { issuer } = await started({ pages: {} })
    const { request_uri: uri } = await json(await post(`${issuer}/par`, request(), AS_WEB))
    const page = await new UserAgent(issuer).authorize(issuer, { client_id: 'web', request_uri: uri as string })
    const terms = await page.logIn()
    assert.deepEqual((await Promise.all([terms.accept(), terms.accept()])).map(told), ['code', 'code'])
  })

  it('a form while another user is signed in, and terms that another user saw', async () => {
    const { issuer } = await started({ pages: {} })
    const agent = new UserAgent(issuer)
    const [first, second] = [await agent.authorize(issuer, request()), await agent.authorize(issuer, request())]
    const terms = await first.logIn()
    const others = await (await second.logIn('bob', 'builder')).accept()
    assert.equal(told(others), 'code')
    const late = await terms.accept()
    assert.match(late.notice ?? '', /Another user/)
    assert.equal(told(await (await late.logIn()).accept()), 'code')
  })

  it('a hint of another user, an unreadable one, and one signed by an earlier key', async () => {
    const clock = manualClock()
    const next = { key: generateKeys('rsa').privateKey, kid: 'next', activeFrom: clock.date() + 60_000 }
    const { issuer, server } = await started({ clock, signingKeys: [{ key: SIGNING_KEY, kid: 'old' }, next] })
    const { id_token: hint } = await tokensFor(issuer)
    const ask = async (more: Record<string, string>, name: string, password: string) => {
      const page = await new UserAgent(issuer).authorize(issuer, request(more))
      return told(await page.logIn(name, password))
    }
    clock.advance(4 * 3_600_000)
    assert.equal(await ask({ id_token_hint: hint }, 'ada', 'analytical engine'), 'code')
    assert.equal(await ask({ id_token_hint: hint }, 'bob', 'builder'), 'login_required')
    assert.equal(await ask({ id_token_hint: 'x' }, 'bob', 'builder'), 'code')
    const claims = JSON.stringify({ id_token: { sub: { value: 'nobody' } } })
    assert.equal(await ask({ claims }, 'bob', 'builder'), 'login_required')
    server.setSigningKeys([{ key: next.key, kid: 'new' }])
    assert.equal(await ask({ id_token_hint: hint }, 'ada', 'analytical engine'), 'code')
  })

  it("a request posted by another site, in the user's session", async () => {
    const { issuer } = await started()
    const agent = new UserAgent(issuer)
    await (await agent.authorize(issuer, request())).logIn()
    const stranger = new UserAgent(issuer) // browsers send no Lax cookie with such a POST
    const body = new URLSearchParams(request({ prompt: 'none' }))
    const headers = { 'sec-fetch-site': 'cross-site' }
    const post = await stranger.request(`${issuer}/authorization`, { method: 'POST', body, headers })
    assert.equal(post.status, 303)
    assert.equal(told(await agent.request(post.location ?? '')), 'code')
    const out = await stranger.request(`${issuer}/logout`, { method: 'POST', body: new URLSearchParams(), headers })
    assert.deepEqual([out.status, out.response.headers.getSetCookie()], [303, []])
  })

  it('over two servers whose clocks differ, with prompt=login, consent and max_age', async () => {
    const store = memoryOAuthStore()
    const clocks = [manualClock(), manualClock()] as const
    clocks[1].advance(7_000)
    for (const [first, second] of [clocks, [clocks[1], clocks[0]]] as const) {
      const a = await started({ store, clock: first, pages: {} })
      const b = await started({ store, clock: second, pages: {}, issuer: a.issuer })
      const agent = new UserAgent(a.issuer)
      /** The same form, at the other server. */
      const elsewhere = (page: Page, fields: Record<string, string>) =>
        agent.request(`${b.origin}${new URL(/action="([^"]+)"/.exec(page.text)?.[1] ?? '').pathname}`, {
          method: 'POST',
          body: new URLSearchParams({ ...page.fields, ...fields }),
        })
      for (const more of [{ prompt: 'login' }, { prompt: 'consent' }, { prompt: 'login consent' }, { max_age: '0' }]) {
        let page = await agent.authorize(a.issuer, request(more))
        for (let step = 0; step < 3 && page.location === null; step++) {
          const login = { username: 'ada', password: 'analytical engine', action: 'login' }
          page = await elsewhere(page, page.title === 'Sign in' ? login : { action: 'accept' })
        }
        assert.equal(told(page), 'code', JSON.stringify(more))
      }
    }
  })

  it('a page from before a restart with another generated key', async () => {
    const before = await startServer({ pages: { terms: false } })
    const page = await new UserAgent(before.issuer).authorize(before.issuer, request())
    await before.close()
    const after = await started({ signingKeys: [{ key: generateKeys('rsa').privateKey }] })
    const body = new URLSearchParams({ ...page.fields, username: 'ada', password: 'analytical engine' })
    const again = await new UserAgent(after.issuer).request(`${after.issuer}/login`, { method: 'POST', body })
    assert.deepEqual([again.status, again.title], [400, 'Sign in'])
    assert.equal(told(await again.logIn()), 'code')
  })

  it('a page at another name of the host', async () => {
    const { issuer, origin } = await started({})
    const { host } = new URL(origin)
    const alias = { host: host.replace('127.0.0.1', 'localhost') }
    const agent = new UserAgent(issuer)
    const page = await agent.request(`${issuer}/authorization?${new URLSearchParams(request()).toString()}`)
    const policy = page.response.headers.get('content-security-policy') ?? ''
    assert.ok(!policy.includes(origin), 'the issuer is self')
    const cross = await page.submit({ username: 'ada', password: 'x' }, { 'sec-fetch-site': 'cross-site', ...alias })
    assert.deepEqual([cross.status, cross.title], [403, 'Sign in'])
    assert.equal(told(await cross.logIn()), 'code')
  })
})

describe('languages', () => {
  const texts = ([locale = '']: readonly string[]) =>
    locale.startsWith('ar') ? { lang: 'ar', login: 'دخول' } : { lang: locale }

  it('stand on every page: those of ui_locales, else those that the browser accepts', async () => {
    const { issuer } = await started({ pages: { texts } })
    const accepts = { 'accept-language': 'en;q=0.5, ar-EG, x;q=no' }
    const agent = new UserAgent(issuer)
    const open = (query: Record<string, string>) =>
      agent.request(`${issuer}/authorization?${new URLSearchParams(query).toString()}`, { headers: accepts })
    assert.match((await open(request())).text, /<html lang="ar" dir="rtl">/)
    assert.match((await open({ client_id: 'nobody' })).text, /<html lang="ar" dir="rtl">/)
    assert.match((await open({ client_id: 'nobody', ui_locales: 'de' })).text, /<html lang="de">/)
    const page = await open(request({ ui_locales: 'de' }))
    assert.match((await page.submit({ username: 'ada', password: 'x' }, accepts)).text, /<html lang="de">/)
    assert.match((await agent.request(`${issuer}/logout?ui_locales=fr`)).text, /<html lang="fr">/)
  })
})

describe('server.revokeUser()', () => {
  it("ends this user's sessions and known devices only; a new login works at once", async () => {
    const { issuer, server } = await started({ loginLimits: { perAccount: 1 } })
    const [ada, bob] = [new UserAgent(issuer), new UserAgent(issuer)]
    await codeForm(issuer, {}, ada)
    await (await bob.authorize(issuer, request())).logIn('bob', 'builder')
    await server.revokeUser('KWC6-X7D')
    assert.equal(told(await ada.authorize(issuer, request())), 'Sign in')
    assert.equal(told(await bob.authorize(issuer, request())), 'code')
    const stranger = await new UserAgent(issuer).authorize(issuer, request())
    for (let i = 0; i < 2; i++) await stranger.logIn('ada', 'wrong')
    const again = await (await ada.authorize(issuer, request())).logIn()
    assert.equal(again.status, 429, 'the device is not known any more')

    const other = await started()
    await other.server.revokeUser('KWC6-X7D')
    const fresh = await tokensFor(other.issuer)
    assert.ok(await other.server.verify(fresh.access_token))
    assert.equal((await refresh(other.issuer, fresh.refresh_token)).status, 200)
  })
})

describe("an account's tries", () => {
  it('count for the account, by whatever spelling or alias', async () => {
    const aliases = new Map([
      ['ada@example.org', 'KWC6-X7D'],
      ['ada', 'KWC6-X7D'],
    ])
    const users: UserDirectory = { ...USERS, findAccount: (name) => Promise.resolve(aliases.get(name.toLowerCase())) }
    const { issuer } = await started({ users, loginLimits: { perAccount: 3 } })
    const page = await new UserAgent(issuer).authorize(issuer, request())
    const statuses = []
    for (const name of ['ada', 'Ada@example.org', 'ADA', 'ada@example.org']) {
      statuses.push((await page.logIn(name, 'wrong')).status)
    }
    assert.deepEqual(statuses, [403, 403, 403, 429])
  })

  it('known devices have fifty in all', async () => {
    const { issuer } = await started({ loginLimits: { perAccount: 1, perAddress: 1 } })
    const agents = []
    for (let i = 0; i < 8; i++) {
      const agent = new UserAgent(issuer)
      await (await agent.authorize(issuer, request())).logIn()
      agents.push(agent)
    }
    const statuses = []
    for (const agent of agents) {
      agent.cookies.delete(agent.cookieName('session'))
      statuses.push((await (await agent.authorize(issuer, request())).logIn('ada', 'wrong')).status)
    }
    assert.deepEqual(statuses, [403, 403, 403, 403, 403, 429, 429, 429], 'five times perAccount')
  })
})
