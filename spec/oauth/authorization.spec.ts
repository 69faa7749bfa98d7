import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryOAuthStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { type Form, serverOfSuite, startServer } from './support'
import { type Page, UserAgent, codeForm, request, tokensFor } from './user-agent'

describe('the authorization endpoint', () => {
  const clock = manualClock()
  const running = serverOfSuite({ clock })

  const ask = (more: Form = {}, agent = new UserAgent(running.issuer)) => agent.authorize(running.issuer, request(more))
  const signedIn = async (): Promise<UserAgent> => {
    const agent = new UserAgent(running.issuer)
    await codeForm(running.issuer, {}, agent)
    return agent
  }
  const errorOf = (page: Page) => page.params.get('error')

  it('RFC 6749 §4.1.2.1 and RFC 9207 §2: other errors go to the redirect URI, with state and iss (O137)', async () => {
    const wrongs: [Form, string][] = [
      [{ response_type: '' }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: 'code id_token' }, 'unsupported_response_type'],
      [{ response_mode: 'pigeon' }, 'invalid_request'],
      [{ scope: 'unknown' }, 'invalid_scope'],
      [{ scope: 'openid "quoted"' }, 'invalid_scope'],
      [{ request: 'eyJ' }, 'request_not_supported'],
      [{ request_uri: 'https://client.test/r' }, 'request_uri_not_supported'],
      [{ registration: '{}' }, 'registration_not_supported'],
      [{ prompt: 'none consent' }, 'invalid_request'],
      [{ prompt: 'dance' }, 'invalid_request'],
      [{ max_age: '-1' }, 'invalid_request'],
      [{ max_age: '1e3' }, 'invalid_request'],
      [{ code_challenge: '' }, 'invalid_request'],
      [{ client_id: 'no-realm', redirect_uri: 'https://norealm.test/cb' }, 'invalid_request'],
    ]
    for (const [wrong, code] of wrongs) {
      const page = await ask(wrong)
      assert.equal(page.status, 303)
      assert.equal(errorOf(page), code, JSON.stringify(wrong))
      assert.equal(page.params.get('state'), 'st-123')
      assert.equal(page.params.get('iss'), running.issuer)
      assert.match(page.params.get('error_description') ?? '', /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
      assert.equal(page.params.get('code'), null)
    }
  })

  it('RFC 6749 §3.1: a parameter given twice is refused, an unknown one ignored, an empty one absent', async () => {
    const { issuer } = running
    const agent = new UserAgent(issuer)
    const query = new URLSearchParams(request()).toString()
    for (const name of ['response_type', 'scope', 'nonce', 'prompt', 'code_challenge']) {
      assert.equal(errorOf(await agent.request(`${issuer}/authorization?${query}&${name}=x`)), 'invalid_request', name)
    }
    const twoStates = await agent.request(`${issuer}/authorization?${query}&state=x`)
    assert.equal(errorOf(twoStates), 'invalid_request')
    assert.equal(twoStates.params.get('state'), null)
    for (const name of ['client_id', 'redirect_uri', 'redirect_uri[]']) {
      const page = await agent.request(`${issuer}/authorization?${query}&${name}=x`)
      assert.equal(page.status, 400)
    }
    assert.equal((await ask({ prompt: '', max_age: '', claims: '{}', display: 'x' })).title, 'Sign in')
  })

  it('parameters too long for the pages that carry them along are refused where they arrive', async () => {
    const own = await startServer()
    const { issuer } = own
    const body = new URLSearchParams(request({ state: 's'.repeat(60_000) }))
    const page = await new UserAgent(issuer).request(`${issuer}/authorization`, { method: 'POST', body })
    assert.equal(page.status, 400)
    assert.equal(page.location, null, 'no header could carry it back')
    assert.equal(page.title, 'This link does not work')
    const state = 's'.repeat(15_000)
    const long = new URLSearchParams(request({ state }))
    const login = await new UserAgent(issuer).request(`${issuer}/authorization`, { method: 'POST', body: long })
    assert.equal((await (await login.logIn('bob', 'builder')).finish()).status, 303, 'what is let in gets through')
  })

  it('RFC 8252 §7.3 and RFC 9700 §4.1.3: only a loopback port may vary', async () => {
    const native = { client_id: 'native' }
    const good = ['http://127.0.0.1/cb', 'http://127.0.0.1:1/cb', 'http://127.0.0.1:65535/cb', 'com.example.app:/cb']
    for (const uri of good) assert.equal((await ask({ ...native, redirect_uri: uri })).title, 'Sign in', uri)
    const bad = [
      'http://127.0.0.1:65536/cb',
      'http://127.0.0.1:/cb',
      'http://127.0.0.1:80x/cb',
      'http://127.0.0.1:80@evil.test/cb',
      'http://127.0.0.1/cb?x',
      'http://localhost/cb',
      'http://[::1]/cb',
      'http://127.1/cb',
      'https://127.0.0.1/cb',
      'com.example.app:/cb2',
      '',
    ]
    for (const uri of bad) assert.equal((await ask({ ...native, redirect_uri: uri })).status, 400, uri)
    const localhost = { client_id: 'legacy', redirect_uri: 'http://localhost:3000/cb' }
    assert.equal((await ask(localhost)).status, 400, 'localhost is a name, not a loopback address')
  })

  it('a website session ends after 60 idle minutes or 24 hours', async () => {
    const idle = await signedIn()
    clock.advance(59 * 60_000)
    assert.notEqual((await ask({}, idle)).location, null)
    clock.advance(61 * 60_000)
    assert.equal((await ask({}, idle)).title, 'Sign in')
    const long = await signedIn()
    for (let i = 0; i < 24; i++) {
      assert.notEqual((await ask({}, long)).location, null, `after ${i} h`)
      clock.advance(60 * 60_000 - 1)
    }
    clock.advance(24)
    assert.equal((await ask({}, long)).title, 'Sign in')
  })

  it('OIDC Core §3.1.2.6: prompt=none never shows a page', async () => {
    assert.equal(errorOf(await ask({ prompt: 'none' })), 'login_required')
    const agent = await signedIn()
    assert.notEqual((await ask({ prompt: 'none' }, agent)).params.get('code'), null)
    clock.advance(10_000)
    assert.equal(errorOf(await ask({ prompt: 'none', max_age: '5' }, agent)), 'login_required')
    const other = new UserAgent(running.issuer)
    await (await ask({}, other)).logIn('bob', 'builder')
    assert.equal(errorOf(await ask({ prompt: 'none' }, other)), 'interaction_required', 'the terms are still open')
  })

  it('OIDC Core §3.1.2.1: prompt=consent shows the terms again', async () => {
    const agent = await signedIn()
    clock.advance(1_000)
    const page = await ask({ prompt: 'consent' }, agent)
    assert.equal(page.title, 'Terms of access')
    assert.notEqual((await page.accept()).params.get('code'), null)
  })

  it('OIDC Core §3.1.2.1: max_age asks again when the login is older, and auth_time tells', async () => {
    const agent = await signedIn()
    clock.advance(100_000)
    assert.notEqual((await ask({ max_age: '100' }, agent)).params.get('code'), null)
    clock.advance(1)
    const page = await ask({ max_age: '100' }, agent)
    assert.equal(page.title, 'Sign in')
    const again = await page.logIn()
    assert.notEqual(again.params.get('code'), null)
    assert.equal((await ask({ max_age: '0' }, agent)).location === null, false, 'the login is not a millisecond old')
    clock.advance(1)
    assert.equal((await ask({ max_age: '0' }, agent)).title, 'Sign in')
  })

  it('OIDC Core §3.1.2.1: login_hint fills in the name, id_token_hint accepts only that user', async () => {
    const hinted = await ask({ login_hint: `ada"><b>{{csrf}}` })
    assert.equal(hinted.fields.username, `ada"><b>{{csrf}}`)
    assert.ok(!hinted.text.includes('<b>'))
    const agent = await signedIn()
    const { id_token } = await tokensFor(running.issuer, {}, agent)
    const hint = { id_token_hint: id_token, prompt: 'none' }
    assert.notEqual((await ask(hint, agent)).params.get('code'), null)
    assert.equal(errorOf(await ask({ ...hint, id_token_hint: 'nonsense' }, agent)), 'login_required')
    const bob = new UserAgent(running.issuer)
    await (await (await ask({}, bob)).logIn('bob', 'builder')).accept()
    assert.equal(errorOf(await ask(hint, bob)), 'login_required')
  })

  it('answers other methods with 405 and what it takes', async () => {
    const response = await fetch(`${running.issuer}/authorization`, { method: 'PUT' })
    assert.equal(response.status, 405)
    assert.equal(response.headers.get('allow'), 'GET, HEAD, POST')
    const head = await fetch(`${running.issuer}/authorization?${new URLSearchParams(request()).toString()}`, {
      method: 'HEAD',
    })
    assert.equal(head.status, 200)
    assert.equal(await head.text(), '')
  })

  it('stores nothing for an open login page', async () => {
    let written = 0
    const store = memoryOAuthStore()
    const counting = { ...store, set: (...args: Parameters<typeof store.set>) => (written++, store.set(...args)) }
    const other = await startServer({ store: counting })
    for (let i = 0; i < 20; i++) await new UserAgent(other.issuer).authorize(other.issuer, request())
    assert.equal(written, 0)
  })
})
