import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ClientRegistration, clientDirectory, memoryOAuthStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { CLIENTS, type RunningServer, VERIFIER, askToken, json, postJson, startServer } from './support'
import { UserAgent, request } from './user-agent'

const STRANGE = 'https://stranger.test/cb'

type Started = RunningServer & { readonly clientId: string; readonly register: (more?: object) => Promise<string> }

/** A server with one app that registered itself. */
async function started(registered: object = {}, apps: ClientRegistration[] = []): Promise<Started> {
  const running = await startServer({
    registration: { accept: () => ({ scopes: ['tree.read'] }), perAddress: 1_000 },
    clients: clientDirectory([...CLIENTS, ...apps]),
  })
  const register = async (more: object = {}) => {
    const metadata = { client_name: 'Calendar', redirect_uris: [STRANGE], token_endpoint_auth_method: 'none', ...more }
    return (await json(await postJson(`${running.issuer}/register`, metadata))).client_id as string
  }
  return { ...running, register, clientId: await register({ scope: 'openid profile email', ...registered }) }
}

const asked = (clientId: string, more: Record<string, string> = {}) =>
  request({ client_id: clientId, redirect_uri: STRANGE, scope: 'openid email', ...more })

/** A browser in which Ada is signed in and has accepted the terms. */
async function signedIn({ issuer }: RunningServer): Promise<UserAgent> {
  const agent = new UserAgent(issuer)
  await (await (await agent.authorize(issuer, request())).logIn()).finish()
  return agent
}

/** The tokens for the code that a page led to. */
async function redeem({ issuer }: RunningServer, clientId: string, code: string | null, redirectUri = STRANGE) {
  const form = { grant_type: 'authorization_code', client_id: clientId, code_verifier: VERIFIER }
  return askToken(issuer, { ...form, code: code ?? '', redirect_uri: redirectUri }, {})
}

