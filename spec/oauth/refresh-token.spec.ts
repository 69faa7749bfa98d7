import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { type ClientRegistration, clientDirectory, memoryOAuthStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { FailingStore } from './failing-store'
import { AS_WEB, CLIENTS, type Form, type Tokens, refresh, serverOfSuite, startServer } from './support'
import { tokensFor } from './user-agent'
import { assertIs, atMost, above } from '../support/until'

const WEB = CLIENTS[0] as ClientRegistration
const answerOf = async (response: Promise<Response>) => (await (await response).json()) as Tokens

describe('the refresh token grant', () => {
  const clock = manualClock()
  const running = serverOfSuite({ clock })

  const first = () => tokensFor(running.issuer, { scope: 'openid email tree.read' })
  const use = (token = '', more: Form = {}, headers: Form = AS_WEB) =>
    answerOf(refresh(running.issuer, token, more, headers))
  const isVerified = async (token = '') => (await running.server.verify(token)) !== undefined

  it('RFC 6749 §6: the scope may be narrowed for one token, and never widened', async () => {
    const { refresh_token: token } = await first()
    assert.equal((await use(token, { scope: 'openid tree.write' })).error, 'invalid_scope')
    const narrow = await use(token, { scope: 'tree.read' })
    assert.deepEqual([narrow.scope, 'id_token' in narrow], ['tree.read', false])
    const again = await use(narrow.refresh_token)
    assert.equal(again.scope, 'openid email tree.read')
    assert.equal((await use(again.refresh_token, { scope: 'openid' })).scope, 'openid', 'of several, the first alone')
  })

  it('leaves out of a refresh what is left out at sign-in: scopes that the app may not ask for', async () => {
    const { refresh_token: token } = await first()
    const same = await use(token, { scope: 'openid email photos.read tree.read unknown' })
    assert.equal(same.scope, 'openid email tree.read')
    assert.equal((await use(same.refresh_token, { scope: 'photos.read' })).error, 'invalid_scope')
    assert.ok((await use(same.refresh_token)).access_token, 'a refused refresh spends nothing')
  })

  it('lets a client whose response was lost ask again, until the next token is used or its own end', async () => {
    const one = await first()
    const lost = await use(one.refresh_token)
    for (const waitMs of [9_000, 120_000, 29 * 86_400_000]) {
      clock.advance(waitMs)
      const again = await use(one.refresh_token)
      assert.equal(again.refresh_token, lost.refresh_token, 'one generation, however often')
    }
    clock.advance(86_400_000)
    assert.equal((await use(one.refresh_token)).error, 'invalid_grant', 'its own thirty days are over')
    assert.equal((await use(lost.refresh_token)).error, 'invalid_grant', 'and those of the one that nobody got')

    const two = await first()
    const next = await use(two.refresh_token)
    await use(next.refresh_token)
    assert.equal((await use(two.refresh_token)).error, 'invalid_grant')
    assert.equal(await isVerified(next.access_token), false, 'the whole grant is revoked')
  })

  it('gives many at once, of one lost response or of a race, tokens of one generation only (O139)', async () => {
    const one = await first()
    const all = await Promise.all(Array.from({ length: 10 }, () => use(one.refresh_token)))
    assert.ok(all.every(({ refresh_token: token }) => typeof token === 'string'))
    const { refresh_token: third } = await use(all[0]?.refresh_token)
    assert.ok((await use(third)).access_token)
    assert.equal((await use(all[1]?.refresh_token)).error, 'invalid_grant')
    assert.equal(await isVerified(all[0]?.access_token), false)
  })

  it('RFC 6749 §10.4: is bound to its client; a stranger spends and revokes nothing', async () => {
    const { refresh_token: token } = await first()
    assert.equal((await use(token, { client_id: 'spa' }, {})).error, 'unauthorized_client')
    assert.ok((await use(token)).access_token)
  })

  it('refuses anything but a refresh token', async () => {
    const { access_token: access } = await first()
    for (const token of ['nonsense', access, '__proto__']) assert.equal((await use(token)).error, 'invalid_grant')
    assert.equal((await use('')).error, 'invalid_request')
  })

  it('a refresh omits rights that the app has lost: scope, claims, realm, resource, grant', async () => {
    let app: ClientRegistration = { ...WEB, audiences: ['https://a.test', 'https://b.test'] }
    const clients = { findClient: (id: string) => clientDirectory([app]).findClient(id) }
    const { issuer } = await startServer({ clients })
    const claims = JSON.stringify({ userinfo: { email: null } })
    let { refresh_token: token } = await tokensFor(issuer, { scope: 'openid email tree.read', claims })
    const next = async () => {
      const tokens = await answerOf(refresh(issuer, token))
      token = tokens.refresh_token ?? token
      return tokens
    }
    assert.equal((await next()).scope, 'openid email tree.read')
    app = { ...app, scopes: [], identityScopes: ['openid'], audiences: ['https://b.test'] }
    const less = await next()
    assert.equal(less.scope, 'openid')
    const payload = decodeJwt(less.access_token)
    assert.deepEqual([payload.aud, payload.userinfo_claims], ['https://b.test', undefined])
    app = { ...app, realm: undefined }
    assert.equal((await next()).scope, undefined)
    app = { ...app, grants: ['authorization_code'] }
    assert.equal((await next()).error, 'unauthorized_client')
  })

  it('a granted resource that was withdrawn from the app is invalid_target', async () => {
    let app: ClientRegistration = { ...WEB, audiences: ['https://a.test', 'https://b.test'] }
    const { issuer } = await startServer({ clients: { findClient: (id) => clientDirectory([app]).findClient(id) } })
    const tokens = await tokensFor(issuer, { resource: 'https://a.test' })
    app = { ...app, audiences: ['https://b.test'] }
    assert.equal((await answerOf(refresh(issuer, tokens.refresh_token))).error, 'invalid_target')
  })

  it('a grant has two records after any number of refreshes, also parallel ones', async () => {
    const keys = new Set<string>()
    const store = memoryOAuthStore({ maxBytes: 1_000_000 })
    const counting = {
      ...store,
      set: (key: string, ...rest: [string, number]) => (keys.add(key), store.set(key, ...rest)),
    }
    const { issuer } = await startServer({ store: counting })
    let { refresh_token: token } = await tokensFor(issuer)
    keys.clear()
    for (let i = 0; i < 300; i++) {
      const length = i % 50 === 0 ? 5 : 1
      const all = await Promise.all(Array.from({ length }, () => answerOf(refresh(issuer, token))))
      const siblings = new Set(all.map((tokens) => tokens.refresh_token))
      assert.equal(siblings.size, 1, 'siblings are one token')
      ;[token = ''] = siblings
    }
    assert.equal([...keys].filter((key) => key.startsWith('refresh:')).length, 2)
    assertIs(keys.size, atMost(2), [...keys].join())
  })
})

describe('a refresh token', () => {
  it('with graceSec: 0 is good once, however many send it at the same time', async () => {
    const { issuer } = await startServer({ refreshTokens: { graceSec: 0 } })
    for (let i = 0; i < 3; i++) {
      const { refresh_token: token } = await tokensFor(issuer)
      const all = await Promise.all(Array.from({ length: 5 }, () => refresh(issuer, token)))
      assert.equal(all.filter(({ status }) => status === 200).length, 1)
    }
  })

  for (const format of ['jwt', 'opaque'] as const) {
    for (const isDone of [false, true]) {
      const when = isDone ? 'after it was done' : 'before it was done'
      it(`is refreshed by the retry: ${format} tokens, each call failing ${when}`, async () => {
        const failing = new FailingStore(memoryOAuthStore())
        const options = { store: failing, accessTokens: { format }, refreshTokens: { graceSec: 60 } }
        const { issuer, server } = await startServer(options)
        let { refresh_token: token } = await tokensFor(issuer)
        let call = 1
        for (; ; call++) {
          failing.failAt(call, isDone)
          const first = await refresh(issuer, token)
          if (!failing.hasFailed()) break
          assert.equal(first.status, 503, `call ${call}`)
          const retry = await answerOf(refresh(issuer, token))
          assert.notEqual(await server.verify(retry.access_token), undefined, `call ${call}`)
          const next = await answerOf(refresh(issuer, retry.refresh_token))
          assert.ok(next.access_token, `call ${call}: the token of the retry is dead`)
          token = next.refresh_token
        }
        assertIs(call, above(4), `${call - 1} calls`)
      })
    }
  }
})
