import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AuthorizationServerOptions, clientDirectory } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { CLIENTS, type Form, type Tokens, VERIFIER, askToken, json, postJson, startServer } from './support'
import { UserAgent, request } from './user-agent'

const ADA = 'KWC6-X7D'
const REDIRECT = 'com.example.app:/cb'
const native = (clientId: string) => ({
  ...{ clientId, name: `App ${clientId}`, realm: '/n', redirectUris: [REDIRECT], scopes: ['tree.read'] },
  grants: ['authorization_code', 'refresh_token'] as const,
})

async function started(options: Partial<AuthorizationServerOptions> = {}) {
  const clients = clientDirectory([...CLIENTS, native('one'), native('two')])
  const running = await startServer({ clients, pages: { terms: false }, ...options })
  const { issuer } = running
  const agent = new UserAgent(issuer)
  const ask = (client_id: string, more: Form = {}) =>
    agent.authorize(issuer, request({ client_id, redirect_uri: REDIRECT, scope: 'openid tree.read', ...more }))
  const token = (client_id: string, form: Form) => askToken(issuer, { client_id, ...form }, {})
  /** Signs Ada in and approves the app; its tokens. */
  const allow = async (clientId: string) => {
    let page = await ask(clientId)
    if (page.title === 'Sign in') page = await page.logIn()
    if (page.location === null) page = await page.accept()
    const form = { grant_type: 'authorization_code', redirect_uri: REDIRECT, code_verifier: VERIFIER }
    return token(clientId, { ...form, code: page.params.get('code') ?? '' })
  }
  const refresh = async (clientId: string, { refresh_token }: Tokens) =>
    (await token(clientId, { grant_type: 'refresh_token', refresh_token })).error
  const isActive = async ({ access_token }: Tokens) => (await running.server.verify(access_token)) !== undefined
  return { ...running, agent, ask, allow, refresh, isActive }
}

describe('approvals', () => {
  it('are listed for a user, and one that is withdrawn ends the tokens of that app alone', async () => {
    const clock = manualClock(Date.UTC(2031, 4, 1))
    const { server, ask, allow, refresh, isActive } = await started({ clock })
    const one = await allow('one')
    clock.advance(86_400_000 / 2)
    const two = await allow('two')
    const listed = await server.approvals(ADA)
    assert.deepEqual(
      listed.map(({ clientId, name, hosts, scope, since }) => [clientId, name, hosts, scope, since.toISOString()]),
      [
        ['two', 'App two', ['com.example.app:'], ['openid', 'tree.read'], '2031-05-01T12:00:00.000Z'],
        ['one', 'App one', ['com.example.app:'], ['openid', 'tree.read'], '2031-05-01T00:00:00.000Z'],
      ],
    )
    const waiting = (await (await ask('one')).accept()).params.get('code')
    await server.withdrawApproval(ADA, 'one')
    assert.deepEqual([await isActive(one), await refresh('one', one)], [false, 'invalid_grant'])
    assert.deepEqual([await isActive(two), await refresh('two', two)], [true, undefined])
    assert.deepEqual(
      (await server.approvals(ADA)).map(({ clientId }) => clientId),
      ['two'],
    )
    assert.notEqual(waiting, null, 'a code of before')
    assert.equal((await ask('one')).title, 'Allow App one?', 'asked again')
    const again = await allow('one')
    assert.deepEqual([await isActive(again), await refresh('one', again)], [true, undefined])
    assert.deepEqual(await server.approvals('nobody'), [])
    await server.withdrawApproval('nobody', 'nothing')
    await assert.rejects(
      server.approvals(''),
      /approvals\(\): the id of the user must be a text, or a whole number; received ''/,
    )
  })

  it('at the same moment are all listed', async () => {
    const apps = Array.from({ length: 8 }, (_, i) => native(`app-${i}`))
    const { server, ask, allow } = await started({ clients: clientDirectory([...CLIENTS, native('one'), ...apps]) })
    await allow('one')
    const pages = await Promise.all(apps.map(({ clientId }) => ask(clientId)))
    await Promise.all(pages.map((page) => page.accept()))
    assert.equal((await server.approvals(ADA)).length, 9)
  })
})

