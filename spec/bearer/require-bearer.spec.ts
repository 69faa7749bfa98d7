import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import express from 'express'
import { sign } from 'jsonwebtoken'
import { type BearerOptions, requireBearer, type Session, sessionOf } from '../../lib'
import { devIssuer, manualClock } from '../../lib/testing'
import { serve } from '../support/serve'
import { generateKeys } from '../support/generate-keys'

const dev = devIssuer()

/** An app that answers with whose session it saw. */
async function protectedApp(options: Partial<BearerOptions> = {}) {
  const app = express()
  app.use(requireBearer({ ...dev.options, ...options }))
  app.use((req, res) => void res.json({ ...req.auth }))
  return serve(app)
}

function get(url: string, authorization?: string) {
  return fetch(url, { headers: authorization === undefined ? {} : { authorization } })
}

describe('requireBearer() answers as RFC 6750 §3 has it', () => {
  it('without credentials: 401 and a bare challenge (§3.1)', async () => {
    const { url } = await protectedApp()
    for (const authorization of [undefined, 'Basic dXNlcjpwYXNz', 'Digest Bearer', 'Bearerish abc', '']) {
      const answer = await get(url, authorization)
      assert.equal(answer.status, 401)
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
      assert.match(answer.headers.get('x-processing-time') ?? '', /^\d+$/)
    }
  })

  it('credentials that are no b64token: 400 invalid_request (§2.1, §3.1)', async () => {
    const { url } = await protectedApp()
    const token = dev.token('ada')
    for (const authorization of ['Bearer\ta', `Bearer/${token}`]) {
      const answer = await get(url, authorization)
      assert.equal(answer.status, 400, authorization)
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_request"/)
    }
  })
})

describe('requireBearer() says in req.auth whose session it is', () => {
  async function recordedSession(token: string) {
    const answer = await get((await protectedApp()).url, `Bearer ${token}`)
    return { status: answer.status, session: answer.status === 200 ? ((await answer.json()) as Session) : undefined }
  }

  it("a user's", async () => {
    const { session } = await recordedSession(dev.token('ada', { clientId: 'tree', scope: 'read write' }))
    const { claims, ...rest } = session as Session
    const { issuer } = dev
    assert.deepEqual(rest, {
      kind: 'user',
      issuer,
      sub: 'ada',
      userId: 'ada',
      clientId: 'tree',
      scope: ['read', 'write'],
    })
    assert.equal(claims.sub, 'ada')
  })

  it("a client's, where sub equals client_id (RFC 9068 §2.2)", async () => {
    const { session } = await recordedSession(dev.token('robot', { kind: 'client' }))
    assert.equal(session?.kind, 'client')
    assert.equal(session?.clientId, 'robot')
    assert.ok(!('userId' in (session as object)))
  })

  it('read-only all the way down, with a token that no log takes along', async () => {
    const app = express()
    app.use(requireBearer(dev.options))
    app.use((req, res) => {
      assert.throws(() => Object.assign(sessionOf(req), { kind: 'client' }), TypeError)
      assert.throws(() => Object.assign(sessionOf(req).claims, { sub: 'eve' }), TypeError)
      assert.throws(() => (sessionOf(req).claims.deep as { list: string[] }).list.push('x'), TypeError)
      assert.throws(() => (sessionOf(req).scope as string[]).push('admin'), TypeError)
      assert.ok(!JSON.stringify(req.auth).includes(sessionOf(req).token))
      res.send(sessionOf(req).token)
    })
    const { url } = await serve(app)
    const token = dev.token('ada', { claims: { deep: { list: [] } } })
    const answer = await get(url, `Bearer ${token}`)
    assert.equal(await answer.text(), token)
  })

  it('takes no sub with a lone surrogate, nor one that is too long or the text of no value', async () => {
    const { url } = await serve(express().use(requireBearer(dev.options), (_req, res) => void res.end()))
    for (const [sub, status] of [
      ['ada', 200],
      ['\u{1f333}', 200],
      ['\ud83c', 401],
      ['a\udf33b', 401],
      ['undefined', 401],
      ['null', 401],
      ['a'.repeat(1_024), 200],
      ['a'.repeat(1_025), 401],
    ] as const) {
      assert.equal((await get(url, `Bearer ${dev.token(sub)}`)).status, status, inspect(sub))
    }
  })

  it('refuses marks that contradict one another, and a user without sub', async () => {
    for (const claims of [
      { session_kind: 'unauthenticated' },
      { sub: 'dev-app', session_kind: 'user' },
      { session_kind: 'superuser' },
      { session_kind: ['client'] },
      { sub: undefined },
      { client_id: 7 },
    ]) {
      assert.equal((await recordedSession(dev.token('ada', { claims }))).status, 401, JSON.stringify(claims))
    }
  })
})