describe('an app that registered itself', () => {
  it('gets a code of a user who is signed in only after a page that names the app, the host and the scopes', async () => {
    const running = await started()
    const page = await (await signedIn(running)).authorize(running.issuer, asked(running.clientId))
    assert.deepEqual([page.status, page.location, page.title], [200, null, 'Allow Calendar?'])
    for (const words of ['stranger.test', 'registered itself', 'see your email address', 'Signed in as ada'])
      assert.ok(page.text.includes(words), words)
    assert.notEqual((await page.accept()).params.get('code'), null)
    const declined = await (
      await new UserAgent(running.issuer).authorize(running.issuer, asked(running.clientId))
    )
      .logIn('bob', 'builder')
      .then((terms) => terms.accept())
      .then((approval) => approval.submit({ action: 'decline' }))
    assert.deepEqual([declined.status, declined.location], [400, null])
    assert.match(declined.text, /href="https:\/\/stranger\.test\/cb\?error=access_denied/)
  })

  it('is asked about once for each user, host and scope, and again by prompt=consent', async () => {
    const second = 'https://other-stranger.test/cb'
    const running = await started({ redirect_uris: [STRANGE, second] })
    const agent = await signedIn(running)
    const title = async (more: Record<string, string> = {}) => {
      const page = await agent.authorize(running.issuer, asked(running.clientId, more))
      return page.location === null ? page.title : 'code'
    }
    await (await agent.authorize(running.issuer, asked(running.clientId))).accept()
    assert.equal(await title(), 'code')
    assert.equal(await title({ scope: 'openid' }), 'code')
    assert.equal(await title({ scope: 'openid email profile' }), 'Allow Calendar?')
    assert.equal(await title({ redirect_uri: second }), 'Allow Calendar?', 'the host decides, not the app key')
    assert.equal(await title({ prompt: 'consent' }), 'Allow Calendar?')
    const other = await (
      await new UserAgent(running.issuer).authorize(running.issuer, asked(running.clientId))
    ).logIn('bob', 'builder')
    assert.equal((await other.accept()).title, 'Allow Calendar?')
  })

  it('with prompt=none gets nothing until the user has approved it: a page says consent_required', async () => {
    const running = await started()
    const agent = await signedIn(running)
    const silent = () => agent.authorize(running.issuer, asked(running.clientId, { prompt: 'none' }))
    assert.match((await silent()).text, /href="https:\/\/stranger\.test\/cb\?error=consent_required/)
    await (await agent.authorize(running.issuer, asked(running.clientId))).accept()
    assert.notEqual((await silent()).params.get('code'), null)
  })

  it('the pages name the host of this request, and that of a custom scheme is the scheme', async () => {
    const uris = ['https://claude.test/x', STRANGE, 'cursor://accounts.test/cb', 'http://127.0.0.1/cb']
    const running = await started({ client_name: 'Claude', redirect_uris: uris })
    const agent = await signedIn(running)
    for (const [uri, host] of [
      [STRANGE, 'stranger.test'],
      ['cursor://accounts.test/cb', 'cursor:'],
      ['http://127.0.0.1:5123/cb', '127.0.0.1:5123'],
    ] as const) {
      const login = await new UserAgent(running.issuer).authorize(
        running.issuer,
        asked(running.clientId, { redirect_uri: uri }),
      )
      assert.ok(login.text.includes(`to continue to <bdi>Claude</bdi> (<bdi>${host}</bdi>)`), login.text.slice(-900))
      const page = await agent.authorize(running.issuer, asked(running.clientId, { redirect_uri: uri }))
      assert.ok(page.text.includes(`<bdi>${host}</bdi>.</p>`), host)
    }
  })

  it('gets no scope and no claim beyond what its registration or accept names', async () => {
    const running = await started({ scope: 'openid tree.read' })
    const all = 'openid profile email phone address tree.read tree.write'
    for (const [clientId, granted] of [
      [running.clientId, 'openid tree.read'],
      [await running.register(), 'openid tree.read'],
      [await running.register({ scope: 'email tree.write' }), 'email tree.read'],
    ] as const) {
      const claims = JSON.stringify({ userinfo: { email: null }, id_token: { family_name: { essential: true } } })
      const page = await (await signedIn(running)).authorize(running.issuer, asked(clientId, { scope: all, claims }))
      const tokens = await redeem(running, clientId, (await page.accept()).params.get('code'))
      assert.equal(tokens.scope, granted)
      if (!granted.includes('openid')) continue
      const headers = { authorization: `Bearer ${tokens.access_token}` }
      assert.deepEqual(await json(await fetch(`${running.issuer}/userinfo`, { headers })), { sub: 'KWC6-X7D' })
      const payload = Buffer.from(tokens.id_token.split('.')[1] as string, 'base64url').toString()
      assert.ok(!payload.includes('Lovelace'))
    }
  })

  it('RFC 9700 §4.11.2: is no open redirector: errors, cancel and logout lead to a page with a link', async () => {
    const running = await started({ post_logout_redirect_uris: ['https://stranger.test/bye'] })
    const { clientId, issuer } = running
    const wrong = { response_type: 'token' }
    const agent = new UserAgent(issuer)
    const pages = [
      await agent.authorize(issuer, asked(clientId, wrong)),
      await agent.authorize(issuer, asked(clientId, { ...wrong, prompt: 'none' })),
      await agent.authorize(issuer, asked(clientId, { prompt: 'none' })),
      await agent.authorize(issuer, asked(clientId, { prompt: 'none', response_mode: 'form_post' })),
      await agent.authorize(issuer, asked(clientId, { code_challenge: '', code_challenge_method: '' })),
      await (await agent.authorize(issuer, asked(clientId))).submit({ action: 'cancel' }),
      await agent.request(
        `${issuer}/logout?${new URLSearchParams({ client_id: clientId, post_logout_redirect_uri: 'https://stranger.test/bye', state: 's' }).toString()}`,
      ),
    ]
    for (const page of pages) {
      assert.equal(page.location, null)
      assert.match(page.text, /<a class="button quiet" href="https:\/\/stranger\.test\//)
    }
    const known = await signedIn(running)
    await (await known.authorize(issuer, asked(clientId))).accept()
    assert.equal(
      (await known.authorize(issuer, asked(clientId, wrong))).params.get('error'),
      'unsupported_response_type',
    )
  })

  it('on a loopback port hears that the user said no, at each page; elsewhere the user gets a link', async () => {
    const uris = [
      'http://127.0.0.1/cb',
      'http://localhost/cb',
      'http://[::1]/cb',
      'editor:/cb',
      'https://stranger.test/cb',
    ]
    const running = await started({ redirect_uris: uris })
    const { clientId, issuer } = running
    const ada = await signedIn(running)
    for (const [uri, isHeard] of [
      ['http://127.0.0.1:49152/cb', true],
      ['http://localhost:7772/cb', true], // any port, also beside https addresses
      ['http://[::1]:49152/cb', true],
      ['editor:/cb', false], // whoever has registered the scheme there
      ['https://stranger.test/cb', false],
    ] as const) {
      const page = await ada.authorize(issuer, asked(clientId, { redirect_uri: uri }))
      const login = await new UserAgent(issuer).authorize(issuer, asked(clientId, { redirect_uri: uri }))
      for (const no of [await page.submit({ action: 'deny' }), await login.submit({ action: 'cancel' })]) {
        assert.equal(no.status, isHeard ? 303 : 400, uri)
        if (isHeard) assert.ok(no.location?.startsWith(`${uri}?error=access_denied&`), no.location ?? '')
        else assert.ok(no.text.includes(`href="${uri}?error=access_denied&`), uri)
      }
      // Nobody has decided anything.
      const silent = await ada.authorize(issuer, asked(clientId, { redirect_uri: uri, prompt: 'none' }))
      assert.deepEqual([silent.status, silent.location], [400, null], uri)
    }
  })

  it('its approvals stay where strangers fill a memoryOAuthStore(), and last a year from their last use', async () => {
    const clock = manualClock()
    const store = memoryOAuthStore({ maxBytes: 40_000, clock })
    const running = await startServer({
      store,
      clock,
      clients: clientDirectory([{ ...(CLIENTS[0] as ClientRegistration), approval: 'ask' }]),
    })
    const agent = await signedIn(running)
    const day = 86_400_000
    for (let i = 0; i < 3; i++) {
      clock.advance(300 * day)
      const page = await (await agent.authorize(running.issuer, request())).logIn()
      assert.notEqual((page.title === 'Terms of access' ? await page.accept() : page).params.get('code'), null)
    }
    for (let i = 0; i < 100; i++) await store.set(`x:${i}`, '1', 60_000, '203.0.0.0/16')
    const isAsked = async () => (await agent.authorize(running.issuer, request())).title?.startsWith('Allow') ?? false
    for (let i = 0; i < 100; i++) await store.set(`x:${i}`, '1', 60_000, '127.0.0.0/16')
    assert.equal(await isAsked(), false, 'strangers made way')
  })
})

describe('an app of the directory', () => {
  const native = 'com.example.app:/cb'

  it('RFC 8252 §8.6: is asked about each time, unless its redirect is an https address', async () => {
    const ask = { name: 'Own', realm: '/o', approval: 'ask' as const }
    const uris = [native, 'http://127.0.0.1:4000/cb', 'http://localhost/cb', 'https://own.test/cb']
    const running = await started({}, [{ ...ask, clientId: 'own', redirectUris: uris }])
    const agent = await signedIn(running)
    for (const redirect_uri of uris) {
      const page = () => agent.authorize(running.issuer, request({ client_id: 'own', redirect_uri }))
      assert.notEqual((await (await page()).accept()).params.get('code'), null)
      assert.equal((await page()).title === 'Allow Own?', !redirect_uri.startsWith('https:'), redirect_uri)
    }
  })

  it('is approved as it is, unless it is native or its registration says ask', async () => {
    const own = { name: 'Own', realm: '/o' }
    const running = await started({}, [
      { ...own, clientId: 'ask', redirectUris: ['https://own.test/cb'], approval: 'ask' },
      { ...own, clientId: 'auto', redirectUris: [native], approval: 'auto' },
      { ...own, clientId: 'dev', redirectUris: ['http://localhost:3000/cb', 'http://127.0.0.1:3000/cb'] },
    ])
    const agent = await signedIn(running)
    for (const [clientId, redirectUri, page] of [
      ['web', 'https://client.test/cb', undefined],
      ['ask', 'https://own.test/cb', 'Allow Own?'],
      ['auto', native, undefined],
      ['native', native, 'Allow Native?'],
      ['native', 'http://127.0.0.1:5123/cb', 'Allow Native?'],
      ['dev', 'http://localhost:3000/cb', undefined],
      ['dev', 'http://127.0.0.1:3000/cb', undefined],
      ['dev', 'http://127.0.0.1:3001/cb', 'Allow Own?'],
    ] as const) {
      const answer = await agent.authorize(running.issuer, request({ client_id: clientId, redirect_uri: redirectUri }))
      assert.equal(answer.title, page, `${clientId} ${redirectUri}`)
    }
  })
})
