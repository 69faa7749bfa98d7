import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import type { AuthorizationServerOptions, ClientRow, OAuthStore, User } from '../../lib/oauth'
import { memoryOAuthStore } from '../../lib/oauth'
import { AS_WEB, USERS, json, post, startServer, askToken } from './support'
import { UserAgent, codeForm, request } from './user-agent'
import { warned } from '../support/heard'
import { assertIs, atMost } from '../support/until'

/** The answers of a database: each column without a value is null. */
const ROW = {
  ...{ clientId: 'web', name: 'Web', realm: '/w', redirectUris: ['https://client.test/cb', 'com.example.app:/cb'] },
  ...{ secretHash: null, publicKeys: null, grants: null, scopes: null, defaultScope: null, audiences: null },
  ...{ postLogoutRedirectUris: null, responseTypes: null, requirePushedRequests: null, requireDpop: null },
  ...{
    requirePkce: null,
    plainPkce: null,
    onwardOrigins: null,
    identityScopes: null,
    approval: null,
    anyLocalhostPort: null,
  },
} satisfies ClientRow

async function started(row: object, user?: object, more: Partial<AuthorizationServerOptions> = {}) {
  const failed: Error[] = []
  const lines: string[] = []
  const running = await startServer({
    clients: { findClient: () => Promise.resolve(row as ClientRow) },
    ...(user && { users: user as typeof USERS }),
    pages: { terms: false },
    onError: (err) => failed.push(err as Error),
    log: (line) => lines.push(line),
    ...more,
  })
  return { ...running, failed, lines }
}

const asPublic = { client_id: 'web' }
const ada = { id: 'KWC6-X7D', username: 'ada' }
const circular: Record<string, unknown> = {}
circular.itself = circular
const answering = (found: unknown, more: { known?: unknown; account?: unknown } = {}) => ({
  authenticate: () => Promise.resolve(found),
  findUser: () => Promise.resolve('known' in more ? more.known : found),
  ...('account' in more && { findAccount: () => Promise.resolve(more.account) }),
})

describe("a row of an app's own directory", () => {
  it('may have null for whatever is absent; an approval that is absent or unknown is asked for', async () => {
    const running = await started(ROW)
    const form = await codeForm(running.issuer)
    assert.equal((await post(`${running.issuer}/token`, { ...form, ...asPublic })).status, 200)
    const native = request({ redirect_uri: 'com.example.app:/cb' })
    for (const approval of [null, undefined, 'ask', 'always', '', 'AUTO', 0, true]) {
      const { issuer } = await started({ ...ROW, approval })
      const page = await (await new UserAgent(issuer).authorize(issuer, native)).logIn()
      assert.equal(page.title, 'Allow Web?', String(approval))
    }
    const { issuer } = await started({ ...ROW, approval: 'auto' })
    assert.notEqual((await (await new UserAgent(issuer).authorize(issuer, native)).logIn()).params.get('code'), null)
  })

  it('may be null as a whole, have numbers for ids, and getters, as those of an ORM', async () => {
    const none = await started(null as never)
    assert.equal((await new UserAgent(none.issuer).authorize(none.issuer, request())).status, 400)
    assert.deepEqual(none.failed, [])
    class Entity {
      get clientId() {
        return 7
      }
      get name() {
        return 'Entity'
      }
      get redirectUris() {
        return ['https://client.test/cb']
      }
      get realm() {
        return '/e'
      }
    }
    const { issuer } = await started(new Entity())
    const form = await codeForm(issuer, { client_id: '7' })
    const tokens = await askToken(issuer, { ...form, client_id: '7' }, {})
    assert.equal(decodeJwt(tokens.access_token).client_id, '7')
  })

  it('that has something else is an error that names the field, for onError and the log', async () => {
    for (const [more, reason] of [
      [
        { redirectUris: '["https://client.test/cb"]' },
        /findClient\('web'\) returned an app whose redirectUris must be an array/,
      ],
      [{ grants: 'authorization_code' }, /whose grants must be an array/],
      [{ publicKeys: ['a key'] }, /publicKeys of web must be a public key: PEM, JWK or KeyObject; this one could not/],
      [{ scopes: { a: 1 } }, /whose scopes must be an array/],
      [{ name: { de: 'Netz' } }, /whose name must be a text, or a whole number/],
      [{ clientId: 1.5 }, /whose clientId must be a text/],
      [{ name: '' }, /whose name must be a text/],
    ] as [object, RegExp][]) {
      const { issuer, failed, lines } = await started({ ...ROW, ...more })
      assert.equal((await new UserAgent(issuer).authorize(issuer, request())).status, 503)
      assert.match(String(failed[0]?.message), reason)
      assert.match(lines[0] ?? '', reason)
    }
  })
})

