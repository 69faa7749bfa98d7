import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import express from 'express'
import { type JSONWebKeySet, createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { type Clock, systemClock } from '../../lib/http/clock'
import { Keyring } from '../../lib/oauth/keys/keyring'
import { manualClock } from '../../lib/testing'
import { requireBearer } from '../../lib'
import { clientDirectory, userDirectory } from '../../lib/oauth'
import { generateKeys } from '../support/generate-keys'
import { serve } from '../support/serve'
import { AS_WEB, CLIENTS, SIGNING_KEY, askToken, json, post, startServer } from './support'
import { UserAgent, codeForm, request, tokensFor } from './user-agent'

const NEXT_KEY = generateKeys('rsa').privateKey
const HOUR = 3_600_000
const KEYS = {
  RS256: NEXT_KEY,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  EdDSA: generateKeyPairSync('ed25519').privateKey,
}

/** An API that knows the server by its issuer alone. Its keys age by the clock; its fetches take real time. */
function apiOf(issuer: string, clock: Clock) {
  const after: Clock['after'] = (ms, run) => systemClock.after(ms, run)
  return requireBearer({ issuer, audience: issuer, clock: { ...clock, after } })
}

describe('signing keys', () => {
  it('are next, current and retired by the clock alone, and published while a token may need them (O167)', () => {
    const clock = manualClock()
    const start = clock.date()
    const keys = [
      { key: NEXT_KEY, kid: 'new', activeFrom: start + HOUR },
      { key: SIGNING_KEY, kid: 'old' },
    ]
    const ring = new Keyring(keys, clock, HOUR)
    const kids = () => ring.published().map(({ kid }) => kid)
    assert.equal(ring.current().kid, 'old')
    assert.deepEqual(kids(), ['old', 'new'])
    clock.advance(HOUR)
    assert.equal(ring.current().kid, 'new')
    assert.deepEqual(kids(), ['new', 'old'])
    clock.advance(HOUR)
    assert.deepEqual(kids(), ['new'])
    assert.equal(ring.find('old'), undefined)
  })

  it('of less than 2,048 bits are refused at startup', () => {
    const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 1_024 })
    assert.throws(() => new Keyring([{ key }], manualClock(), HOUR), /at least 2048 bits; it has 1024/)
  })

  it('rotate without a failed request at requireBearer({ issuer })', async () => {
    const clock = manualClock()
    const old = { key: SIGNING_KEY, kid: 'old' }
    const running = await startServer({ clock, signingKeys: [old] })
    const api = apiOf(running.issuer, clock)
    const tokens: string[] = []
    /** A token issued now, and one issued a while ago. */
    const traffic = async () => {
      tokens.push((await askToken(running.issuer, { grant_type: 'client_credentials' })).access_token)
      for (const token of [tokens.at(-1), tokens.at(-6) ?? tokens[0]]) await api.check(token ?? '')
    }
    await traffic()
    running.server.setSigningKeys([old, { key: NEXT_KEY, kid: 'new', activeFrom: clock.date() + HOUR }])
    for (let minutes = 0; minutes < 180; minutes += 5) {
      clock.advance(5 * 60_000)
      await traffic()
    }
    const kids = tokens.map((token) => decodeProtectedHeader(token).kid)
    assert.deepEqual([...new Set(kids)], ['old', 'new'])
    assert.equal(kids.filter((kid) => kid === 'old').length, 12)
    const { keys } = (await json(await fetch(`${running.issuer}/jwks`))) as { keys: { kid: string }[] }
    assert.deepEqual(
      keys.map(({ kid }) => kid),
      ['new'],
      'the old key is gone when its last token is',
    )
  })

  for (const [alg, key] of Object.entries(KEYS)) {
    const hash = alg === 'EdDSA' ? 'sha512' : 'sha256'

    it(`RFC 7518 §3.1, RFC 8037 §3.1 and OIDC Core §3.1.3.6: ${alg} signs every token, and is published`, async () => {
      const running = await startServer({ signingKeys: [{ key }] })
      const tokens = await tokensFor(running.issuer)
      const [access, id] = [tokens.access_token, tokens.id_token]
      const keys = createLocalJWKSet((await json(await fetch(`${running.issuer}/jwks`))) as unknown as JSONWebKeySet)
      for (const token of [access, id]) {
        const { protectedHeader } = await jwtVerify(token, keys, { issuer: running.issuer })
        assert.equal(protectedHeader.alg, alg)
      }
      await apiOf(running.issuer, systemClock).check(access)
      const digest = createHash(hash).update(access).digest()
      assert.equal(decodeJwt(id).at_hash, digest.subarray(0, digest.length / 2).toString('base64url'))
      const discovery = await json(await fetch(`${running.issuer}/.well-known/openid-configuration`))
      assert.deepEqual(discovery.id_token_signing_alg_values_supported, [alg])
      const [header, payload, signature = ''] = access.split('.')
      const forged = Buffer.from(signature, 'base64url')
      forged[0] = (forged[0] ?? 0) ^ 1
      const call = (token: string) =>
        fetch(`${running.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } })
      assert.equal((await call(access)).status, 200)
      assert.equal((await call(`${header}.${payload}.${forged.toString('base64url')}`)).status, 401)
    })
  }

  it('may be replaced in an emergency: the first token of the new key triggers a fetch', async () => {
    const clock = manualClock()
    const running = await startServer({ clock, signingKeys: [{ key: SIGNING_KEY }] })
    const api = apiOf(running.issuer, clock)
    const call = async () => {
      const { access_token: token } = await askToken(running.issuer, { grant_type: 'client_credentials' })
      return api.check(token)
    }
    await call()
    running.server.setSigningKeys([{ key: NEXT_KEY }])
    clock.advance(10_000)
    await call()
  })

  it('a login page that was open during the rotation can still be sent', async () => {
    const running = await startServer()
    const page = await new UserAgent(running.issuer).authorize(running.issuer, request())
    running.server.setSigningKeys([{ key: SIGNING_KEY }, { key: NEXT_KEY, activeFrom: Date.now() - 1 }])
    assert.equal((await page.logIn()).title, 'Terms of access')
  })
})

/** Sizes around a limit: some tokens fit, and some do not. */
const around = (size: number) => Array.from({ length: 9 }, (_, i) => size + (i - 4) * 150)

describe('a token that the server issues is one that it takes; a longer one is invalid_scope:', () => {
  const web = CLIENTS[0] as (typeof CLIENTS)[0]
  const service = { grant_type: 'client_credentials' }

  it('an access token with many scopes, at introspection, userinfo, revocation and requireBearer()', async () => {
    const scopes = Array.from({ length: 1_200 }, (_, i) => `s${i}`.padEnd(9, '-'))
    const { issuer, server } = await startServer({ clients: clientDirectory([{ ...web, scopes }]) })
    const check = requireBearer({ issuer, audience: issuer, verify: server.verify })
    const api = await serve(express().use(check, (_req, res) => void res.end()))
    const seen = []
    for (const size of around(8_600)) {
      const form = { ...service, scope: scopes.slice(0, size / 10).join(' ') }
      const { access_token: token, error } = await askToken(issuer, form)
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

  it('an id_token with a long claim, as the hint of a logout', async () => {
    const seen = []
    for (const size of around(45_500)) {
      const claims = { picture: `data:${'x'.repeat(size)}` }
      const ada = { id: 'KWC6-X7D', username: 'ada', password: 'analytical engine', claims }
      const { issuer } = await startServer({ users: userDirectory([ada], { cost: 10 }) })
      const agent = new UserAgent(issuer)
      const form = await codeForm(issuer, { scope: 'openid profile' }, agent)
      const { id_token: hint, error } = await askToken(issuer, form)
      seen.push(error ?? 'token')
      if (hint === undefined) continue
      const body = new URLSearchParams({ id_token_hint: hint })
      await agent.request(`${issuer}/logout`, { method: 'POST', body })
      assert.equal(agent.hasSession, false, `${hint.length}`)
    }
    assert.deepEqual([...new Set(seen)], ['token', 'invalid_scope'])
  })
})
