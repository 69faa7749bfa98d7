import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, describe, it } from 'node:test'
import type { AddressInfo } from 'node:net'
import {
  type AuthorizationServerOptions,
  type OAuthStore,
  DirectoryBusyError,
  type User,
  authorizationServer,
  clientDirectory,
  memoryOAuthStore,
} from '../../lib/oauth'
import { EXPRESS_VERSIONS } from '../support/express-versions'
import { FailingStore } from './failing-store'
import { AS_WEB, CLIENTS, SIGNING_KEY, USERS, askToken, json, post, postJson, refresh, startServer } from './support'
import { UserAgent, codeForm, request } from './user-agent'
import { assertIs, above } from '../support/until'

const started = (options: Partial<AuthorizationServerOptions> = {}) =>
  startServer({ pages: { terms: false }, ...options })

describe('a step that failed in the middle can be retried:', () => {
  for (const [method, kind] of [
    ['count', 'login'],
    ['set', 'session'],
    ['set', 'code'],
    ['get', 'stamp'],
  ] as const) {
    it(`a login form, when ${method} of a ${kind} fails`, async () => {
      const store = new FailingStore(memoryOAuthStore())
      const { issuer } = await started({ store })
      const page = await new UserAgent(issuer).authorize(issuer, request())
      store.failAt(`${method} ${kind}:`)
      assert.equal((await page.logIn()).status, 503)
      assert.ok(store.hasFailed())
      assert.notEqual((await page.logIn()).params.get('code'), null)
    })
  }

  for (const format of ['jwt', 'opaque'] as const) {
    for (const [method, kind] of [
      ['get', 'code'],
      ['get', 'revoked'],
      ['set', 'token'],
      ['set', 'refresh'],
      ['claim', 'code'],
    ] as const) {
      if (kind === 'token' && format === 'jwt') continue
      it(`a code for ${format} tokens, when ${method} of a ${kind} record fails`, async () => {
        const store = new FailingStore(memoryOAuthStore())
        const { issuer, server } = await started({ store, accessTokens: { format } })
        const form = await codeForm(issuer)
        store.failAt(`${method} ${kind}:`)
        assert.equal((await post(`${issuer}/token`, form, AS_WEB)).status, 503)
        assert.ok(store.hasFailed())
        const tokens = await askToken(issuer, form)
        assert.ok(await server.verify(tokens.access_token))
        assert.equal((await refresh(issuer, tokens.refresh_token)).status, 200)
        assert.equal((await askToken(issuer, form)).error, 'invalid_grant')
      })
    }
  }

  it('a code, when the user directory fails', async () => {
    let isAway = false
    const users = {
      ...USERS,
      findUser: (id: string) => (isAway ? Promise.reject(new Error('away')) : USERS.findUser(id)),
    }
    const { issuer } = await started({ users })
    const form = await codeForm(issuer)
    isAway = true
    assert.equal((await post(`${issuer}/token`, form, AS_WEB)).status, 503)
    isAway = false
    assert.equal((await post(`${issuer}/token`, form, AS_WEB)).status, 200)
  })

  for (const [method, kind] of [
    ['set', 'code'],
    ['count', 'used'],
    ['get', 'session'],
  ] as const) {
    it(`a pushed request, when ${method} of a ${kind} record fails`, async () => {
      const store = new FailingStore(memoryOAuthStore())
      const { issuer } = await started({ store })
      const agent = new UserAgent(issuer)
      await (await agent.authorize(issuer, request())).logIn()
      const { request_uri: uri } = await json(await post(`${issuer}/par`, request(), AS_WEB))
      const open = () => agent.authorize(issuer, { client_id: 'web', request_uri: uri as string })
      store.failAt(`${method} ${kind}:`)
      assert.equal((await open()).status, 503)
      assert.ok(store.hasFailed())
      assert.notEqual((await open()).params.get('code'), null)
      assert.equal((await open()).params.get('error'), 'invalid_request', 'it is used now')
    })
  }
})

