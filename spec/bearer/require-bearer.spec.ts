import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import express from 'express'
import { type BearerOptions, requireBearer, type Session, sessionOf } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { serve } from '../support/serve'

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
