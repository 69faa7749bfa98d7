import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import express from 'express'
import { decodeJwt } from 'jose'
import { requireBearer } from '../../lib'
import { clientDirectory } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { listen } from '../support/serve'
import { type KeyHolder, ath, keyHolder } from './key-holder'
import { AS_WEB, CLIENTS, type Form, type RunningServer, json, post, openServer, startServer } from './support'
import { UserAgent, codeForm, request } from './user-agent'

const clock = manualClock()

describe('DPoP', () => {
  let running: RunningServer
  let ada: KeyHolder
  let mallory: KeyHolder
  before(async () => {
    ada = await keyHolder(clock)
    mallory = await keyHolder(clock, 'EdDSA')
    const redirectUris = ['https://client.test/cb']
    const clients = clientDirectory([
      ...CLIENTS,
      {
        clientId: 'public',
        name: 'Public',
        realm: '/p',
        redirectUris,
        grants: ['authorization_code', 'refresh_token'],
      },
      { clientId: 'bound', name: 'Bound', realm: '/b', redirectUris, requireDpop: true },
    ])
    running = await openServer({ clients, clock })
  })
  after(() => running.close())

  const url = (path: string) => running.issuer + path
  const token = async (form: Form, dpop: string | undefined, headers: Form = {}) => {
    const response = await post(url('/token'), form, { ...headers, ...(dpop !== undefined && { dpop }) })
    return { status: response.status, headers: response.headers, ...(await json(response)) } as Record<
      string,
      unknown
    > & {
      status: number
    }
  }
  const asPublic = async (clientId: string, more: Form = {}) => ({
    ...(await codeForm(running.issuer, { client_id: clientId, scope: 'openid', ...more })),
    client_id: clientId,
  })

  it('RFC 9449 §5 and §6.1: binds the access token to the key of the proof, of every grant', async () => {
    const forms: [Form, Form][] = [
      [await codeForm(running.issuer), AS_WEB],
      [{ grant_type: 'client_credentials' }, AS_WEB],
      [{ grant_type: 'unauthenticated_session', client_id: 'spa', ip_address: '192.0.2.1' }, {}],
    ]
    for (const [form, headers] of forms) {
      const tokens = await token(form, await ada.proof(url('/token')), headers)
      assert.deepEqual([tokens.status, tokens.token_type], [200, 'DPoP'])
      assert.deepEqual(decodeJwt(tokens.access_token as string).cnf, { jkt: ada.jkt })
    }
    const without = await token({ grant_type: 'client_credentials' }, undefined, AS_WEB)
    assert.deepEqual([without.token_type, decodeJwt(without.access_token as string).cnf], ['family_search', undefined])
  })

  it('RFC 9449 §4.3 and §5: a proof that does not hold is invalid_dpop_proof, and nothing is spent', async () => {
    const form = await codeForm(running.issuer)
    const htu = url('/token')
    const iat = Math.floor(clock.date() / 1_000)
    const wrong = [
      'x',
      await ada.proof(url('/userinfo')),
      await ada.proof(htu, {}, 'GET'),
      await ada.proof(htu, { iat: iat - 61 }),
      await ada.proof(htu, { iat: iat + 61 }),
      await ada.proof(htu, { jti: '' }),
      (await ada.proof(htu)).slice(0, -4),
    ]
    for (const proof of wrong) {
      const refused = await token(form, proof, AS_WEB)
      assert.deepEqual([refused.status, refused.error], [400, 'invalid_dpop_proof'], proof)
    }
    assert.equal((await token(form, await ada.proof(htu), AS_WEB)).status, 200)
  })

  it('RFC 9449 §11.1: a proof is good once', async () => {
    const proof = await ada.proof(url('/token'))
    const form = { grant_type: 'client_credentials' }
    assert.equal((await token(form, proof, AS_WEB)).status, 200)
    assert.equal((await token(form, proof, AS_WEB)).error, 'invalid_dpop_proof')
  })

  it("RFC 9449 §5: a public client's refresh tokens are bound to the key, a confidential one's are not", async () => {
    const tokens = await token(await asPublic('public'), await ada.proof(url('/token')))
    const refresh = { grant_type: 'refresh_token', client_id: 'public', refresh_token: tokens.refresh_token as string }
    assert.equal((await token(refresh, await mallory.proof(url('/token')))).error, 'invalid_grant')
    assert.equal((await token(refresh, undefined)).error, 'invalid_grant')
    const fresh = await token(refresh, await ada.proof(url('/token')))
    assert.equal(fresh.token_type, 'DPoP')
    // Within the grace a spent token still gives one: to the holder of the key alone.
    assert.equal((await token(refresh, await mallory.proof(url('/token')))).error, 'invalid_grant')

    const own = await token(await codeForm(running.issuer), await ada.proof(url('/token')), AS_WEB)
    const form = { grant_type: 'refresh_token', refresh_token: own.refresh_token as string }
    const other = await token(form, await mallory.proof(url('/token')), AS_WEB)
    assert.deepEqual(decodeJwt(other.access_token as string).cnf, { jkt: mallory.jkt })
  })

  it('RFC 9449 §10 and §10.1: dpop_jkt, or the proof of a pushed request, binds the code', async () => {
    const form = await asPublic('public', { dpop_jkt: ada.jkt })
    assert.equal((await token(form, await mallory.proof(url('/token')))).error, 'invalid_grant')
    assert.equal((await token(form, undefined)).error, 'invalid_grant')
    assert.equal((await token(form, await ada.proof(url('/token')))).status, 200)

    const push = async (more: Form) =>
      json(await post(url('/par'), request(more), { ...AS_WEB, dpop: await ada.proof(url('/par')) }))
    assert.equal((await push({ dpop_jkt: mallory.jkt })).error, 'invalid_dpop_proof')
    const { request_uri: uri } = await push({})
    const agent = new UserAgent(running.issuer)
    const page = await agent.authorize(running.issuer, { client_id: 'web', request_uri: uri as string })
    const code = (await (await page.logIn()).finish()).params.get('code') ?? ''
    const bound = { ...(await codeForm(running.issuer)), code }
    assert.equal((await token(bound, await mallory.proof(url('/token')), AS_WEB)).error, 'invalid_grant')
    assert.equal((await token(bound, await ada.proof(url('/token')), AS_WEB)).status, 200)
  })

  it('RFC 9449 §5.2: an app registered for it must prove its key', async () => {
    const form = await asPublic('bound')
    assert.equal((await token(form, undefined)).error, 'invalid_dpop_proof')
    assert.equal((await token(form, await ada.proof(url('/token')))).status, 200)
  })

  it('RFC 9449 §8: requires a nonce if configured, issues one, and accepts the previous one for a while', async () => {
    const strict = await startServer({ clock, dpop: { nonce: true } })
    const htu = `${strict.issuer}/token`
    const ask = async (claims: Record<string, unknown>) =>
      post(htu, { grant_type: 'client_credentials' }, { ...AS_WEB, dpop: await ada.proof(htu, claims) })
    const refused = await ask({})
    const nonce = refused.headers.get('dpop-nonce') ?? ''
    assert.deepEqual([refused.status, (await json(refused)).error], [400, 'use_dpop_nonce'])
    assert.equal((await ask({ nonce })).status, 200)
    assert.equal((await json(await ask({ nonce: `${nonce}x` }))).error, 'use_dpop_nonce')
    clock.advance(60_000)
    const late = await ask({ nonce })
    assert.equal(late.status, 200)
    assert.notEqual(late.headers.get('dpop-nonce'), nonce)
    clock.advance(60_000)
    assert.equal((await json(await ask({ nonce }))).error, 'use_dpop_nonce')
  })

  it('RFC 9449 §7.1: userinfo and requireBearer accept a bound token only with a proof of its key', async () => {
    const tokens = await token(await codeForm(running.issuer), await ada.proof(url('/token')), AS_WEB)
    const access = tokens.access_token as string
    const api = await listen(
      express().use(
        requireBearer({
          issuer: running.issuer,
          audience: running.issuer,
          verify: running.server.verify,
          dpop: true,
          clock,
        }),
        (req, res) => void res.json(req.auth),
      ),
    )
    for (const target of [url('/userinfo'), `${api.url}/`]) {
      const call = (authorization: string, dpop?: string) =>
        fetch(target, { headers: { authorization, ...(dpop !== undefined && { dpop }) } })
      const proof = (holder: KeyHolder) => holder.proof(target, { ath: ath(access) }, 'GET')
      assert.equal((await call(`DPoP ${access}`, await proof(ada))).status, 200, target)
      assert.equal((await call(`DPoP ${access}`, await proof(mallory))).status, 401)
      assert.equal((await call(`DPoP ${access}`)).status, 401)
      const stolen = await call(`Bearer ${access}`)
      assert.equal(stolen.status, 401)
      assert.match(stolen.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
    }
    await api.close()
  })

  it('RFC 9449 §4.3: a proof names the issuer’s URL, also where a proxy takes its path away or adds another', async () => {
    const tokens = await token(await codeForm(running.issuer), await ada.proof(url('/token')), AS_WEB)
    const access = tokens.access_token as string
    for (const prefix of ['', '/inner', '/cis-web/oauth2/v3/twice', '/cis-web/oauth2/v3']) {
      const at = `${running.origin}${prefix}`
      running.app.use(prefix, running.server)
      for (const method of ['GET', 'POST']) {
        const call = async (htu: string, more: Form = {}, query = '') => {
          const dpop = await ada.proof(htu, { ath: ath(access) }, method)
          const headers = { authorization: `DPoP ${access}`, dpop, ...more }
          return (await fetch(`${at}/userinfo${query}`, { method, headers })).status
        }
        assert.equal(await call(url('/userinfo')), 200, prefix)
        assert.equal(await call(url('/userinfo'), { 'x-forwarded-prefix': '/evil', 'x-forwarded-host': 'e.test' }), 200)
        assert.equal(await call(`${url('/userinfo')}?a=b`, {}, '?c=d'), 200)
        assert.equal(await call('https://e.test/evil/userinfo', { 'x-forwarded-prefix': '/evil' }), 401)
        if (at !== running.issuer) assert.equal(await call(`${at}/userinfo`), 401, prefix)
      }
    }
  })

  it('RFC 9449 §6.2: introspection tells the key', async () => {
    const { access_token: bound } = await token(
      { grant_type: 'client_credentials' },
      await ada.proof(url('/token')),
      AS_WEB,
    )
    const answer = await json(await post(url('/introspect'), { token: bound as string }, AS_WEB))
    assert.deepEqual([answer.token_type, answer.cnf], ['DPoP', { jkt: ada.jkt }])
  })
})
