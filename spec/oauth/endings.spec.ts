import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { type OAuthStore, clientDirectory, memoryOAuthStore, redisOAuthStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { generateKeys } from '../support/generate-keys'
import { answering } from '../support/answering'
import { databaseOfSuite } from '../support/redis'
import { until } from '../support/until'
import { type Form, type Tokens, SIGNING_KEY, USERS, VERIFIER, json, post, postJson, startServer } from './support'
import { UserAgent, request, tokensFor } from './user-agent'
import { serve } from '../support/serve'

const ADA = 'KWC6-X7D'
const DAY_MS = 86_400_000
const BYE = 'https://shop.test/bye'
const BACK: Form = { shop: 'https://shop.test/cb', notes: 'https://notes.test/cb' }

/** What the app `shop`, its second grant, and the app `notes` have after an event. */
type Left = readonly [shop: boolean, again: boolean, notes: boolean]
/** What the cells of the table mean for them. `–` is not looked at. */
const MEANING: Readonly<Record<string, Left>> = {
  stays: [true, true, true],
  ends: [false, false, false],
  'of the app': [false, false, true],
  'of the grant': [false, true, true],
  'the oldest': [false, false, true],
}

/** Ada is signed in, and two apps have grants of hers: with offline_access and without. */
async function world(t: TestContext, store: OAuthStore, clock = manualClock(), isRegistered = false) {
  const heard: string[] = []
  const listener = await listening((body) => heard.push(body))
  const app = (clientId: string) => ({
    ...{ clientId, name: clientId, secret: 'secret', approval: 'ask' as const, redirectUris: [BACK[clientId] ?? ''] },
    ...{ grants: ['authorization_code', 'refresh_token'] as const, postLogoutRedirectUris: [BYE] },
    backchannelLogoutUri: `${listener}/${clientId}`,
  })
  const directory = { isGone: false, shop: (app: object | undefined): object | undefined => app }
  const clients = clientDirectory([app('shop'), app('notes')])
  const users = {
    ...USERS,
    findUser: (id: string) => (directory.isGone ? Promise.resolve(undefined) : USERS.findUser(id)),
  }
  const keys = { old: generateKeys('ec').privateKey, next: SIGNING_KEY }
  const running = await startServer({
    ...{ dialect: 'standard', clock, store, users, signingKeys: [{ key: keys.old }] },
    clients: {
      async findClient(id) {
        const found = await clients.findClient(id)
        return (id === 'shop' ? directory.shop(found ?? undefined) : found) as typeof found
      },
    },
    refreshTokens: { lifetimeSec: 2 * 86_400, absoluteLifetimeSec: 3 * 86_400 },
    registration: { accept: () => ({}) },
    websiteSession: { lifetimeSec: 86_400, idleSec: 86_400 },
    codeLifetimeSec: 600,
  })
  const { issuer, server } = running
  running.app.get('/whoami', (req, res, next) => {
    server.websiteSession(req).then((session) => res.json(session ?? null), next)
  })
  const agent = new UserAgent(issuer)
  /** What `shop` got when it registered itself. */
  const registered = isRegistered ? await register(issuer, BACK.shop ?? '') : undefined
  const idOf = (client: string) => (client === 'shop' ? (registered?.client_id ?? client) : client)
  const headersOf = (client: string): Form => {
    const secret = client === 'shop' ? (registered?.client_secret ?? 'secret') : 'secret'
    return { authorization: `Basic ${Buffer.from(`${idOf(client)}:${secret}`).toString('base64')}` }
  }
  const asked = (client: string, scope: string) => ({
    ...{ client_id: idOf(client), scope, redirect_uri: BACK[client] ?? '' },
  })
  const code = async (client: string, scope = 'openid'): Promise<Form> => {
    const shown = await agent.authorize(issuer, request(asked(client, scope)))
    const { params } = await (agent.hasSession ? shown : await shown.logIn()).finish()
    const form = { grant_type: 'authorization_code', redirect_uri: BACK[client] ?? '', code_verifier: VERIFIER }
    return { ...form, code: params.get('code') ?? '' }
  }
  const redeem = (client: string, form: Form) => post(`${issuer}/token`, form, headersOf(client))
  const grant = async (client: string, scope?: string) => {
    const form = await code(client, scope)
    return { client, form, ...((await (await redeem(client, form)).json()) as Tokens) }
  }
  const apps = ['shop', 'shop', 'notes']
  const grants: Awaited<ReturnType<typeof grant>>[] = []
  const offline: typeof grants = []
  const codes: { client: string; form: Form }[] = []
  for (const client of apps) {
    grants.push(await grant(client))
    offline.push(await grant(client, 'openid offline_access'))
    codes.push({ client, form: await code(client) })
  }
  /** Whether each of three is left. */
  const each = async <One>(list: readonly One[], isLeft: (one: One) => Promise<boolean>) => {
    const left: boolean[] = []
    for (const one of list) left.push(await isLeft(one))
    return left
  }
  const isActive = async (client: string, token: string) =>
    (await json(await post(`${issuer}/introspect`, { token }, headersOf(client)))).active === true
  const refreshes = async ({ client, refresh_token }: { client: string; refresh_token: string }) => {
    const isShown = await isActive(client, refresh_token)
    const { status } = await post(`${issuer}/token`, { grant_type: 'refresh_token', refresh_token }, headersOf(client))
    assert.equal(isShown, status === 200, 'introspection and the token endpoint agree')
    return status === 200
  }
  const userinfo = async (token: string) =>
    (await fetch(`${issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } })).status === 200
  return {
    ...{ agent, clock, directory, grant, grants, headersOf, heard },
    ...{ issuer, offline, registered, running, server, redeem },
    /** Takes the key that signed everything out of the list. */
    removeKey: () => server.setSigningKeys([{ key: keys.next }]),
    /** As another site's form would be posted: without the `Lax` cookies, which the redirect then has. */
    async postFromElsewhere(params: Form) {
      const headers = { 'sec-fetch-site': 'cross-site' }
      const init = { method: 'POST', body: new URLSearchParams(params), headers, redirect: 'manual' } as const
      const answer = await fetch(`${issuer}/logout`, init)
      const location = answer.headers.get('location')
      assert.ok(location?.startsWith(`${issuer}/logout?`) && location.length < 4_200, `${answer.status} ${location}`)
      return agent.request(location ?? '')
    },
    async left() {
      const tokens = await each([...grants], async ({ client, access_token: token }) => {
        const ways = [await isActive(client, token), await userinfo(token), (await server.verify(token)) !== undefined]
        assert.equal(new Set(ways).size, 1, `introspection, userinfo and verify() agree: ${ways.join()}`)
        return ways[0] as boolean
      })
      const session = JSON.parse((await agent.request('/whoami')).text) as { userId: string } | null
      const isSignedIn = session?.userId === ADA
      const silent = await agent.authorize(issuer, request({ ...asked('notes', 'openid'), prompt: 'none' }))
      const error = silent.params.get('error')
      assert.equal(error === 'login_required', session === null, `websiteSession() and prompt=none agree: ${error}`)
      const redeemed = await each(codes, async ({ client, form }) => (await redeem(client, form)).status === 200)
      const approved = (await server.approvals(ADA)).map(({ clientId }) => clientId)
      return {
        session: [isSignedIn, isSignedIn, isSignedIn],
        tokens,
        codes: redeemed,
        refresh: await each(grants, refreshes),
        offline: await each(offline, refreshes),
        approvals: apps.map((one) => approved.includes(idOf(one))),
      }
    },
  }
}

type World = Awaited<ReturnType<typeof world>>

async function register(issuer: string, redirectUri: string) {
  const grants = { grant_types: ['authorization_code', 'refresh_token'], scope: 'openid offline_access' }
  const metadata = { client_name: 'shop', redirect_uris: [redirectUri], ...grants }
  return (await json(await postJson(`${issuer}/register`, metadata))) as Record<string, string>
}

const DELETED = 'An app that registered itself is deleted'

const logoutWith = ({ issuer }: World, params: Form) => `${issuer}/logout?${new URLSearchParams(params).toString()}`
const confirm = async (shown: Awaited<ReturnType<UserAgent['request']>>, status = 200) => {
  assert.deepEqual([shown.status, shown.title, shown.location], [status, 'Sign out?', null])
  const done = await shown.submit({ action: 'logout' })
  assert.deepEqual([done.title, done.location], ['You are signed out', null])
}

/** The events of the table, each in every way in which it comes about. */
const EVENTS: Readonly<Record<string, Readonly<Record<string, (at: World) => Promise<unknown>>>>> = {
  'The user signs out in the browser': {
    'by the page of the server': async (at) => confirm(await at.agent.request(`${at.issuer}/logout`)),
    'after a second login in the same session': async (at) => {
      const ask = { client_id: 'notes', redirect_uri: BACK.notes ?? '', prompt: 'login' }
      await (await (await at.agent.authorize(at.issuer, request(ask))).logIn()).finish()
      await confirm(await at.agent.request(`${at.issuer}/logout`))
    },
    'by the id_token of an app': async (at) => {
      const hint = at.grants[2]?.id_token ?? ''
      const out = await at.agent.request(logoutWith(at, { id_token_hint: hint, post_logout_redirect_uri: BYE }))
      assert.equal(out.location, BYE)
    },
    'by an expired id_token': async (at) => {
      at.clock.advance(4_000_000)
      const hint = at.grants[0]?.id_token ?? ''
      const out = await at.agent.request(logoutWith(at, { id_token_hint: hint, post_logout_redirect_uri: BYE }))
      assert.equal(out.location, BYE)
    },
  },
  "The app's server calls `logout` with the `id_token_hint`, without the browser": {
    'by GET': (at) => fetch(logoutWith(at, { id_token_hint: at.grants[0]?.id_token ?? '' })),
    'by POST': (at) => post(`${at.issuer}/logout`, { id_token_hint: at.grants[0]?.id_token ?? '' }),
    'after the user signed in again in that browser': async (at) => {
      const again = await at.agent.authorize(
        at.issuer,
        request({ client_id: 'notes', redirect_uri: BACK.notes ?? '', prompt: 'login' }),
      )
      await (await again.logIn()).finish()
      await fetch(logoutWith(at, { id_token_hint: at.grants[0]?.id_token ?? '' }))
    },
  },
  'Sign-out by a form of another site, or with parameters that are not certain': {
    'a form without an id_token': async (at) => confirm(await at.postFromElsewhere({})),
    'a form with an id_token of a removed key': async (at) => {
      at.removeKey()
      await confirm(
        await at.postFromElsewhere({ id_token_hint: at.grants[0]?.id_token ?? '', post_logout_redirect_uri: BYE }),
      )
    },
    'a form with 6,000 characters that are no id_token': async (at) => {
      const form = { id_token_hint: 'x'.repeat(6_000), client_id: 'shop', post_logout_redirect_uri: BYE }
      await confirm(await at.postFromElsewhere(form))
    },
    'an address that is registered for signing in, with a good id_token': async (at) =>
      confirm(
        await at.agent.request(
          logoutWith(at, { id_token_hint: at.grants[0]?.id_token ?? '', post_logout_redirect_uri: BACK.shop ?? '' }),
        ),
        400,
      ),
    'an id_token of another app than client_id says': async (at) =>
      confirm(
        await at.agent.request(logoutWith(at, { id_token_hint: at.grants[0]?.id_token ?? '', client_id: 'notes' })),
      ),
  },
  'Another user signs in in the same browser': {
    'at the page of the server': async ({ agent, issuer }) => {
      const ask = { client_id: 'notes', redirect_uri: BACK.notes ?? '', prompt: 'login' }
      await (await agent.authorize(issuer, request(ask))).logIn('bob', 'builder')
    },
  },
  'The user signs out, and the app may have no `offline_access` any more': {
    'by its identityScopes': async (at) => {
      at.directory.shop = (app) => ({ ...app, identityScopes: ['openid'] })
      await confirm(await at.agent.request(`${at.issuer}/logout`))
    },
  },
  'The user withdraws an app': {
    'on the page apps': async (at) =>
      at.agent.request(`${at.issuer}/apps`).then((apps) => apps.submit({ app: 'shop' })),
    'by withdrawApproval()': (at) => at.server.withdrawApproval(ADA, 'shop'),
  },
  '`revokeUser()`': { 'after a password change': (at) => at.server.revokeUser(ADA) },
  [DELETED]: {
    'by its registration access token': async ({ registered = {} }) => {
      const headers = { authorization: `Bearer ${registered.registration_access_token}` }
      const { status } = await fetch(registered.registration_client_uri ?? '', { method: 'DELETE', headers })
      assert.equal(status, 204)
    },
  },
  'The directory does not find the user any more': {
    'deleted or blocked': (at) => Promise.resolve((at.directory.isGone = true)),
  },
  'The directory does not find the app any more': {
    'removed by the operator': (at) => Promise.resolve((at.directory.shop = () => undefined)),
  },
  'The sign-in is older than `refreshTokens.absoluteLifetimeSec`': {
    'though the tokens are used': async (at) => {
      at.clock.advance(1.9 * DAY_MS)
      for (const one of [...at.grants, ...at.offline]) {
        const { client, refresh_token } = one
        Object.assign(one, await json(await at.redeem(client, { grant_type: 'refresh_token', refresh_token })))
      }
      at.clock.advance(1.2 * DAY_MS)
    },
  },
  'The user has more than 32 grants of the app': {
    'a loop of sign-ins': async ({ grant }) => {
      for (let i = 0; i < 32; i++) await grant('shop')
    },
  },
  'A code or a refresh token is used twice': {
    'the code': async (at) => {
      for (const { client, form } of [at.grants[0], at.offline[0]] as World['grants'])
        assert.equal((await at.redeem(client, form)).status, 400)
    },
    'the refresh token': async (at) => {
      for (const { client, refresh_token } of [at.grants[0], at.offline[0]] as World['grants']) {
        const use = async (token: string) =>
          json(await at.redeem(client, { grant_type: 'refresh_token', refresh_token: token }))
        await use((await use(refresh_token)).refresh_token as string)
        assert.equal((await use(refresh_token)).error, 'invalid_grant')
      }
    },
  },
  'The app revokes a refresh token': {
    'at revoke': async (at) => {
      for (const { client, refresh_token: token } of [at.grants[0], at.offline[0]] as World['grants'])
        await post(`${at.issuer}/revoke`, { token }, at.headersOf(client))
    },
  },
}

const TABLE = tableOf('docs/authorization-server.md', 'Event')
const database = databaseOfSuite()

describe('what ends when', () => {
  it('the table has every event', () => assert.deepEqual(Object.keys(TABLE), Object.keys(EVENTS)))

  const rows = Object.entries(TABLE).flatMap(([event, cells]) =>
    Object.entries(EVENTS[event] ?? {}).flatMap(([way, happens]) =>
      (['Redis', 'memory'] as const).map((kind) => ({ event, cells, way, happens, kind })),
    ),
  )
  for (const { event, cells, way, happens, kind } of rows) {
    it(`${event}: ${way}, over ${kind}`, async (t) => {
      const clock = manualClock()
      const store = kind === 'Redis' ? redisOAuthStore(database.url) : memoryOAuthStore({ clock })
      t.after(() => store.close())
      await answering(store)
      const at = await world(t, store, clock, event === DELETED)
      await happens(at)
      const [session = '', codesAndTokens = '', refresh = '', offline = '', approvals = '', told] = cells
      const left = await at.left()
      const isExpired = way === 'by an expired id_token' // it says nothing
      const codes = codesAndTokens === 'of the grant' ? 'stays' : codesAndTokens // grants of their own
      const meant = (name: keyof typeof left, cell: string) => (cell === '–' ? left[name] : MEANING[cell])
      assert.deepEqual(left, {
        session: meant('session', session),
        tokens: meant('tokens', isExpired ? 'ends' : codesAndTokens),
        codes: meant('codes', isExpired ? 'ends' : codes),
        refresh: meant('refresh', refresh),
        offline: meant('offline', offline),
        approvals: meant('approvals', approvals),
      })
      await at.server.close() // waits for the notices
      assert.equal(at.heard.length, told === 'yes' ? 2 : 0, 'the apps are told')
    })
  }
})

describe('an app with a backchannelLogoutUri', () => {
  it('Back-Channel Logout 1.0 §2.4: gets a signed logout token with the session of its id_token', async (t) => {
    const at = await world(t, memoryOAuthStore())
    await confirm(await at.agent.request(`${at.issuer}/logout`))
    await until(() => at.heard.length, 2)
    const tokens = at.heard.map((body) => new URLSearchParams(body).get('logout_token') ?? '')
    const keys = createRemoteJWKSet(new URL(`${at.issuer}/jwks`))
    const currentDate = new Date(at.clock.date())
    for (const token of tokens) {
      const expected = { issuer: at.issuer, typ: 'logout+jwt', currentDate }
      const { payload, protectedHeader } = await jwtVerify(token, keys, expected)
      const { sid } = decodeJwt(at.grants[0]?.id_token ?? '')
      assert.equal(protectedHeader.alg, 'ES256')
      assert.deepEqual([payload.sub, payload.sid], [ADA, sid])
      assert.deepEqual(payload.events, { 'http://schemas.openid.net/event/backchannel-logout': {} })
      assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 120)
      assert.equal('nonce' in payload, false)
    }
  })

  it('is told three times at most, and a user signs out whatever the app answers', async () => {
    const clock = manualClock()
    const tries: string[] = []
    const listener = await listening((_body, url) => tries.push(url), 500)
    const clients = [{ clientId: 'web', name: 'Web', secret: 'secret', redirectUris: ['https://client.test/cb'] }]
    const running = await startServer({
      ...{ dialect: 'standard', clock },
      clients: clientDirectory(clients.map((one) => ({ ...one, backchannelLogoutUri: `${listener}/web` }))),
    })
    const agent = new UserAgent(running.issuer)
    await tokensFor(running.issuer, {}, agent)
    await confirm(await agent.request(`${running.issuer}/logout`))
    for (const [most, ms] of [
      [1, 5_000],
      [2, 30_000],
      [3, 600_000],
    ] as const) {
      await until(() => {
        if (tries.length < most) clock.advance(ms / 100)
        return tries.length === most
      })
    }
    clock.advance(600_000)
    await running.server.close()
    assert.deepEqual(tries, ['/web', '/web', '/web'])
  })
})

/** The rows of a table by their first cells. */
function tableOf(path: string, firstColumn: string): Readonly<Record<string, readonly string[]>> {
  const lines = readFileSync(join(process.cwd(), path), 'utf8').split('\n')
  const at = lines.findIndex((line) => line.startsWith(`| ${firstColumn} `))
  const end = lines.findIndex((line, n) => n > at && !line.startsWith('|'))
  const rows = lines.slice(at + 2, end).map((line) => line.split('|').map((cell) => cell.trim()))
  return Object.fromEntries(rows.map(([, event = '', ...cells]) => [event, cells.slice(0, -1)]))
}

/** A server of the apps, which hears the notices. */
async function listening(hear: (body: string, url: string) => void, status = 200): Promise<string> {
  const { url } = await serve((req, res) => {
    let body = ''
    req.on('data', (chunk) => (body += String(chunk)))
    req.on('end', () => {
      hear(body, req.url ?? '')
      res.writeHead(status).end()
    })
  })
  return url
}
