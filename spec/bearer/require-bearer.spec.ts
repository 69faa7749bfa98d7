import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import express from 'express'
import { sign } from 'jsonwebtoken'
import {
  type BearerOptions,
  type DenialError,
  requireBearer,
  type Session,
  type ReadSession,
  sessionOf,
} from '../../lib'
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

/** The parameters of the only challenge of an answer, read back as RFC 9110 §11.6.1 writes them. */
function challengeOf(answer: Response): Record<string, string> {
  const field = answer.headers.get('www-authenticate') ?? assert.fail('no challenge')
  assert.match(
    field,
    /^Bearer(?: [a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]*"(?:, [a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]*")*)?$/,
  )
  return Object.fromEntries(
    [...field.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  )
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
    for (const authorization of [
      'Bearer',
      'Bearer a b',
      `Bearer ${token}, Bearer ${token}`,
      'Bearer t="x"',
      'Bearer\ta',
      `Bearer/${token}`,
    ]) {
      const answer = await get(url, authorization)
      assert.equal(answer.status, 400, authorization)
      assert.equal(challengeOf(answer).error, 'invalid_request')
    }
  })

  it('short of scope: 403 insufficient_scope that names the scope', async () => {
    const { url } = await protectedApp({ scope: 'read write', realm: 'tree' })
    const answer = await get(url, `Bearer ${dev.token('ada', { scope: 'read' })}`)
    assert.equal(answer.status, 403)
    const { error, scope, realm } = challengeOf(answer)
    assert.deepEqual({ error, scope, realm }, { error: 'insufficient_scope', scope: 'read write', realm: 'tree' })
    assert.equal((await get(url, `Bearer ${dev.token('ada', { scope: 'write x read' })}`)).status, 200)
  })
})

