import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { requireBearer } from '../../../lib'
import { clientDirectory, userDirectory } from '../../../lib/oauth'
import { listen } from '../../support/serve'
import { AS_WEB, CLIENTS, json, post, startServer } from '../support'
import { UserAgent, codeForm } from '../user-agent'

/** Sizes around a limit: some tokens fit, and some do not. */
const around = (size: number) => Array.from({ length: 9 }, (_, i) => size + (i - 4) * 150)

describe('a token that the server issues is one that it takes; a longer one is invalid_scope:', () => {
  const web = CLIENTS[0] as (typeof CLIENTS)[0]
  const service = { grant_type: 'client_credentials' }

  it('an access token with many scopes, at introspection, userinfo, revocation and requireBearer()', async (t) => {
    const scopes = Array.from({ length: 1_200 }, (_, i) => `s${i}`.padEnd(9, '-'))
    const { issuer, server, ...running } = await startServer({ clients: clientDirectory([{ ...web, scopes }]) })
    const check = requireBearer({ issuer, audience: issuer, verify: server.verify })
    const api = await listen(express().use(check, (_req, res) => void res.end()))
    t.after(() => Promise.all([running.close(), api.close()]))
    const seen = []
    for (const size of around(8_600)) {
      const form = { ...service, scope: scopes.slice(0, size / 10).join(' ') }
      const { access_token: token, error } = await json(await post(`${issuer}/token`, form, AS_WEB))
      seen.push(error ?? 'token')
      if (typeof token !== 'string') continue
      const authorization = `Bearer ${token}`
      assert.equal((await fetch(api.url, { headers: { authorization } })).status, 200, `${token.length}`)
      assert.equal((await json(await post(`${issuer}/introspect`, { token }, AS_WEB))).active, true)
      await post(`${issuer}/revoke`, { token }, AS_WEB)
      assert.equal((await fetch(api.url, { headers: { authorization } })).status, 401)
    }
    assert.deepEqual([...new Set(seen)], ['token', 'invalid_scope'])
  })

  it('an access token for many audiences', async (t) => {
    const audiences = Array.from({ length: 180 }, (_, i) => `https://a${i}.test/`.padEnd(97, 'x'))
    const { issuer, server, ...running } = await startServer({ clients: clientDirectory([{ ...web, audiences }]) })
    t.after(() => running.close())
    const seen = []
    for (const size of around(8_700)) {
      const body = new URLSearchParams(service)
      for (const one of audiences.slice(0, size / 100)) body.append('resource', one)
      const response = await fetch(`${issuer}/token`, { method: 'POST', body, headers: AS_WEB })
      const { access_token: token, error } = await json(response)
      seen.push(error ?? 'token')
      if (token !== undefined) assert.notEqual(await server.verify(token as string), undefined)
    }
    assert.deepEqual([...new Set(seen)], ['token', 'invalid_scope'])
  })

  it('an id_token with a long claim, as the hint of a logout', async (t) => {
    const seen = []
    for (const size of around(45_500)) {
      const claims = { picture: `data:${'x'.repeat(size)}` }
      const ada = { id: 'KWC6-X7D', username: 'ada', password: 'analytical engine', claims }
      const { issuer, ...running } = await startServer({ users: userDirectory([ada], { cost: 10 }) })
      t.after(() => running.close())
      const agent = new UserAgent(issuer)
      const form = await codeForm(issuer, { scope: 'openid profile' }, agent)
      const { id_token: hint, error } = await json(await post(`${issuer}/token`, form, AS_WEB))
      seen.push(error ?? 'token')
      if (hint === undefined) continue
      const body = new URLSearchParams({ id_token_hint: hint as string })
      await agent.request(`${issuer}/logout`, { method: 'POST', body })
      assert.equal(agent.hasSession, false, `${(hint as string).length}`)
    }
    assert.deepEqual([...new Set(seen)], ['token', 'invalid_scope'])
  })
})
