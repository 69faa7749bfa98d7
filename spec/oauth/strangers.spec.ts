import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import {
  type OAuthStore,
  type UserDirectory,
  clientDirectory,
  memoryOAuthStore,
  redisOAuthStore,
} from '../../lib/oauth'
import { DirectoryBusyError, HashSlots } from '../../lib/oauth/directories/hash-slots'
import { requestNetwork } from '../../lib/oauth/request-network'
import { manualClock } from '../../lib/testing'
import { answering } from '../support/answering'
import { databaseOfSuite } from '../support/redis'
import { keyHolder } from './key-holder'
import { type Form, USERS, askToken, post, postJson, startServer } from './support'
import { UserAgent, request } from './user-agent'

const SPA = { client_id: 'spa', redirect_uri: 'https://spa.test/cb' }
const SESSION = { grant_type: 'unauthenticated_session', client_id: 'spa', ip_address: '192.0.2.1' }

/** A store that notes the kind of each record, the owner who caused it and its longest lifetime. */
function noting(store: OAuthStore) {
  const seen = new Map<string, { owner: string | undefined; ttlMs: number }>()
  const note = (key: string, ttlMs: number, owner: string | undefined) => {
    const kind = key.split(':', 1)[0] as string
    seen.set(kind, {
      owner: owner ?? seen.get(kind)?.owner,
      ttlMs: Math.max(ttlMs, seen.get(kind)?.ttlMs ?? 0),
    })
  }
  const own: OAuthStore = {
    ...store,
    set: (key, value, ttlMs, owner) => (note(key, ttlMs, owner), store.set(key, value, ttlMs, owner)),
    count: (key, by, windowMs, owner) => (note(key, windowMs, owner), store.count(key, by, windowMs, owner)),
  }
  return { own, seen }
}

describe('a form or query', () => {
  it('of more than 200 parameters is 400, however it is read', async () => {
    const running = await startServer({ registration: { accept: () => ({}) } })
    const parsed = await startServer({}, express.urlencoded({ parameterLimit: 100_000, extended: false }))
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const names = ['token', 'par', 'login', 'approval', 'revoke', 'introspect', 'logout', 'authorization', 'apps']
    const paths = names.map((name) => `/${name}`)
    for (const pair of ['a&', '&', 'a=1&', 'a[]=1&', '=&']) {
      const body = pair.repeat(65_536 / pair.length - 1)
      for (const path of paths) {
        const response = await fetch(running.issuer + path, { method: 'POST', body, headers })
        assert.equal(response.status, 400, `${path} ${pair}`)
      }
      assert.equal((await fetch(`${running.issuer}/authorization?${body.slice(0, 8_000)}`)).status, 400)
    }
    for (const path of paths) {
      const response = await fetch(parsed.issuer + path, { method: 'POST', body: 'a=1&'.repeat(201), headers })
      assert.equal(response.status, 400, path)
    }
    const many = new URLSearchParams({
      ...SESSION,
      ...Object.fromEntries(Array.from({ length: 197 }, (_, i) => [i, '1'])),
    })
    assert.equal((await fetch(`${running.issuer}/token`, { method: 'POST', body: many })).status, 200)
  })

  it('that no text is, or that no URL can hold, is 400 and no failure of the server', async () => {
    const failed: unknown[] = []
    const running = await startServer({ onError: (err) => failed.push(err) }, (req, _res, next) => {
      const { half } = req.headers
      if (half !== undefined) {
        Object.defineProperty(req, 'readableEnded', { value: true })
        req.body = { ...request(), [half as string]: '\ud800' }
      }
      next()
    })
    for (const query of ['%ff', 'state=%', 'state=%ed%a0%80', `state=%c3`, 'client_id=%00']) {
      assert.equal((await fetch(`${running.issuer}/authorization?${query}`)).status, 400, query)
    }
    for (const half of ['state', 'login_hint', 'scope', 'x']) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site', half }
      for (const path of ['/authorization', '/token', '/logout', '/par']) {
        const { status } = await fetch(running.issuer + path, { method: 'POST', headers })
        assert.equal(status, 400, `${path} ${half}`)
      }
    }
    assert.deepEqual(failed, [])
  })
})