describe('a directory that fails', () => {
  it('or is busy does not count as a wrong password: afterwards nobody is locked out', async () => {
    let isAway = true
    let isBusy = false
    const authenticate = async (name: string, password: string) => {
      isBusy = !isBusy
      if (isAway) throw isBusy ? new DirectoryBusyError(7) : new Error('away')
      return USERS.authenticate(name, password)
    }
    const { issuer } = await started({
      users: { ...USERS, authenticate },
      loginLimits: { perAccount: 2, perAddress: 2 },
    })
    const page = await new UserAgent(issuer).authorize(issuer, request())
    for (const seconds of ['7', '5', '7', '5']) {
      const { status, headers } = (await page.logIn()).response
      assert.deepEqual([status, headers.get('retry-after')], [503, seconds])
    }
    isAway = false
    assert.notEqual((await page.logIn()).params.get('code'), null)
  })

  for (const [how, authenticate] of [
    ['throws', () => { throw new Error('directory away') }], // prettier-ignore
    ['rejects', () => Promise.reject(new Error('directory away'))],
    ['resolves with what is no user', () => Promise.resolve({ name: 'Ada' } as unknown as User)],
  ] as const)
    it(`shows the page of a failure where authenticate() ${how}, and onError hears of it`, async () => {
      const told: { err: unknown; id: string }[] = []
      const onError: AuthorizationServerOptions['onError'] = (err, _req, { id }) => void told.push({ err, id })
      const { issuer } = await started({ users: { ...USERS, authenticate }, onError })
      const page = await (await new UserAgent(issuer).authorize(issuer, request())).logIn()
      const { status, headers } = page.response
      assert.deepEqual([status, headers.get('Content-Type')], [503, 'text/html; charset=utf-8'])
      assertIs(Number(headers.get('Retry-After')), above(0))
      assert.equal(told.length, 1)
      assert.ok(told[0]?.err instanceof Error)
      assert.ok(page.text.includes(told[0].id), 'the page shows the id that onError gets')
      assert.equal(page.text.includes(told[0].err.message), false)
    })
})

describe('control characters in any parameter', () => {
  it('cause no 5xx, reach no key of the store, and no directory, which may reject them', async () => {
    const memory = memoryOAuthStore()
    const clients = clientDirectory(CLIENTS)
    const odd = (key: string) => /\p{Cc}/u.test(key) && Promise.reject(new Error('invalid byte sequence'))
    const store: OAuthStore = {
      set: (key, ...rest) => odd(key) || memory.set(key, ...rest),
      get: (key, ...rest) => odd(key) || memory.get(key, ...rest),
      claim: (key, ...rest) => odd(key) || memory.claim(key, ...rest),
      count: (key, ...rest) => odd(key) || memory.count(key, ...rest),
    }
    const failures: unknown[] = []
    const onError = (err: unknown) => void failures.push(err)
    const { issuer } = await started({
      ...{ store, onError, registration: { accept: () => ({}), perAddress: 1_000 } },
      clients: { findClient: (id) => odd(id) || clients.findClient(id) },
      users: {
        ...USERS,
        authenticate: (name, password) =>
          odd(password.includes('\0') ? password : name) || USERS.authenticate(name, password),
      },
    })
    const token = { grant_type: 'authorization_code', redirect_uri: 'x', code: 'x', code_verifier: 'x' }
    const open = () => new UserAgent(issuer).authorize(issuer, request())
    const login = (await open()).fields
    for (const bad of ['\0', 'a\nb', '\r\nSet-Cookie: a=b', '\u0085', '\u2028', '\ud800', '\x1b[2J']) {
      const statuses: Record<string, number> = {}
      const send = async (path: string, form: Record<string, string>, headers = {}) => {
        for (const name of Object.keys(form)) {
          const response = await post(issuer + path, { ...form, [name]: bad }, headers)
          statuses[`${path} ${name}`] = response.status
        }
      }
      await send('/authorization', {
        ...request(),
        login_hint: '',
        prompt: '',
        ui_locales: '',
        resource: '',
        claims: '',
      })
      await send('/par', { ...request(), resource: '', request_uri: '', dpop_jkt: '' }, AS_WEB)
      await send('/token', token, AS_WEB)
      await send('/token', { ...token, client_id: '', client_secret: '', client_assertion: '' })
      await send('/token', { grant_type: 'refresh_token', refresh_token: '', scope: '', resource: '' }, AS_WEB)
      await send('/token', { grant_type: 'client_credentials', scope: '', resource: '' }, AS_WEB)
      await send('/token', { grant_type: 'unauthenticated_session', client_id: 'spa', ip_address: '' })
      await send('/introspect', { token: '', token_type_hint: '' }, AS_WEB)
      await send('/revoke', { token: '', token_type_hint: '' }, AS_WEB)
      await send('/userinfo', { access_token: '' })
      await send('/login', { ...login, username: '', password: '', action: '' })
      for (const [name, password] of [
        [bad, 'x'],
        ['ada', bad],
      ] as const)
        statuses[`login ${name} ${password}`] = (await (await open()).logIn(name, password)).status
      await send('/logout', {
        client_id: '',
        post_logout_redirect_uri: '',
        state: '',
        id_token_hint: '',
        ui_locales: '',
      })
      for (const name of ['client_name', 'scope', 'client_uri', 'token_endpoint_auth_method'])
        statuses[`register ${name}`] = await register(issuer, { [name]: bad })
      statuses['register redirect_uris'] = await register(issuer, { redirect_uris: [`https://a.test/${bad}`] })
      const path = await fetch(`${issuer}/register/${encodeURIComponent(bad.replace('\ud800', '\0'))}`)
      statuses['register/'] = path.status
      const failed = Object.entries(statuses).filter(([, status]) => status >= 500)
      assert.deepEqual([failed, failures], [[], []], JSON.stringify(bad))
    }
  })
})