describe('/apps', () => {
  it('shows a user who is signed in which apps may act for him since when, and withdraws one', async () => {
    const { issuer, agent, allow, isActive } = await started({ clock: manualClock(Date.UTC(2031, 4, 1)) })
    const one = await allow('one')
    const page = await agent.request(`${issuer}/apps`)
    assert.equal(page.title, 'Apps that may act for you')
    for (const words of ['App one', 'com.example.app:', 'since May 1, 2031', 'use “tree.read”', 'Signed in as ada'])
      assert.ok(page.text.includes(words), words)
    assert.match(page.response.headers.get('content-security-policy') ?? '', /form-action 'self'$/)
    const back = await page.submit({ app: 'one' })
    assert.deepEqual([back.status, back.location], [303, `${issuer}/apps`])
    assert.equal(await isActive(one), false)
    assert.match((await agent.request(`${issuer}/apps`)).text, /You have allowed no app/)
    await page.submit({ app: 'one' })
  })

  it('asks for a login first, and comes back', async () => {
    const { issuer } = await started({ pages: { terms: { version: '1', paragraphs: ['Be kind.'] } } })
    const agent = new UserAgent(issuer)
    const login = await agent.request(`${issuer}/apps`)
    assert.deepEqual([login.status, login.title], [200, 'Sign in'])
    assert.equal((await login.logIn('ada', 'wrong')).status, 403)
    const terms = await (await agent.request(`${issuer}/apps`)).logIn()
    assert.equal(terms.title, 'Terms of access')
    const back = await terms.accept()
    assert.equal(back.location, `${issuer}/apps`, 'without a code in the address')
    assert.match((await agent.request(`${issuer}/apps`)).text, /You have allowed no app/)
    assert.match(
      (await (await new UserAgent(issuer).request(`${issuer}/apps`)).submit({ action: 'cancel' })).location ?? '',
      /\/apps\?error=access_denied/,
    )
  })

  it('is refused from another site, of another browser, and after another user signed in', async () => {
    const { issuer, agent, allow, isActive } = await started()
    const one = await allow('one')
    const page = await agent.request(`${issuer}/apps`)
    const bob = new UserAgent(issuer)
    await (await bob.authorize(issuer, request())).logIn('bob', 'builder')
    const theirs = await bob.request(`${issuer}/apps`)
    const send = (from: typeof page, by: UserAgent, headers: Form = {}) =>
      by.request(`${issuer}/apps`, {
        method: 'POST',
        body: new URLSearchParams({ ...from.fields, app: 'one' }),
        headers,
      })
    assert.equal((await send(page, agent, { 'sec-fetch-site': 'cross-site' })).status, 403)
    assert.equal((await send(page, agent, { origin: 'https://evil.test' })).status, 403)
    for (const [from, by] of [
      [page, bob],
      [theirs, agent],
      [page, new UserAgent(issuer)],
    ] as const)
      assert.equal((await send(from, by)).status, 403)
    assert.ok(await isActive(one))
    await (await agent.authorize(issuer, request({ prompt: 'login' }))).logIn('bob', 'builder')
    assert.equal((await send(page, agent)).status, 403)
  })

  it('escapes what an app calls itself, and groups the hosts of a stranger with its name', async () => {
    const { issuer, agent, allow } = await started({ registration: { accept: () => ({}) } })
    await allow('one')
    const metadata = { client_name: '<b>{{x}}</b>', redirect_uris: ['https://evil.test/cb'] }
    const app = await json(await postJson(`${issuer}/register`, { ...metadata, token_endpoint_auth_method: 'none' }))
    const asked = request({ client_id: app.client_id as string, redirect_uri: 'https://evil.test/cb' })
    await (await agent.authorize(issuer, asked)).accept()
    const { text } = await agent.request(`${issuer}/apps`)
    assert.ok(text.includes('&lt;b&gt;{{x}}&lt;/b&gt;</bdi> (<bdi>evil.test'), text.slice(-1500))
  })
})

describe('another account', () => {
  it('is offered where a user approves an app or accepts terms, and goes on with that account', async () => {
    const { issuer, agent, ask } = await started({ pages: { terms: { version: '1', paragraphs: ['Be kind.'] } } })
    const terms = await (await ask('one')).logIn('bob', 'builder')
    assert.match(terms.text, /Signed in as bob <button class="plain" name="action" value="other">Use another account/)
    const login = await terms.submit({ action: 'other' })
    assert.deepEqual([login.title, login.notice], ['Sign in', 'Please sign in with the account that you want to use.'])
    const approval = await (await login.logIn()).accept()
    assert.match(approval.text, /Signed in as ada/)
    assert.notEqual((await approval.accept()).params.get('code'), null)
    assert.equal((await agent.request(`${issuer}/apps`)).title, 'Apps that may act for you')
  })
})