describe('records that a request without a user causes', () => {
  it('are those of the block of its address, and end with the thing itself', async () => {
    const clock = manualClock()
    for (const format of ['jwt', 'opaque'] as const) {
      const { own, seen } = noting(memoryOAuthStore({ clock }))
      const options = { login: { url: '/sign-in' }, accessTokens: { format }, registration: { accept: () => ({}) } }
      const { issuer, origin, server } = await startServer({ clock, store: own, ...options })
      const holder = await keyHolder(clock)
      const proof = { dpop: await holder.proof(`${issuer}/token`) }
      const { access_token: token } = await askToken(issuer, SESSION, {})
      assert.equal((await post(`${issuer}/token`, SESSION, proof)).status, 200)
      const headers = { authorization: `Bearer ${token}` }
      assert.equal((await post(`${origin}/platform/logout`, {}, headers)).status, 204)
      const { access_token: other } = await askToken(issuer, SESSION, {})
      await post(`${issuer}/revoke`, { client_id: 'spa', token: other })
      assert.equal(await server.verify(other), undefined)
      await post(`${issuer}/par`, request(SPA))
      await new UserAgent(issuer).authorize(issuer, request(SPA))
      const metadata = { redirect_uris: ['https://a.test/'], token_endpoint_auth_method: 'none' }
      await postJson(`${issuer}/register`, metadata)
      await post(`${issuer}/token`, { ...SESSION, client_id: 'nobody' })

      const [minute, hour, day] = [60_000, 3_600_000, 24 * 3_600_000]
      const block = '127.0.0.0/16'
      const most: Record<string, [owner: string, ttlMs: number]> = {
        attempts: [block, hour],
        proof: [block, 2 * minute],
        revoked: [block, (format === 'jwt' ? hour : day) + 5 * minute],
        pushed: [block, minute],
        interaction: [block, 4 * hour],
        client: [block, 30 * day],
        ...(format === 'opaque' && { unauthenticated: [block, hour] }),
      }
      assert.deepEqual([...seen.keys()].sort(), Object.keys(most).sort())
      for (const [kind, { owner, ttlMs }] of seen) {
        assert.ok(most[kind]?.[0] === owner && ttlMs <= (most[kind]?.[1] ?? 0), `${kind}: ${owner}, ${ttlMs} ms`)
      }
    }
  })

  it('are none for a proof or a push that is not valid', async () => {
    const clock = manualClock()
    const { own, seen } = noting(memoryOAuthStore({ clock }))
    const { issuer } = await startServer({ clock, store: own })
    const holder = await keyHolder(clock)
    const wrong = { grant_type: 'authorization_code', client_id: 'spa', code: 'x', redirect_uri: 'https://spa.test/cb' }
    for (const form of [
      wrong,
      { ...wrong, grant_type: 'refresh_token', refresh_token: 'x' },
      { ...SESSION, ip_address: 'x' },
    ]) {
      assert.equal((await post(`${issuer}/token`, form, { dpop: await holder.proof(`${issuer}/token`) })).status, 400)
    }
    for (const more of [{ redirect_uri: 'https://evil.test/' }, { max_age: 'x' }, { code_challenge: 'x' }] as Form[]) {
      assert.equal((await post(`${issuer}/par`, request({ ...SPA, ...more }))).status, 400)
    }
    assert.deepEqual([...seen.keys()], [])
  })
})

describe('the queue of logins', () => {
  /** A slot that is busy until `free()`, and logins that say who got a place. */
  function busy() {
    const slots = new HashSlots(1)
    const gates: (() => void)[] = []
    const login = (network: string) =>
      requestNetwork.run(network, () =>
        slots
          .login(() => new Promise<void>((resolve) => gates.push(resolve)))
          .then(
            () => 'checked',
            (err: unknown) => (err instanceof DirectoryBusyError ? `full, ${err.retryAfterSec > 0}` : String(err)),
          ),
      )
    /** Lets those that have a place be checked, one after the other. */
    const drain = async (all: Promise<string>[]) => {
      const timer = setInterval(() => gates.shift()?.(), 0)
      const answers = await Promise.all(all)
      clearInterval(timer)
      return answers
    }
    return { login, drain }
  }
  const count = (answers: string[]) => answers.filter((answer) => answer === 'checked').length

  it('has a place for a network that tried less, of whatever the flood is made', async () => {
    const floods: ((i: number) => string)[] = [
      () => '192.0.2.1',
      (i) => `198.51.100.${i % 30}`,
      (i) => `2001:db8:0:${((i % 30) << 8).toString(16)}::/56`,
      (i) => `2001:db8:${i.toString(16)}:0::/56`, // a network of its own for each
      (i) => `10.20.${i}.1`,
    ]
    for (const [n, flood] of floods.entries()) {
      const { login, drain } = busy()
      const attack = Array.from({ length: 100 }, (_, i) => login(flood(i)))
      const users = Array.from({ length: 5 }, (_, i) => login(`203.0.113.${i}`))
      const late = ['2a00:1450::/56', '100.1.2.3'].map(login)
      late.push(login('203.0.113.1')) // tries again
      const answers = await drain([...attack, ...users, ...late])
      assert.equal(count(answers.slice(100)), 8, `flood ${n}: ${answers.slice(100).join()}`)
      assert.equal(count(answers), 13, 'the queue stays bounded')
      assert.ok(answers.every((answer) => answer === 'checked' || answer === 'full, true'))
    }
  })

  it('serves first come, first served, and registrations after logins', async () => {
    const slots = new HashSlots(1)
    const order: string[] = []
    let free = (): void => undefined
    const first = slots.login(() => new Promise<void>((resolve) => (free = resolve)))
    const noted = (name: string) => () => Promise.resolve(void order.push(name))
    const all = [slots.registration(noted('registration')), slots.login(noted('a')), slots.login(noted('b'))]
    free()
    await Promise.all([first, ...all])
    assert.deepEqual(order, ['a', 'b', 'registration'])
    await assert.rejects(
      slots.login(() => Promise.reject(new Error('of the hash'))),
      /of the hash/,
    )
    assert.equal(await slots.login(() => Promise.resolve('the slot is free again')), 'the slot is free again')
  })
})