describe("a row of an app's own users", () => {
  it('may have null for claims, whole numbers and bigints for ids, and be null', async () => {
    for (const id of [42, 0, -7, 12n, '42']) {
      const claims = { given_name: null, name: 'Ada', address: { country: 'GB', region: null }, email: undefined }
      const { issuer } = await started(ROW, answering({ id }, { known: undefined, account: id }))
      const users = answering({ id, username: null, claims })
      const known = await started(ROW, users)
      const form = await codeForm(known.issuer, { scope: 'openid profile address email' })
      const tokens = await askToken(known.issuer, { ...form, ...asPublic }, {})
      const { sub, name, ...rest } = decodeJwt(tokens.id_token)
      assert.deepEqual([sub, name, 'given_name' in rest], [String(id), 'Ada', false])
      const headers = { authorization: `Bearer ${tokens.access_token}` }
      const info = await json(await fetch(`${known.issuer}/userinfo`, { headers }))
      assert.deepEqual(info, { sub: String(id), name: 'Ada', address: { country: 'GB' } })
      assert.equal((await (await new UserAgent(issuer).authorize(issuer, request())).logIn()).status, 503)
    }
    const none = await started(ROW, answering(null))
    assert.equal((await (await new UserAgent(none.issuer).authorize(none.issuer, request())).logIn()).status, 403)
    const noClaims = await started(ROW, answering({ ...ada, claims: null }, { account: null }))
    assert.equal(
      (await (await new UserAgent(noClaims.issuer).authorize(noClaims.issuer, request())).logIn()).status,
      303,
    )
  })

  it('may have bigints and dates in its claims', async () => {
    const claims = { updated_at: 12n, zoneinfo: String(2n ** 64n), big: 2n ** 64n, birthdate: new Date(0), list: [1n] }
    const { issuer } = await started(ROW, answering({ ...ada, claims }), {
      accessTokenClaims: (user) => ({ tenant: 7n, ...user?.claims }),
    })
    const tokens = await askToken(issuer, { ...(await codeForm(issuer)), ...asPublic }, {})
    const { tenant, updated_at: at, big, birthdate, list } = decodeJwt(tokens.access_token)
    assert.deepEqual(
      { tenant, at, big, birthdate, list },
      {
        ...{ tenant: 7, at: 12, big: '18446744073709551616' },
        ...{ birthdate: '1970-01-01', list: [1] },
      },
    )
  })

  it('has standard claims that go out in their standard form (OIDC Core §5.1), whatever column they come from', async () => {
    const at = 1_767_323_045 // 2026-01-02T03:04:05Z
    const localDay = new Date(1990, 4, 6)
    const moment = (text: string) => ({ toJSON: () => text })
    for (const [claims, standard] of [
      [
        { email_verified: 1, phone_number_verified: 0 },
        { email_verified: true, phone_number_verified: false },
      ],
      [
        { email_verified: 't', phone_number_verified: 'F' },
        { email_verified: true, phone_number_verified: false },
      ],
      [
        { email_verified: 1n, phone_number_verified: Buffer.of(0) },
        { email_verified: true, phone_number_verified: false },
      ],
      [
        { email_verified: new Date(0), phone_number_verified: 'no' },
        { email_verified: true, phone_number_verified: false },
      ],
      [{ email_verified: null, phone_number_verified: 'maybe' }, { phone_number_verified: 'maybe' }],
      [{ updated_at: new Date(at * 1_000 + 999) }, { updated_at: at }],
      [{ updated_at: '2026-01-02T03:04:05.678Z' }, { updated_at: at }],
      [{ updated_at: '2026-01-02 03:04:05' }, { updated_at: at }],
      [{ updated_at: '2026-01-02 05:04:05+02:00' }, { updated_at: at }],
      [{ updated_at: moment('2026-01-02T03:04:05.678Z') }, { updated_at: at }],
      [{ updated_at: at }, { updated_at: at }],
      [{ updated_at: BigInt(at) * 1_000n }, { updated_at: at }],
      [{ updated_at: String(at) }, { updated_at: at }],
      [{ updated_at: new Date(NaN) }, {}],
      [{ updated_at: 'long ago' }, { updated_at: 'long ago' }],
      [{ birthdate: localDay }, { birthdate: '1990-05-06' }],
      [{ birthdate: new Date(Date.UTC(1990, 4, 6)) }, { birthdate: '1990-05-06' }],
      [{ birthdate: '1990-05-06T00:00:00.000Z' }, { birthdate: '1990-05-06' }],
      [{ birthdate: moment('1990-05-06T00:00:00.000') }, { birthdate: '1990-05-06' }],
      [{ birthdate: '0000-05-06' }, { birthdate: '0000-05-06' }],
      [{ birthdate: '1990' }, { birthdate: '1990' }],
      [{ birthdate: new Date(NaN), name: 'Ada' }, { name: 'Ada' }],
    ] as [object, object][]) {
      const { issuer } = await started(ROW, answering({ ...ada, claims }))
      const tokens = await askToken(
        issuer,
        {
          ...(await codeForm(issuer, { scope: 'openid profile email phone' })),
          ...asPublic,
        },
        {},
      )
      const headers = { authorization: `Bearer ${tokens.access_token}` }
      assert.deepEqual(await json(await fetch(`${issuer}/userinfo`, { headers })), { sub: ada.id, ...standard })
      const { updated_at: updated, birthdate } = decodeJwt(tokens.id_token)
      assert.deepEqual(
        { ...(updated !== undefined && { updated_at: updated }), ...(birthdate !== undefined && { birthdate }) },
        Object.fromEntries(Object.entries(standard).filter(([name]) => /^(updated_at|birthdate)$/.test(name))),
      )
    }
  })

  it('may be an instance of a class: own columns, getters of the class or its parent, toJSON(), Maps and Sets', async () => {
    class Base {
      get tenant(): string {
        return 'north'
      }
    }
    /** As TypeORM and MikroORM make them. */
    class Entity extends Base {
      #given = 'Ada'
      readonly username = 'ada'
      readonly password = 'a hash'
      get id() {
        return 42
      }
      get given_name() {
        return this.#given
      }
      get claims() {
        return { name: this.given_name, address: new Address(), roles: new Set(['admin']) }
      }
      get broken(): never {
        throw new Error('a relation that was not loaded')
      }
    }
    class Address {
      get country() {
        return 'GB'
      }
      readonly region = null
    }
    /** As Sequelize and Mongoose make them: values in a store of the instance, getters on the model, toJSON(). */
    class Model {
      readonly _doc = { id: 42, username: 'ada', name: 'Ada', roles: ['admin'], email_verified: 1 }
      toJSON() {
        return { ...this._doc, address: { country: 'GB' } }
      }
    }
    for (const name of ['id', 'username', 'name', 'roles'] as const) {
      Object.defineProperty(Model.prototype, name, {
        ...{ enumerable: true, configurable: true },
        get(this: Model) {
          return this._doc[name]
        },
      })
    }
    Object.defineProperty(Model.prototype, 'tenant', { get: () => 'north' })
    Object.defineProperty(Model.prototype, 'claims', {
      get(this: Model) {
        return this
      },
    })
    for (const row of [new Entity(), new Model()]) {
      const { issuer } = await started(ROW, answering(row), {
        scopes: { roles: ['roles'] },
        accessTokenClaims: (user) => ({ tenant: user?.tenant }),
      })
      const form = await codeForm(issuer, { scope: 'openid profile address roles' })
      const tokens = await askToken(issuer, { ...form, ...asPublic }, {})
      const { sub, tenant, roles } = decodeJwt(tokens.access_token)
      assert.deepEqual({ sub, tenant, roles }, { sub: '42', tenant: 'north', roles: ['admin'] })
      const headers = { authorization: `Bearer ${tokens.access_token}` }
      const info = await json(await fetch(`${issuer}/userinfo`, { headers }))
      assert.deepEqual(info, { sub: '42', name: 'Ada', address: { country: 'GB' }, roles: ['admin'] })
    }
  })

  it('with lists that an access token cannot hold signs in: the longest are left out, and userinfo has them', async () => {
    const said = warned({ after })
    const many = (length: number, text: string) => Array.from({ length }, (_, i) => `${text}-${i}`)
    for (const [groups, roles, kept] of [
      [many(400, 'a group of some length'), ['admin'], ['roles']],
      [many(400, 'группа'), ['admin'], ['roles']], // few characters, many bytes
      [many(400, 'a group of some length'), many(500, 'a role of some length'), []],
      [many(200, 'group'), ['admin'], ['groups', 'roles']],
    ] as [string[], string[], string[]][]) {
      const { issuer } = await started(ROW, answering({ ...ada, claims: { groups, roles } }), {
        scopes: { profile: ['groups', 'roles'] },
      })
      for (let i = 0; i < 2; i++) {
        const form = await codeForm(issuer, { scope: 'openid profile' })
        const tokens = await askToken(issuer, { ...form, ...asPublic }, {})
        const token = tokens.access_token
        assertIs(token.length, atMost(12_288))
        const claims = decodeJwt(token)
        assert.deepEqual(
          ['groups', 'roles'].filter((name) => name in claims),
          kept,
        )
        const headers = { authorization: `Bearer ${token}` }
        assert.deepEqual(await json(await fetch(`${issuer}/userinfo`, { headers })), { sub: ada.id, groups, roles })
      }
    }
    await setImmediate()
    const named = (name: string) => said.filter((text) => text.startsWith(`${name} would make an access token longer`))
    assert.deepEqual([named('groups').length, named('roles').length], [1, 1])
  })

  it('has its number where the app names the user, too', async () => {
    const { issuer, server } = await started(ROW, answering({ id: 42 }))
    await codeForm(issuer)
    for (const id of [42, 42n, '42']) {
      assert.deepEqual(await server.approvals(id), [])
      await server.withdrawApproval(id, 'web')
      await server.revokeUser(id)
    }
    for (const id of [undefined, null, '', 4.2, {}] as unknown as string[]) {
      for (const call of [server.approvals, server.revokeUser]) {
        await assert.rejects(async () => call(id), /the id of the user must be a text, or a whole number/)
      }
    }
  })

  it('that is unknown right after the login, or another, is an error that says so', async () => {
    for (const [users, reason] of [
      [
        answering(ada, { known: undefined }),
        /findUser\('KWC6-X7D'\) knows no such user, who has just signed in under this id/,
      ],
      [answering(ada, { known: null }), /findUser\('KWC6-X7D'\) knows no such user/],
      [
        answering(ada, { known: { ...ada, id: 'kwc6-x7d' } }),
        /findUser\('KWC6-X7D'\) returned the user with the id 'kwc6-x7d'/,
      ],
      [
        answering({ ...ada, id: 1.5 }),
        /authenticate\(\) returned a user whose id must be a text, or a whole number; received 1.5/,
      ],
      [answering({ username: 'ada' }), /authenticate\(\) returned a user whose id must be .* received undefined/],
      [answering(ada, { known: { ...ada, id: {} } }), /findUser\('KWC6-X7D'\) returned a user whose id/],
      [answering(ada, { account: {} }), /findAccount\(\) returned an id that must be a text/],
      [
        answering({ ...ada, claims: '{"name":"Ada"}' }),
        /a user whose claims must be an object of JSON values; received a string/,
      ],
      [answering({ ...ada, claims: ['Ada'] }), /claims must be an object of JSON values/],
      [answering({ ...ada, claims: circular }), /received an object with itself/],
    ] as [object, RegExp][]) {
      const { issuer, failed, lines } = await started(ROW, users)
      const page = await (await new UserAgent(issuer).authorize(issuer, request())).logIn()
      assert.equal(page.status, 503, String(reason))
      assert.match(String(failed[0]?.message), reason)
      assert.match(lines[0] ?? '', reason)
    }
  })

  it('that was deleted meanwhile signs in again, and its tokens end', async () => {
    let known: User | undefined = ada
    const { issuer, lines } = await started(ROW, {
      authenticate: () => Promise.resolve(ada),
      findUser: () => Promise.resolve(known),
    })
    const agent = new UserAgent(issuer)
    const form = await codeForm(issuer, {}, agent)
    known = undefined
    assert.equal((await agent.authorize(issuer, request())).title, 'Sign in')
    assert.equal((await askToken(issuer, { ...form, ...asPublic }, {})).error, 'invalid_grant')
    assert.match(lines.at(-1) ?? '', /findUser\('KWC6-X7D'\) knows no such user/)
  })
})

