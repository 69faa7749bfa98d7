import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { describe, it } from 'node:test'
import express from 'express'
import { sign } from 'jsonwebtoken'
import { requireBearer, type BearerOptions } from '../../lib'
import { manualClock } from '../../lib/testing'
import { serve } from '../support/serve'

const pairs = ['a', 'b'].map((kid) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' } }
})
const [a, b] = pairs as [(typeof pairs)[0], (typeof pairs)[0]]

/** An issuer on a port of its own, whose answers a spec may change as it goes. */
async function issuerApp() {
  const state = {
    keys: [a.jwk] as object[],
    down: false,
    fetches: [] as string[],
    headers: {} as Record<string, string>,
  }
  let issuer = ''
  const answer: RequestListener = (req, res) => {
    state.fetches.push(req.url as string)
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
      '/keys': { keys: state.keys },
    }
    const body = documents[req.url as string]
    res.writeHead(state.down ? 503 : body ? 200 : 404, state.headers).end(JSON.stringify(body))
  }
  issuer = (await serve(answer)).url
  const token = ({ kid, privateKey } = a, claims: object = {}) =>
    sign({ iss: issuer, aud: 'api', sub: 'ada', exp: 4_102_444_800, ...claims }, privateKey, {
      algorithm: 'ES256',
      keyid: kid,
    })
  return { state, issuer, token }
}

async function api(options: BearerOptions) {
  const bearer = requireBearer({ audience: 'api', ...options })
  const { url } = await serve(express().use(bearer, (_req, res) => void res.end()))
  return { bearer, ask: (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } }) }
}

describe('requireBearer() with keys from the issuer', () => {
  it('finds them through its metadata (OpenID Connect Discovery §4)', async () => {
    const { state, issuer, token } = await issuerApp()
    const { ask } = await api({ issuer })
    assert.deepEqual(
      (await Promise.all([ask(token()), ask(token()), ask(token())])).map((r) => r.status),
      [200, 200, 200],
    )
    assert.deepEqual(state.fetches, ['/.well-known/openid-configuration', '/keys'])
    assert.equal((await ask(token(b))).status, 401)
  })

  it('or at jwksUri, without asking for metadata', async () => {
    const { state, issuer, token } = await issuerApp()
    const { ask, bearer } = await api({ issuer, jwksUri: `${issuer}/keys` })
    await bearer.ready()
    assert.equal((await ask(token())).status, 200)
    assert.deepEqual(state.fetches, ['/keys'])
  })

  it('takes a key rotated in without a restart', async () => {
    const { state, issuer, token } = await issuerApp()
    const clock = manualClock()
    const { ask } = await api({ issuer, clock })
    assert.equal((await ask(token())).status, 200)
    state.keys = [a.jwk, b.jwk]
    clock.advance(2_000)
    assert.equal((await ask(token(b))).status, 200)
  })

  it('answers an outage with 503 and Retry-After, never with 401', async () => {
    const { state, issuer, token } = await issuerApp()
    state.down = true
    const clock = manualClock()
    const { ask, bearer } = await api({ issuer, clock })
    await assert.rejects(bearer.ready(), (err: Error) => String(err.cause).includes('answered 503'))
    const answer = await ask(token())
    assert.equal(answer.status, 503)
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.equal(answer.headers.get('www-authenticate'), null)
    assert.ok(!(await answer.text()).includes('127.0.0.1'))
    state.down = false
    clock.advance(Number(answer.headers.get('retry-after')) * 1_000)
    assert.equal((await ask(token())).status, 200)
  })

  it('keeps the last good keys while the issuer is down', async () => {
    const { state, issuer, token } = await issuerApp()
    const clock = manualClock()
    const { ask } = await api({ issuer, clock })
    assert.equal((await ask(token())).status, 200)
    state.down = true
    clock.advance(660_000)
    assert.equal((await ask(token())).status, 200)
    clock.advance(3_600_000)
    assert.equal((await ask(token())).status, 503)
  })

  it('refuses metadata of another issuer (RFC 8414 §3.3)', async () => {
    const { issuer, token } = await issuerApp()
    const { ask } = await api({ issuer: issuer.replace('127.0.0.1', 'localhost') })
    assert.equal((await ask(token(a, { iss: issuer.replace('127.0.0.1', 'localhost') }))).status, 503)
  })
})