describe('a name at the login page', () => {
  it('costs the same calls of the store, known or not, free, failed or locked', async () => {
    const store = memoryOAuthStore()
    const calls: string[] = []
    const counting = Object.fromEntries(
      Object.entries(store).map(([name, call]) => [
        name,
        (...args: unknown[]) => (
          calls.push(`${name} ${String(args[0]).split(':', 1)[0]}`),
          (call as (...all: unknown[]) => unknown)(...args)
        ),
      ]),
    ) as unknown as OAuthStore
    const { issuer } = await startServer({
      ...{ store: counting, loginLimits: { perAccount: 3, perAddress: 7 } },
    })
    const page = await new UserAgent(issuer).authorize(issuer, request())
    const callsFor = async (name: string) => {
      calls.length = 0
      const { status } = await page.logIn(name, 'wrong')
      return [status, calls.join()]
    }
    for (let i = 0; i < 12; i++) {
      const [known, unknown] = [await callsFor('ada'), await callsFor('nobody')]
      assert.deepEqual(known, unknown, `attempt ${i}`)
    }
    for (const status of [403, 429]) assert.equal((await callsFor('bob'))[0], status)
  })
})

describe('logins from many networks', () => {
  const own = databaseOfSuite()

  it('leave no counter in Redis where nothing was checked, or the password was right', async (t) => {
    const store = redisOAuthStore(own.url)
    t.after(() => store.close())
    await answering(store)
    const busy = new DirectoryBusyError(1)
    const isRight = new Set<string>()
    const users: UserDirectory = {
      ...USERS,
      authenticate: (name, password) => (isRight.has(name) ? USERS.authenticate(name, password) : Promise.reject(busy)),
    }
    const running = await startServer({ dialect: 'standard', store, users })
    running.app.set('trust proxy', 1)
    const logIn = async (username: string, i: number) => {
      const page = await new UserAgent(running.issuer).authorize(running.issuer, request())
      const address = { 'x-forwarded-for': `2001:db8:0:${(i << 8).toString(16)}::1` }
      return (await page.submit({ username, password: 'analytical engine', action: 'login' }, address)).status
    }
    for (let i = 0; i < 50; i++) assert.equal(await logIn(`nobody ${i}`, i), 503)
    isRight.add('ada')
    for (let i = 0; i < 5; i++) assert.equal(await logIn('ada', i), 303)
    assert.deepEqual(await own.redis.keys('tollgate:oauth:attempts:*'), [])
  })
})

describe('a redirect URI', () => {
  const WRONG = [
    ...['https:/app.test/cb', 'https:app.test/cb', 'https:///app.test/cb', 'https://app.test\\@evil.test/'],
    ...['http:/localhost/cb', 'https://app.test/cb\n', 'https://app.test/c\rb', 'https://app.test/\tcb'],
    ...['http://127.0.0.1:5000/cb\nx', 'http://localhost/cb\r\nX: y', 'https://\u0430pp.test/cb'],
    ...['https://%D0%B0pp.test/cb', 'https://xn--pp-6kc.test/cb', 'https://ａpp.test/cb', 'https://app。test/cb'],
    ...['https://0x7f.1/cb', 'https://2130706433/cb', 'https://user@app.test/cb', 'https://app.test/cb#x'],
  ]

  it('with a line break, one slash, or a host that looks like another is refused at registration', async () => {
    const { issuer } = await startServer({ registration: { accept: () => ({}), perAddress: 1_000 } })
    for (const uri of WRONG) {
      assert.throws(() => clientDirectory([{ clientId: 'a', name: 'A', redirectUris: [uri] }]), TypeError, uri)
      assert.equal((await postJson(`${issuer}/register`, { redirect_uris: [uri] })).status, 400, uri)
    }
    for (const uri of [
      'https://app.test:443/cb',
      'https://APP.test/cb',
      'https://xn--mnchen-3ya.test/',
      'https://[2001:db8::1]/cb',
    ]) {
      clientDirectory([{ clientId: 'a', name: 'A', redirectUris: [uri] }])
    }
  })
})
