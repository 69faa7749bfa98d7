import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientDirectory, memoryOAuthStore } from '../../lib/oauth'
import { hashOf } from '../../lib/http/secret'
import { NOBODY } from '../../lib/oauth/records/owners'
import { Records } from '../../lib/oauth/records/records'
import { manualClock } from '../../lib/testing'
import { AS_WEB, CLIENTS, type Form, VERIFIER, askToken, json, post, serverOfSuite, startServer } from './support'
import { UserAgent, request } from './user-agent'

describe('pushed authorization requests', () => {
  const clock = manualClock()
  const running = serverOfSuite({ clock })

  const push = (more: Form = {}, headers: Form = AS_WEB) => post(`${running.issuer}/par`, request(more), headers)
  const pushed = async (more: Form = {}) => (await json(await push(more))).request_uri as string
  const open = (uri: string, more: Form = {}, agent = new UserAgent(running.issuer)) =>
    agent.authorize(running.issuer, { client_id: 'web', request_uri: uri, ...more })

  it('RFC 9126 §2.2: are answered 201 with an unguessable request_uri, valid for a minute', async () => {
    const response = await push()
    assert.equal(response.status, 201)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    const { request_uri: uri, expires_in: expiresIn } = await json(response)
    assert.match(uri as string, /^urn:ietf:params:oauth:request_uri:[\w-]{43}$/)
    assert.equal(expiresIn, 60)
  })

  it("RFC 9126 §4: the authorization endpoint uses the pushed parameters, not the browser's", async () => {
    const page = await open(await pushed({ state: 'pushed' }), { state: 'changed', scope: 'openid email' })
    const back = await (await page.logIn()).finish()
    assert.equal(back.params.get('state'), 'pushed')
    const form = { grant_type: 'authorization_code', redirect_uri: 'https://client.test/cb', code_verifier: VERIFIER }
    const tokens = await askToken(running.issuer, { ...form, code: back.params.get('code') ?? '' })
    assert.equal(tokens.scope, 'openid')
  })

  it('RFC 9126 §2.1 and §2.3: the client must authenticate, and gets errors at once', async () => {
    for (const [more, headers, error, status] of [
      [{}, { authorization: 'Basic d2ViOndyb25n' }, 'invalid_client', 401],
      [{}, {}, 'invalid_client', 401],
      [{ redirect_uri: 'https://evil.test' }, AS_WEB, 'invalid_request', 400],
      [{ request_uri: 'urn:ietf:params:oauth:request_uri:x' }, AS_WEB, 'invalid_request', 400],
      [{ response_type: 'token' }, AS_WEB, 'unsupported_response_type', 400],
      [{ code_challenge: '' }, AS_WEB, 'invalid_request', 400],
      [{ resource: 'https://evil.test' }, AS_WEB, 'invalid_target', 400],
    ] as const) {
      const response = await push(more, headers)
      assert.deepEqual([response.status, (await json(response)).error], [status, error], JSON.stringify(more))
    }
    assert.equal((await fetch(`${running.issuer}/par`)).status, 405)
  })

  it('RFC 9126 §6: require_pushed_authorization_requests refuses others', async () => {
    const all = await startServer({ requirePushedRequests: true })
    const { params } = await new UserAgent(all.issuer).authorize(all.issuer, request())
    assert.equal(params.get('error'), 'invalid_request')
    assert.match(params.get('error_description') ?? '', /RFC 9126/)
    const discovery = await json(await fetch(`${all.issuer}/.well-known/openid-configuration`))
    assert.equal(discovery.require_pushed_authorization_requests, true)
    assert.equal(discovery.pushed_authorization_request_endpoint, `${all.issuer}/par`)
  })

  it('more than 16 KiB of parameters are refused where they arrive', async () => {
    const response = await push({ state: 's'.repeat(16_384) })
    assert.deepEqual([response.status, (await json(response)).error], [400, 'invalid_request'])
    assert.equal((await push({ state: 's'.repeat(15_000) })).status, 201)
  })

  it('are limited for strangers, by address and in all; an app that authenticates is none', async () => {
    const store = memoryOAuthStore({ clock })
    const other = { clientId: 'other', name: 'Other', realm: '/o', redirectUris: ['https://spa.test/cb'] }
    const busy = await startServer({ clock, store, clients: clientDirectory([...CLIENTS, other]) })
    busy.app.set('trust proxy', 1)
    const pushFrom = (address: string, clientId = 'spa', headers: Form = {}) => {
      const redirectUri = clientId === 'web' ? 'https://client.test/cb' : 'https://spa.test/cb'
      const form = request({ client_id: clientId, redirect_uri: redirectUri })
      return post(`${busy.issuer}/par`, form, { ...headers, 'x-forwarded-for': address })
    }
    for (let i = 0; i < 10; i++) {
      const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await pushFrom('192.0.2.1')).status))
      assert.deepEqual([...new Set(statuses)], [201])
    }
    const refused = await pushFrom('192.0.2.1')
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '60'])
    assert.equal((await pushFrom('192.0.2.2')).status, 201)
    assert.equal((await pushFrom('192.0.2.1', 'web', AS_WEB)).status, 201)

    await new Records(store, busy.issuer).count('attempts', `pushed.${hashOf('spa')}.all`, 6_000, 60_000, NOBODY)
    assert.equal((await pushFrom('192.0.2.3')).status, 429)
    assert.equal((await pushFrom('192.0.2.3', 'other')).status, 201, 'each app for itself')
    assert.equal((await pushFrom('192.0.2.3', 'web', AS_WEB)).status, 201)
    clock.advance(60_000)
    assert.equal((await pushFrom('192.0.2.1')).status, 201)
  })
})