async function register(issuer: string, more: object): Promise<number> {
  return (await postJson(`${issuer}/register`, { redirect_uris: ['https://a.test/cb'], ...more })).status
}

for (const [version, express] of EXPRESS_VERSIONS) {
  describe(`callbacks that throw or reject, on ${version}`, () => {
    async function serve(t: TestContext, options: Partial<AuthorizationServerOptions>): Promise<string> {
      const app = express()
      const http = app.listen(0, '127.0.0.1')
      await once(http, 'listening')
      t.after(() => {
        http.closeAllConnections()
        http.close()
      })
      const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}/as`
      const base = { issuer, clients: clientDirectory(CLIENTS), users: USERS, signingKeys: [{ key: SIGNING_KEY }] }
      app.use('/as', authorizationServer({ ...base, log: () => undefined, ...options }))
      return issuer
    }

    const throws = () => {
      throw new Error('callback')
    }
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- libraries do reject with nothing
    const rejectsWithNothing = () => new Promise((_, reject) => reject(undefined))
    const rejects = () => Promise.reject(new Error('callback')) as never
    const away = { findClient: () => Promise.reject(new Error('the directory is away')) }
    for (const [what, options, status] of [
      ['onError throws', { clients: away, onError: throws }, 503],
      ['onError rejects', { clients: away, onError: rejects }, 503],
      ['findClient throws', { clients: { findClient: throws } }, 503],
      ['findClient rejects with nothing', { clients: { findClient: rejectsWithNothing } }, 503],
      ['pages.texts throws', { pages: { texts: throws } }, 200],
      ['pages.texts rejects', { pages: { texts: rejects } }, 200],
      ['pages.texts returns no texts', { pages: { texts: (() => ({ loginTitle: 7 })) as never } }, 200],
      ['log throws', { clients: clientDirectory([]), log: throws }, 400],
      ['log rejects', { clients: clientDirectory([]), log: rejects }, 400],
    ] as const) {
      it(`${what}: ${status}, one line, and the process goes on`, async (t) => {
        const lines = t.mock.method(console, 'error', () => undefined).mock
        const issuer = await serve(t, options as Partial<AuthorizationServerOptions>)
        const page = await new UserAgent(issuer).authorize(issuer, request())
        assert.equal(page.status, status)
        assert.equal(lines.callCount(), what.includes('no texts') ? 0 : 1)
        assert.equal((await fetch(`${issuer}/jwks`)).status, 200)
      })
    }

    it('accept throws or rejects: 503, one line', async (t) => {
      for (const accept of [throws, rejects]) {
        const lines = t.mock.method(console, 'error', () => undefined).mock
        const issuer = await serve(t, { registration: { accept } })
        const response = await postJson(`${issuer}/register`, { redirect_uris: ['https://a.test/cb'] })
        assert.deepEqual([response.status, response.headers.get('retry-after'), lines.callCount()], [503, '5', 1])
        t.mock.restoreAll()
      }
    })

    it('onwardOrigins of a directory that end a policy stay out of it', async (t) => {
      const onwardOrigins = ["https://a;script-src 'unsafe-inline'", 'vscode:']
      const app = { ...CLIENTS[0], name: "$& $' $`", onwardOrigins }
      const issuer = await serve(t, { clients: { findClient: () => Promise.resolve(app as never) } })
      const page = await new UserAgent(issuer).authorize(issuer, request())
      const policy = page.response.headers.get('content-security-policy') ?? ''
      assert.match(policy, /form-action 'self' https:\/\/client\.test vscode:$/)
      assert.ok(page.text.includes('to continue to <bdi>$&amp; $&#39; $`</bdi>'))
    })
  })
}
