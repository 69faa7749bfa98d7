import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type ClosableOAuthStore, redisOAuthStore } from '../../lib/oauth'
import { answering } from '../support/answering'
import { type CutWire, cutWire } from '../support/cut-wire'
import { type Server, startRedis } from '../support/redis'
import { assertIs, atLeast, until } from '../support/until'
import { AS_WEB, askToken, json, post, serverOfSuite } from './support'
import { UserAgent, codeForm, request, tokensFor } from './user-agent'

describe('an authorization server without its store fails closed', () => {
  let redis: Server
  let wire: CutWire
  let store: ClosableOAuthStore
  const heard: unknown[] = []
  const running = serverOfSuite(async () => {
    redis = await startRedis()
    wire = await cutWire(redis.port)
    store = redisOAuthStore(`redis://127.0.0.1:${wire.port}`)
    await answering(store)
    return { store, onError: (err) => heard.push(err) }
  })
  after(async () => {
    await store.close()
    await wire.cut()
    await redis.stop()
  })

  it('RFC 6749 §4.1.2.1: during login, at the code and at the token; afterwards it continues and accepts nothing twice (O165)', async () => {
    const { issuer } = running
    const form = await codeForm(issuer)
    const { access_token: token } = await tokensFor(issuer)
    const agent = new UserAgent(issuer)
    const page = await agent.authorize(issuer, request())
    await wire.cut()

    const login = await page.logIn()
    assert.equal(login.status, 503)
    assert.equal(login.response.headers.get('retry-after'), '5')
    assert.equal(login.title, 'Please try again in a moment')
    const redeemed = await post(`${issuer}/token`, form, AS_WEB)
    assert.equal(redeemed.status, 503)
    assert.equal(redeemed.headers.get('retry-after'), '5')
    assert.match(redeemed.headers.get('x-processing-time') ?? '', /^\d+$/)
    assert.equal((await json(redeemed)).error, 'temporarily_unavailable')
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await fetch(`${issuer}/userinfo`, { headers })).status, 503, 'it may have been revoked')
    assert.equal((await post(`${issuer}/revoke`, { token: token }, AS_WEB)).status, 503, 'not: done')
    assertIs(heard.length, atLeast(4))
    assert.ok(!heard.some((err) => String(err).includes(form.code ?? '')))

    await wire.mend()
    await until(async () => (await fetch(`${issuer}/userinfo`, { headers })).status, 200)
    assert.notEqual((await (await page.logIn()).finish()).params.get('code'), null)
    assert.equal(
      (await post(`${issuer}/token`, form, AS_WEB)).status,
      200,
      'the redemption that failed was not sent late',
    )
    assert.equal((await askToken(issuer, form)).error, 'invalid_grant')
  })
})