describe('a store of the app', () => {
  /** A column of JSON comes parsed. */
  const parsedBy = (isJson: boolean, text: string | undefined) =>
    isJson && text !== undefined ? (JSON.parse(text) as unknown) : text
  const using = (own: (store: OAuthStore) => Partial<Record<keyof OAuthStore, unknown>>) => {
    const store = memoryOAuthStore()
    return { ...store, ...own(store) } as OAuthStore
  }
  const tokens = async (store: OAuthStore, failed: unknown[] = []) => {
    const { issuer } = await startServer({ store, onError: (err) => failed.push(err) })
    return (await post(`${issuer}/token`, await codeForm(issuer), AS_WEB)).status
  }

  it('may answer null, digits and bigints, with one warning', async () => {
    const said = warned({ after }, 'TOLLGATE_STORE')
    const text = (kind: (value: number) => unknown) => (store: OAuthStore) => ({
      async count(...args: Parameters<OAuthStore['count']>) {
        const { total, endsInMs } = await store.count(...args)
        return { total: kind(total), endsInMs: kind(Math.round(endsInMs)) }
      },
    })
    for (const own of [
      (store: OAuthStore) => ({ get: async (key: string) => (await store.get(key)) ?? null }),
      (store: OAuthStore) => ({ claim: async (key: string, ms: number) => (await store.claim(key, ms)) ?? null }),
      text(String),
      text(BigInt),
    ]) {
      assert.equal(await tokens(using(own)), 200)
    }
    await setImmediate()
    assert.equal(said.length, 1)
    assert.match(said[0] ?? '', /of the store (answered null|must be a number; received)/)
  })

  it('that answers nonsense fails with the method in the error', async () => {
    for (const total of [undefined, 'many', {}, null]) {
      const failed: unknown[] = []
      const own = () => ({ count: () => Promise.resolve({ total, endsInMs: 1 }) })
      await assert.rejects(tokens(using(own), failed))
      assert.match(String(failed[0]), /count\(\).total of the store must be a number/)
    }
    for (const [method, what] of [
      ['get', 'get\\(\\)'],
      ['claim', 'claim\\(\\).value'],
    ] as const) {
      const failed: unknown[] = []
      const parsing = (store: OAuthStore) => ({
        get: async (key: string) => parsedBy(method === 'get', await store.get(key)),
        claim: async (key: string, keepMs: number) => {
          const claim = await store.claim(key, keepMs)
          return claim && { ...claim, value: parsedBy(method === 'claim', claim.value) }
        },
      })
      await tokens(using(parsing), failed).catch(() => undefined)
      assert.match(String(failed[0]), new RegExp(`${what} of the store must be the text that set\\(\\) was given`))
    }
  })
})
