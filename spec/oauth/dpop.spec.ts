import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import express from 'express'
import { decodeJwt } from 'jose'
import { requireBearer } from '../../lib'
import { clientDirectory } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { listen } from '../support/serve'
import { type KeyHolder, ath, keyHolder } from './key-holder'
import { AS_WEB, CLIENTS, type Form, json, post, serverOfSuite, startServer } from './support'
import { codeForm } from './user-agent'

const clock = manualClock()

describe('DPoP', () => {
  const app = { clientId: 'public', name: 'Public', realm: '/p', redirectUris: ['https://client.test/cb'] }
  const clients = clientDirectory([...CLIENTS, { ...app, grants: ['authorization_code', 'refresh_token'] }])
  const running = serverOfSuite({ clients, clock })
  let ada: KeyHolder
  let mallory: KeyHolder
  before(async () => {
    ada = await keyHolder(clock)
    mallory = await keyHolder(clock, 'EdDSA')
  })

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
  const asPublic = async (more: Form = {}) => ({
    ...(await codeForm(running.issuer, { client_id: 'public', scope: 'openid', ...more })),
    client_id: 'public',
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

  it('RFC 9449 §4.3: a proof has an id, is at most a minute old, and ten seconds ahead', async () => {
    const iat = Math.floor(clock.date() / 1_000)
    for (const [claims, status] of [
      [{ iat: iat - 61 }, 400],
      [{ iat: iat - 59 }, 200],
      [{ iat: iat + 10 }, 200],
      [{ iat: iat + 11 }, 400],
      [{ jti: '' }, 400],
    ] as const) {
      const proof = await ada.proof(url('/token'), claims)
      const tokens = await token({ grant_type: 'client_credentials' }, proof, AS_WEB)
      assert.equal(tokens.status, status, JSON.stringify(claims))
    }
  })

  it("RFC 9449 §5: a public client's refresh tokens are bound to the key, a confidential one's are not", async () => {
    const tokens = await token(await asPublic(), await ada.proof(url('/token')))
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