describe('requireBearer() refuses an unauthenticated session', () => {
  it('by a mark of the issuer’s own', async () => {
    const unauthenticated = { claim: 'anonymous', value: true }
    const { url } = await protectedApp({ unauthenticated })
    const token = dev.token('app', { kind: 'client', claims: { anonymous: true } })
    assert.equal((await get(url, `Bearer ${token}`)).status, 403)
    assert.equal((await get(url, `Bearer ${dev.token('app', { kind: 'client' })}`)).status, 200)
  })
})

describe('requireBearer() takes keys of every form', () => {
  const { privateKey, publicKey } = generateKeys('rsa')
  const base = { issuer: 'https://as.test', audience: 'api' }
  const claims = { iss: 'https://as.test', aud: 'api', sub: 'ada', exp: 4_102_444_800 }
  const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string
  const jwk = publicKey.export({ format: 'jwk' }) as { kty: string }

  async function statusOf(options: BearerOptions, token: string): Promise<number> {
    const app = express().use(requireBearer(options), (_req, res) => void res.end())
    return (await get((await serve(app)).url, `Bearer ${token}`)).status
  }

  it('KeyObject, PEM and JWK, each pinned to one algorithm', async () => {
    const token = sign(claims, privateKey, { algorithm: 'RS256', noTimestamp: true })
    for (const key of [publicKey, pem, jwk]) {
      assert.equal(await statusOf({ ...base, key }, token), 200)
      assert.equal(await statusOf({ ...base, key, algorithms: ['PS256'] }, token), 401)
    }
    const pinned = { ...jwk, alg: 'PS256' }
    assert.equal(await statusOf({ ...base, key: pinned }, token), 401)
    assert.equal(await statusOf({ ...base, key: pinned }, sign(claims, privateKey, { algorithm: 'PS256' })), 200)
  })

  it('a shared secret, for one algorithm', async () => {
    const secret = 's'.repeat(64)
    assert.equal(await statusOf({ ...base, secret }, sign(claims, secret, { algorithm: 'HS256' })), 200)
    assert.equal(await statusOf({ ...base, secret }, sign(claims, secret, { algorithm: 'HS512' })), 401)
    assert.equal(
      await statusOf({ ...base, secret, algorithms: ['HS512'] }, sign(claims, secret, { algorithm: 'HS512' })),
      200,
    )
  })
})

describe('requireBearer() checks the claims itself', () => {
  const at = 1_800_000_000
  const clock = manualClock(at * 1_000)
  const issuer = devIssuer({ date: () => clock.date() })

  async function status(claims: Record<string, unknown>, options: Partial<BearerOptions> = {}) {
    const app = express().use(
      requireBearer({ ...issuer.options, clock, clockToleranceSec: 0, ...options }),
      (_req, res) => void res.end(),
    )
    return (await get((await serve(app)).url, `Bearer ${issuer.token('ada', { claims })}`)).status
  }

  it('exp, nbf and iat, to the second and within the tolerance (RFC 7519 §4.1)', async () => {
    assert.equal(await status({ exp: at }), 401)
    assert.equal(await status({ exp: at + 1 }), 200)
    assert.equal(await status({ exp: at - 9 }, { clockToleranceSec: 10 }), 200)
    assert.equal(await status({ exp: at - 10 }, { clockToleranceSec: 10 }), 401)
    assert.equal(await status({ nbf: at }), 200)
    assert.equal(await status({ nbf: at + 1 }), 401)
    assert.equal(await status({ nbf: at + 10 }, { clockToleranceSec: 10 }), 200)
    assert.equal(await status({ iat: at - 60 }, { maxTokenAgeSec: 60 }), 200)
    assert.equal(await status({ iat: at - 61 }, { maxTokenAgeSec: 60 }), 401)
    assert.equal(await status({ iat: undefined }, { maxTokenAgeSec: 60 }), 401)
    assert.equal(await status({ iat: at + 1 }, { maxTokenAgeSec: 60 }), 401)
    assert.equal(await status({ iat: at + 10 }, { clockToleranceSec: 10, maxTokenAgeSec: 60 }), 200)
  })
})
