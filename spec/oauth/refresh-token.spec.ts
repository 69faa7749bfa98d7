import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { type ClientRegistration, clientDirectory, memoryOAuthStore, redisOAuthStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { answering } from '../support/answering'
import { databaseOfSuite } from '../support/redis'
import { AS_WEB, CLIENTS, type Form, type RunningServer, SIGNING_KEY, json, post, startServer } from './support'
import { codeForm } from './user-agent'

const WEB = CLIENTS[0] as ClientRegistration

describe('the refresh token grant', () => {
  const clock = manualClock()
  let running: RunningServer
  before(async () => {
    running = await startServer({ clock })
  })
  after(() => running.close())

  const first = async () =>
    json(
      await post(
        `${running.issuer}/token`,
        await codeForm(running.issuer, { scope: 'openid email tree.read' }),
        AS_WEB,
      ),
    )
  const refresh = (token: unknown, more: Form = {}, headers: Form = AS_WEB) =>
    post(`${running.issuer}/token`, { grant_type: 'refresh_token', refresh_token: token as string, ...more }, headers)

  it('RFC 6749 §6: gives new tokens and the next refresh token', async () => {
    const before = await first()
    clock.advance(600_000)
    const response = await refresh(before.refresh_token)
    assert.equal(response.status, 200)
    const after = await json(response)
    assert.notEqual(after.access_token, before.access_token)
    assert.notEqual(after.refresh_token, before.refresh_token)
    assert.equal(after.scope, 'openid email tree.read')
    const [was, is] = [decodeJwt(before.id_token as string), decodeJwt(after.id_token as string)]
    assert.equal(is.auth_time, was.auth_time) // OIDC Core §12.2
    assert.equal(is.sub, was.sub)
    assert.equal('nonce' in is, false)
    assert.equal((is.iat ?? 0) - (was.iat ?? 0), 600)
  })

  it('RFC 6749 §6: the scope may be narrowed for one token, and never widened', async () => {
    const { refresh_token: token } = await first()
    const wider = await refresh(token, { scope: 'openid tree.write' })
    assert.equal((await json(wider)).error, 'invalid_scope')
    const narrow = await json(await refresh(token, { scope: 'tree.read' }))
    assert.equal(narrow.scope, 'tree.read')
    assert.equal('id_token' in narrow, false)
    const again = await json(await refresh(narrow.refresh_token))
    assert.equal(again.scope, 'openid email tree.read')
    const one = await json(await refresh(again.refresh_token, { scope: 'openid' }))
    assert.equal(one.scope, 'openid', 'of several, the first alone')
  })

  it('leaves out of a refresh what is left out at sign-in: scopes that the app may not ask for', async () => {
    const { refresh_token: token } = await first()
    const same = await json(await refresh(token, { scope: 'openid email photos.read tree.read unknown' }))
    assert.equal(same.scope, 'openid email tree.read')
    assert.equal((await json(await refresh(same.refresh_token, { scope: 'photos.read' }))).error, 'invalid_scope')
    assert.equal((await refresh(same.refresh_token)).status, 200, 'a refused refresh spends nothing')
  })

  it('RFC 9700 §4.14.2: reuse after the grace revokes the whole family', async () => {
    const one = await first()
    const two = await json(await refresh(one.refresh_token))
    const three = await json(await refresh(two.refresh_token))
    clock.advance(10_001)
    const reused = await refresh(one.refresh_token)
    assert.equal(reused.status, 400)
    assert.equal((await json(reused)).error, 'invalid_grant')
    assert.equal((await json(await refresh(three.refresh_token))).error, 'invalid_grant')
    for (const { access_token: token } of [one, two, three])
      assert.equal(await running.server.verify(token as string), undefined)
  })

  it('lets a client whose response was lost ask again, until the next token is used or its own end', async () => {
    const one = await first()
    const lost = await json(await refresh(one.refresh_token))
    for (const waitMs of [9_000, 120_000, 29 * 86_400_000]) {
      clock.advance(waitMs)
      const again = await json(await refresh(one.refresh_token))
      assert.equal(again.refresh_token, lost.refresh_token, 'one generation, however often')
    }
    clock.advance(86_400_000)
    assert.equal((await json(await refresh(one.refresh_token))).error, 'invalid_grant', 'its own thirty days are over')
    assert.equal((await refresh(lost.refresh_token)).status, 400, 'and those of the one that nobody got')

    const two = await first()
    const next = await json(await refresh(two.refresh_token))
    await refresh(next.refresh_token)
    assert.equal((await json(await refresh(two.refresh_token))).error, 'invalid_grant')
    assert.equal(await running.server.verify(next.access_token as string), undefined, 'the whole grant is revoked')
  })

  it('gives many at once, of one lost response or of a race, tokens of one generation only (O139)', async () => {
    const one = await first()
    const all = await Promise.all(Array.from({ length: 10 }, async () => json(await refresh(one.refresh_token))))
    assert.ok(all.every(({ refresh_token: token }) => typeof token === 'string'))
    const { refresh_token: third } = await json(await refresh(all[0]?.refresh_token))
    assert.equal((await refresh(third)).status, 200)
    assert.equal((await json(await refresh(all[1]?.refresh_token))).error, 'invalid_grant')
    assert.equal(await running.server.verify(all[0]?.access_token as string), undefined)
  })

  it('RFC 6749 §10.4: is bound to its client; a stranger spends and revokes nothing', async () => {
    const { refresh_token: token } = await first()
    assert.equal((await json(await refresh(token, { client_id: 'spa' }, {}))).error, 'unauthorized_client')
    assert.equal((await refresh(token)).status, 200)
  })

  it('ends when it is not used for thirty days', async () => {
    const one = await first()
    clock.advance(29 * 86_400_000)
    const two = await json(await refresh(one.refresh_token))
    assert.equal(typeof two.refresh_token, 'string')
    clock.advance(30 * 86_400_000)
    assert.equal((await json(await refresh(two.refresh_token))).error, 'invalid_grant')
  })

  it('refuses anything but a refresh token', async () => {
    const { access_token: access } = await first()
    for (const token of ['nonsense', access, '__proto__'])
      assert.equal((await json(await refresh(token))).error, 'invalid_grant')
    assert.equal((await json(await refresh(''))).error, 'invalid_request')
  })

  it('a refresh omits rights that the app has lost: scope, claims, realm, resource, grant', async (t) => {
    let app: ClientRegistration = { ...WEB, audiences: ['https://a.test', 'https://b.test'] }
    const clients = { findClient: (id: string) => clientDirectory([app]).findClient(id) }
    const changing = await startServer({ clients })
    t.after(() => changing.close())
    const claims = JSON.stringify({ userinfo: { email: null } })
    const form = await codeForm(changing.issuer, { scope: 'openid email tree.read', claims })
    let { refresh_token: token } = await json(await post(`${changing.issuer}/token`, form, AS_WEB))
    const next = async () => {
      const body = { grant_type: 'refresh_token', refresh_token: token as string }
      const tokens = await json(await post(`${changing.issuer}/token`, body, AS_WEB))
      token = tokens.refresh_token ?? token
      return tokens
    }
    assert.equal((await next()).scope, 'openid email tree.read')
    app = { ...app, scopes: [], identityScopes: ['openid'], audiences: ['https://b.test'] }
    const less = await next()
    assert.equal(less.scope, 'openid')
    const payload = decodeJwt(less.access_token as string)
    assert.deepEqual([payload.aud, payload.userinfo_claims], ['https://b.test', undefined])
    app = { ...app, realm: undefined }
    assert.equal((await next()).scope, undefined)
    app = { ...app, grants: ['authorization_code'] }
    assert.equal((await next()).error, 'unauthorized_client')
  })

  it('a granted resource that was withdrawn from the app is invalid_target', async (t) => {
    let app: ClientRegistration = { ...WEB, audiences: ['https://a.test', 'https://b.test'] }
    const changing = await startServer({ clients: { findClient: (id) => clientDirectory([app]).findClient(id) } })
    t.after(() => changing.close())
    const form = await codeForm(changing.issuer, { resource: 'https://a.test' })
    const tokens = await json(await post(`${changing.issuer}/token`, form, AS_WEB))
    app = { ...app, audiences: ['https://b.test'] }
    const body = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string }
    assert.equal((await json(await post(`${changing.issuer}/token`, body, AS_WEB))).error, 'invalid_target')
  })

  it('a grant has two records after any number of refreshes, also parallel ones', async (t) => {
    const keys = new Set<string>()
    const store = memoryOAuthStore({ maxBytes: 1_000_000 })
    const counting = {
      ...store,
      set: (key: string, ...rest: [string, number]) => (keys.add(key), store.set(key, ...rest)),
    }
    const small = await startServer({ store: counting, signingKeys: [{ key: SIGNING_KEY }] })
    t.after(() => small.close())
    let { refresh_token: token } = await json(await post(`${small.issuer}/token`, await codeForm(small.issuer), AS_WEB))
    keys.clear()
    for (let i = 0; i < 300; i++) {
      const body = { grant_type: 'refresh_token', refresh_token: token as string }
      const all = await Promise.all(
        Array.from({ length: i % 50 === 0 ? 5 : 1 }, async () =>
          json(await post(`${small.issuer}/token`, body, AS_WEB)),
        ),
      )
      assert.equal(new Set(all.map((tokens) => tokens.refresh_token)).size, 1, 'siblings are one token')
      token = all[0]?.refresh_token
    }
    assert.equal([...keys].filter((key) => key.startsWith('refresh:')).length, 2)
    assert.ok(keys.size <= 2, [...keys].join())
  })
})

describe('refreshTokens: { graceSec: 0 }', () => {
  const database = databaseOfSuite()

  it('takes each token once, however many send it at the same time', async () => {
    const shared = redisOAuthStore(database.url)
    await answering(shared)
    for (const store of [memoryOAuthStore(), shared]) {
      const strict = await startServer({ store, signingKeys: [{ key: SIGNING_KEY }], refreshTokens: { graceSec: 0 } })
      for (let i = 0; i < 10; i++) {
        const { refresh_token } = await json(
          await post(`${strict.issuer}/token`, await codeForm(strict.issuer), AS_WEB),
        )
        const body = { grant_type: 'refresh_token', refresh_token: refresh_token as string }
        const all = await Promise.all(Array.from({ length: 5 }, () => post(`${strict.issuer}/token`, body, AS_WEB)))
        assert.equal(all.filter(({ status }) => status === 200).length, 1)
      }
      await strict.close()
    }
    await shared.close()
  })
})