describe('requireBearer() says in req.auth whose session it is', () => {
  async function recordedSession(token: string, options: Partial<BearerOptions> = {}) {
    const answer = await get((await protectedApp(options)).url, `Bearer ${token}`)
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

  it('as the option session has it, and refuses where that throws or returns no session', async () => {
    const token = dev.token('ada', { claims: { person: 'P-1' } })
    const session = (claims: Session['claims']) => ({ kind: 'user', userId: String(claims.person) }) as const
    assert.equal((await recordedSession(token, { session })).session?.kind, 'user')
    assert.deepEqual(
      await recordedSession(token, {
        session() {
          throw new Error('no')
        },
      }),
      { status: 401, session: undefined },
    )
    assert.equal((await recordedSession(token, { session: () => ({ kind: 'admin' }) as never })).status, 401)
  })

  it('names no user or client by what is not there', async () => {
    const denied: (string | undefined)[] = []
    for (const named of [undefined, null, '', NaN, '\ud800', 'a\udc00']) {
      for (const identity of [
        { kind: 'user', userId: named },
        { kind: 'user', userId: String(named) },
        { kind: 'client', clientId: named },
        { kind: 'unauthenticated', clientId: String(named) },
      ]) {
        const session = () => identity as ReturnType<ReadSession>
        const onDenied: BearerOptions['onDenied'] = (err, _req, res) => {
          denied.push(err.reason)
          res.status(err.status).end()
        }
        const { url } = await serve(express().use(requireBearer({ ...dev.options, session, onDenied })))
        assert.equal((await get(url, `Bearer ${dev.token('ada')}`)).status, 401, inspect(identity))
      }
    }
    assert.deepEqual(new Set(denied), new Set(['subject', 'client']))
  })

  it('takes no sub with a lone surrogate, nor one that is the text of no value', async () => {
    const { url } = await serve(express().use(requireBearer(dev.options), (_req, res) => void res.end()))
    for (const [sub, status] of [
      ['ada', 200],
      ['\u{1f333}', 200],
      ['\ud83c', 401],
      ['a\udf33b', 401],
      ['undefined', 401],
      ['null', 401],
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
  it('everywhere, with 403 insufficient_scope, by its mark only', async () => {
    const { url } = await protectedApp()
    const answer = await get(url, `Bearer ${dev.token('app', { kind: 'unauthenticated' })}`)
    assert.equal(answer.status, 403)
    assert.equal(challengeOf(answer).error, 'insufficient_scope')
  })

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

  it('a JWK without alg, for every algorithm that it fits', async () => {
    for (const algorithm of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const) {
      assert.equal(await statusOf({ ...base, key: jwk }, sign(claims, privateKey, { algorithm })), 200, algorithm)
    }
    assert.equal(
      await statusOf({ ...base, key: { ...jwk, alg: 'RS256' } }, sign(claims, privateKey, { algorithm: 'RS384' })),
      401,
    )
  })

  it('several keys, told apart by kid, and a token by its kid only', async () => {
    const keys = [{ ...jwk, kid: 'a' }, dev.options.key]
    const by = (keyid: string) => sign(claims, privateKey, { algorithm: 'RS256', keyid })
    assert.equal(await statusOf({ ...base, keys }, by('a')), 200)
    assert.equal(await statusOf({ ...base, keys }, by('b')), 401)
    assert.equal(await statusOf({ ...base, keys }, by(dev.options.key.kid as string)), 401)
    assert.equal(await statusOf({ ...base, keys }, sign(claims, privateKey, { algorithm: 'RS256' })), 200)
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

  it('and never a public key as a shared secret', async () => {
    const header = Buffer.from('{"alg":"HS256"}').toString('base64url')
    const token = sign(claims, pem, { algorithm: 'HS256', allowInsecureKeySizes: true })
    assert.ok(token.startsWith(header.slice(0, 10)))
    assert.equal(await statusOf({ ...base, key: pem }, token), 401)
  })
})

describe('requireBearer().ready()', () => {
  it('tells whether tokens can be checked', async () => {
    await requireBearer(dev.options).ready()
    const { issuer, audience } = dev
    const closed = { issuer, audience, jwksUri: 'http://127.0.0.1:1/keys', allowHttp: true }
    await assert.rejects(requireBearer(closed).ready())
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
  })

  it('every claim of a wrong type is wrong', async () => {
    for (const claims of [
      { exp: undefined },
      { exp: '4102444800' },
      { exp: 1e300 },
      { nbf: '0' },
      { iat: '0' },
      { exp: null },
      { aud: [] },
      { aud: ['https://api.test', 1] },
      { aud: undefined },
      { iss: ['https://dev-issuer.test'] },
      { sub: '' },
      { sub: 7 },
      { sub: 'a'.repeat(1_025) },
      { sub: 'a\u0000' },
      { jti: 1 },
      { cnf: { jkt: 'x' } },
    ]) {
      assert.equal(await status(claims), 401, JSON.stringify(claims))
    }
    assert.equal(await status({ aud: ['other', 'https://api.test'] }), 200)
    assert.equal(await status({ sub: 'a'.repeat(1_024) }), 200)
    assert.equal(await status({ iat: null }), 200, 'null is absent')
  })

  it('again while the server runs: what was good expires', async () => {
    const { url } = await protectedApp({ ...issuer.options, clock })
    const token = `Bearer ${issuer.token('ada', { expiresInSec: 60 })}`
    assert.equal((await get(url, token)).status, 200)
    clock.advance(64_999)
    assert.equal((await get(url, token)).status, 200)
    clock.advance(1)
    const answer = await get(url, token)
    assert.equal(answer.status, 401)
    assert.match(challengeOf(answer).error_description as string, /expired/)
  })
})

describe('requireBearer() hands denials to onDenied', () => {
  it('as http-errors with status, code, reason and headers', async () => {
    const seen: DenialError[] = []
    const app = express()
    app.use(requireBearer({ ...dev.options, onDenied: (err, _req, _res, next) => (seen.push(err), next(err)) }))
    app.use(
      ((err: DenialError, _req, res, _next) =>
        void res.status(418).json({ code: err.code })) as express.ErrorRequestHandler,
    )
    const { url } = await serve(app)
    assert.equal((await get(url, `Bearer ${dev.token('ada', { expiresInSec: -60 })}`)).status, 418)
    const { status, code, reason, headers, expose, name } = seen[0] as DenialError
    assert.deepEqual(
      { status, code, reason, expose, name },
      { status: 401, code: 'invalid_token', reason: 'expired', expose: true, name: 'UnauthorizedError' },
    )
    assert.match(headers['WWW-Authenticate'] ?? '', /^Bearer error="invalid_token"/)
  })

  it('and what onDenied throws goes to the error handler', async () => {
    const app = express()
    const onDenied = () => {
      throw new Error('in onDenied')
    }
    app.use(requireBearer({ ...dev.options, onDenied }))
    app.use(((err: Error, _req, res, _next) => void res.status(500).send(err.message)) as express.ErrorRequestHandler)
    const answer = await get((await serve(app)).url)
    assert.equal(await answer.text(), 'in onDenied')
  })
})
