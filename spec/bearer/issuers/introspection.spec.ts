import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import express from 'express'
import { sign } from 'jsonwebtoken'
import { requireStepUp, requireBearer, type BearerOptions, type DenialError } from '../../../lib/index'
import { TOKEN_TABLE, claimPolicy } from '../../../lib/bearer/claims/claim-options'
import { readOptions } from '../../../lib/http/option-table'
import { introspecting } from '../../../lib/bearer/issuers/introspection'
import { manualClock } from '../../../lib/testing/index'
import { keyPair, serveIssuer } from '../../support/issuer'
import { serve } from '../../support/serve'
import { atLeast, until } from '../../support/until'
import { apiOf } from '../api'

const issuer = 'https://as.test'
const audience = 'api'

/** An introspection endpoint that answers as it is told, and an API that asks it. */
async function opaque(more: object = {}, introspection: object = {}) {
  const asked: { authorization: string | undefined; type: string | undefined; body: string }[] = []
  const state = {
    arrived: 0,
    gate: Promise.resolve(),
    answer: { active: true, aud: 'api', sub: 'ada', client_id: 'tree', scope: 'read' } as unknown,
    status: 200,
    statusOf: undefined as ((body: string) => number) | undefined,
  }
  const endpoint = await serve((req, res) => {
    let body = ''
    req.on('data', (chunk: Buffer) => (body += chunk.toString()))
    req.on('end', () => {
      asked.push({ authorization: req.headers.authorization, type: req.headers['content-type'], body })
      void state.gate.then(() =>
        res.writeHead(state.statusOf?.(body) ?? state.status).end(JSON.stringify(state.answer)),
      )
    })
  })
  const clock = manualClock(1_800_000_000_000)
  const denials: DenialError[] = []
  const options = {
    issuer,
    audience,
    clock,
    introspection: { endpoint: endpoint.url, clientId: 'api:1', clientSecret: 'p w', ...introspection },
    onDenied: noting(denials),
    ...more,
  } as BearerOptions
  const app = express().use((_req, _res, next) => (state.arrived++, next()))
  const bearer = requireBearer(options)
  app.use(bearer, (req, res) => void res.json(req.auth))
  const { url } = await serve(app)
  const ask = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } })
  return { state, asked, clock, ask, bearer, denials, endpoint: endpoint.url }
}

function noting(denials: DenialError[]): BearerOptions['onDenied'] {
  return (err, _req, res) => {
    denials.push(err)
    res.set(err.headers).status(err.status).end()
  }
}

describe('requireBearer({ introspection }) (RFC 7662)', () => {
  it('asks with the token and its own credentials, form-encoded (§2.1, RFC 6749 §2.3.1)', async () => {
    const { asked, ask } = await opaque()
    const answer = await ask('a+b/c~1')
    const { kind, sub, clientId, scope, issuer: iss } = (await answer.json()) as Record<string, unknown>
    assert.deepEqual(
      { kind, sub, clientId, scope, iss },
      { kind: 'user', sub: 'ada', clientId: 'tree', scope: ['read'], iss: issuer },
    )
    const [{ authorization = '', type, body } = { type: '', body: '' }] = asked
    assert.equal(type, 'application/x-www-form-urlencoded')
    assert.equal(Buffer.from(authorization.slice(6), 'base64').toString(), 'api%3A1:p+w')
    assert.deepEqual(Object.fromEntries(new URLSearchParams(body)), {
      token: 'a+b/c~1',
      token_type_hint: 'access_token',
    })
  })

  it('takes active: true only (§2.2)', async () => {
    for (const [active, status] of [
      [true, 200],
      [false, 401],
      ['true', 503],
      [1, 503],
      [undefined, 503],
      [null, 503],
    ] as const) {
      const { state, ask, denials, endpoint } = await opaque()
      state.answer = { active, aud: audience, sub: 'ada' }
      assert.equal((await ask('t')).status, status, String(active))
      if (status === 401) assert.equal(denials[0]?.reason, 'inactive')
      if (status !== 503) continue
      assert.equal(denials[0]?.reason, 'introspection_unavailable')
      assert.equal(String(denials[0]?.cause), `Error: ${endpoint} does not say whether it is active`)
    }
  })

  it('checks what else the answer says', async () => {
    const now = 1_800_000_000
    for (const [claims, status] of [
      [{ iss: issuer, aud: [audience], exp: now + 1 }, 200],
      [{ iss: 'https://other.test' }, 401],
      [{ aud: undefined }, 401],
      [{ sub: 'crawler', client_id: 'crawler' }, 200],
      [{ sub: undefined, client_id: 'crawler', username: 'ada' }, 401],
      [{ events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }, 401],
      [{ exp: now - 10 }, 401],
      [{ exp: 'never' }, 401],
      [{ nbf: now + 60 }, 401],
      [{ cnf: { jkt: 'x' } }, 401],
      [{ token_use: 'refresh_token' }, 401],
      [{ session_kind: 'unauthenticated', sub: 'tree' }, 403],
    ] as const) {
      const { state, ask } = await opaque()
      state.answer = { active: true, aud: audience, sub: 'ada', client_id: 'tree', ...claims }
      assert.equal((await ask('t')).status, status, JSON.stringify(claims))
    }
  })

  it('remembers an answer for a short time, and checks the time for every request', async () => {
    const { state, asked, clock, ask } = await opaque({ clockToleranceSec: 0 }, { cacheSec: 30 })
    state.answer = { active: true, aud: audience, sub: 'ada', exp: 1_800_000_010 }
    assert.deepEqual([(await ask('t')).status, (await ask('t')).status, asked.length], [200, 200, 1])
    clock.advance(10_000)
    assert.deepEqual([(await ask('t')).status, asked.length], [401, 1])
    assert.deepEqual([(await ask('other')).status, asked.length], [401, 2])
    state.answer = { active: false }
    clock.advance(20_000)
    assert.deepEqual([(await ask('t')).status, asked.length], [401, 3])
    clock.setDate(clock.date() + 30_000) // the machine was suspended: only the date has gone on
    assert.deepEqual([(await ask('t')).status, asked.length], [401, 4])
  })

  it('keeps answers within a bound of bytes, and lets the least recently used go', async () => {
    const { asked, clock, endpoint } = await opaque()
    const policy = claimPolicy({ ...readOptions('issuer', {}, TOKEN_TABLE), issuer, audience }, {})
    const options = { endpoint, clientId: 'a', clientSecret: 'b', cacheSec: 30, cacheBytes: 1_000 }
    const verify = introspecting(options, { policy, clock, allowHttp: false })
    for (const token of ['a', 'b', 'a', 'b', 'c', 'b', 'c']) await verify(token)
    assert.equal(asked.length, 3)
    await verify('a')
    assert.equal(asked.length, 4)
  })

  it('is ready at once, as with verify or a key given: nothing is fetched', async () => {
    const { kid, jwk } = keyPair('a')
    for (const [source, keys] of [
      [{ introspection: { endpoint: 'https://as.test/introspect', clientId: 'a', clientSecret: 'b' } }, []],
      [{ verify: () => null }, []],
      [{ key: jwk as never }, [{ issuer, kid, algorithms: ['ES256'] }]],
    ] as const) {
      const bearer = requireBearer({ issuer, audience, ...source })
      for (const done of [bearer.ready(), bearer.reload()]) await done
      assert.deepEqual(bearer.keys(), keys)
    }
  })

  it('asks each time where nothing is to be remembered, and once for all who wait', async () => {
    const { state, asked, ask } = await opaque({}, { cacheSec: 0 })
    let open = () => {}
    state.gate = new Promise((resolve) => (open = resolve))
    const all = Promise.all([ask('t'), ask('t'), ask('t')])
    await until(() => state.arrived, 3)
    open()
    assert.deepEqual(
      (await all).map(({ status }) => status),
      [200, 200, 200],
    )
    assert.equal(asked.length, 1)
    await ask('t')
    assert.equal(asked.length, 2)
  })

  it('shares calls at once by the address that check() is given; those without one count as one', async () => {
    const { state, asked, bearer } = await opaque({}, { maxCalls: 4 })
    let open = () => {}
    state.gate = new Promise((resolve) => (open = resolve))
    const flood = Array.from({ length: 10 }, (_, i) => bearer.check(`made-up-${i}`, { ip: `198.51.100.${i}` }))
    await until(() => asked.length, 2) // a block has half
    const honest = [bearer.check('ada', { ip: '::ffff:203.0.113.9' }), bearer.check('grace')]
    await until(() => asked.length, 4)
    const tokens = asked.map(({ body }) => new URLSearchParams(body).get('token'))
    assert.deepEqual(tokens, ['made-up-0', 'made-up-1', 'ada', 'grace'])
    open()
    await Promise.all([...flood, ...honest])
    await assert.rejects(bearer.check('ada', { ip: 7 as never }), /ip must be a string/)
  })

  it('lets all users in whose tokens are new at once, as after a restart', async () => {
    const { state, asked, bearer } = await opaque({}, { maxCalls: 64 })
    let open = () => {}
    state.gate = new Promise((resolve) => (open = resolve))
    const users = Array.from({ length: 400 }, (_, i) => bearer.check(`t${i}`, { ip: `10.${i}.1.1` }))
    await until(() => asked.length, atLeast(60))
    open()
    await Promise.all(users)
    assert.equal(asked.length, 400)
  })

  it('answers an outage with 503, never with 401, and asks once a second meanwhile', async () => {
    const { state, asked, clock, ask } = await opaque()
    for (const status of [500, 401, 302]) {
      state.status = status
      clock.advance(1_000)
      const before = asked.length
      for (let i = 0; i < 5; i++) {
        const answer = await ask(`t${i}`)
        assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'])
      }
      assert.equal(asked.length, before + 2) // the first token, and a probe
    }
    state.status = 200
    clock.advance(1_000)
    assert.equal((await ask('t')).status, 200)
  })

  it('takes a failure for one token as that token’s: other requests are let in meanwhile', async () => {
    const { state, asked, ask, denials } = await opaque()
    for (const [status, refused, reason] of [
      [500, 503, 'introspection_unavailable'],
      [400, 401, 'inactive'],
    ] as const) {
      state.statusOf = (body) => (body.includes('evil') ? status : 200)
      for (let i = 0; i < 4; i++) {
        assert.deepEqual([(await ask(`evil${status}-${i}`)).status, denials.at(-1)?.reason], [refused, reason])
        assert.equal((await ask(`good${status}-${i}`)).status, 200)
      }
      const before = asked.length
      assert.equal((await ask(`evil${status}-0`)).status, refused)
      assert.equal(asked.length, before) // it is not asked about again at once
      await ask(`good${status}`)
      state.statusOf = undefined
    }
  })

  it('and for a second from its last answer, or probe, needs no other', async () => {
    const { state, asked, clock, ask } = await opaque()
    const probes = () => asked.filter(({ body }) => body.includes('express-tollgate-probe')).length
    const fails = async (token: string) => {
      assert.equal((await ask(token)).status, 503)
      return probes()
    }
    state.statusOf = (body) => (body.includes('evil') ? 500 : 200)
    await ask('good')
    assert.equal(await fails('evil1'), 0)
    clock.advance(999)
    assert.equal(await fails('evil2'), 0)
    clock.advance(1)
    assert.equal(await fails('evil3'), 1)
    clock.advance(999)
    assert.equal(await fails('evil4'), 1)
    clock.advance(1)
    assert.equal(await fails('evil5'), 2)
  })
})

describe('requireBearer({ issuers }) with introspection in one of them', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const other = 'https://other.test'
  const keyed = { issuer: other, audience, key: pair.publicKey }

  /** Asks an API for the issuer of a session, or the status where there is none. */
  async function issuersOf(options: BearerOptions) {
    const { ask } = await apiOf(options)
    return async (token: string) => {
      const answer = await ask(token)
      return answer.ok ? ((await answer.json()) as { issuer: string }).issuer : answer.status
    }
  }

  async function mixed(active: Record<string, object>, more: object = {}) {
    const asked: string[] = []
    const endpoint = await serve((req, res) => {
      let body = ''
      req.on('data', (chunk: Buffer) => (body += chunk.toString()))
      req.on('end', () => {
        const token = new URLSearchParams(body).get('token') as string
        asked.push(token)
        res.end(JSON.stringify(token in active ? { active: true, ...active[token] } : { active: false }))
      })
    })
    const introspection = { endpoint: endpoint.url, clientId: 'api', clientSecret: 's' }
    const options = { issuers: [keyed, { issuer, audience, introspection, ...more }] }
    return { ask: await issuersOf(options), asked }
  }

  const jwt = (claims: object) =>
    sign({ aud: audience, sub: 'ada', exp: 4_102_444_800, ...claims }, pair.privateKey, { algorithm: 'ES256' })

  it('asks about opaque tokens, and about JWTs of the issuer that is asked; never about those of another', async () => {
    const [own, lightweight, stray] = [jwt({ iss: other }), jwt({ iss: issuer, aud: undefined }), jwt({ iss: 'x' })]
    const { ask, asked } = await mixed({
      opaque: { aud: audience, sub: 'ada' },
      [lightweight]: { aud: audience, sub: 'ada' },
    })
    assert.equal(await ask(own), other)
    assert.equal(await ask(jwt({ iss: other, aud: 'no' })), 401)
    assert.equal(await ask(jwt({ iss: other, aud: issuer })), 401)
    assert.equal(await ask(stray), 401)
    assert.equal(await ask(jwt({ iss: other, exp: 1 })), 401)
    assert.deepEqual(asked, [])
    assert.equal(await ask('opaque'), issuer)
    assert.equal(await ask(lightweight), issuer)
    assert.equal(await ask('unknown'), 401)
    assert.deepEqual(asked, ['opaque', lightweight, 'unknown'])
  })

  it('asks with a fetch of the app, and goes by the rules of that issuer', async () => {
    const urls: string[] = []
    const own = (url: string, init?: RequestInit) => (urls.push(url), fetch(url, init))
    const { ask } = await mixed(
      { opaque: { sub: 'ada' } },
      { fetch: own as typeof fetch, audience: { checkedBy: 'introspection' } },
    )
    assert.equal(await ask('opaque'), issuer)
    assert.equal(urls.length, 1)
    const strict = await mixed({ opaque: { sub: 'ada' } })
    assert.equal(await strict.ask('opaque'), 401)
  })

  it('has the largest tolerance of all of them, for what is no claim of one', async () => {
    const nowSec = 1_800_000_000
    const introspection = { endpoint: 'https://as.test/introspect', clientId: 'a', clientSecret: 'b' }
    for (const [tolerances, late] of [
      [[5, 60], 200],
      [[60, 5], 200],
      [[5, 5], 401],
    ] as const) {
      const issuers = [
        { ...keyed, clockToleranceSec: tolerances[0] },
        { issuer, audience, introspection, clockToleranceSec: tolerances[1] },
      ]
      const recent = requireStepUp({ maxAgeSec: 0 })
      const app = express().use(requireBearer({ issuers, clock: manualClock(nowSec * 1_000) }), recent)
      const { url } = await serve(app.use((_req, res) => void res.end()))
      const token = jwt({ iss: other, auth_time: nowSec - 60 })
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      assert.equal(answer.status, late, String(tolerances))
    }
  })

  it('is ready when the keys of the others are, and knows these', async () => {
    const introspection = { endpoint: 'https://as.test/introspect', clientId: 'a', clientSecret: 'b' }
    const bearer = requireBearer({ issuers: [keyed, { issuer, audience, introspection }] })
    assert.deepEqual(
      bearer.keys().map((key) => key.issuer),
      [other],
    )
    const a = keyPair('a')
    const served = await serveIssuer(a)
    const both = requireBearer({
      issuers: [
        { issuer: served.issuer, audience },
        { issuer, audience, introspection },
      ],
    })
    await both.ready()
    assert.deepEqual(
      both.keys().map(({ kid }) => kid),
      ['a'],
    )
    served.state.fetches.length = 0
    await both.reload()
    assert.deepEqual(served.state.fetches, ['/keys'])
  })

  it('take a function of the app in the place of an endpoint', async () => {
    const seen: string[] = []
    const verify = (token: string) => (
      seen.push(token),
      token === 'api-key' ? { sub: 'ada', aud: audience } : undefined
    )
    const issuers = [keyed, { issuer, audience, verify }]
    const ask = await issuersOf({ issuers })
    assert.deepEqual([await ask('api-key'), await ask('other')], [issuer, 401])
    assert.deepEqual(seen, ['api-key', 'other'])
  })
})

describe('requireBearer({ verify })', () => {
  const denials: DenialError[] = []

  async function asking(verify: (token: string) => unknown, more: object = {}) {
    denials.length = 0
    const options = { issuer, audience, verify, onDenied: noting(denials), ...more } as BearerOptions
    return (await apiOf(options)).ask
  }

  it('takes the claims that the function finds, as a copy', async () => {
    const own = { aud: audience, sub: 'ada', scope: 'read', list: [1], exp: 4_102_444_800 }
    const ask = await asking((token) => (token === 'good' ? Promise.resolve(own) : undefined))
    const answer = (await (await ask('good')).json()) as { userId: string }
    assert.equal(answer.userId, 'ada')
    own.list.push(2)
    assert.equal((await ask('bad')).status, 401)
    assert.equal(denials[0]?.reason, 'inactive')
    assert.equal((await (await asking(() => null))('x')).status, 401)
  })

  it('shows functions of the app a header without facts, as there is none', async () => {
    const told: unknown[] = []
    const checkClaims: BearerOptions['checkClaims'] = (_claims, { header }) => told.push(header) === 1
    const session: BearerOptions['session'] = ({ sub }, { header }) => {
      told.push(header)
      return { kind: 'client', clientId: String(sub) }
    }
    const checked = await asking(() => ({ sub: 'ada', aud: audience }), { checkClaims })
    assert.equal((await checked('t')).status, 200)
    const read = await asking(() => ({ sub: 'ada', aud: audience }), { session })
    assert.equal((await read('t')).status, 200)
    assert.deepEqual(told, [{}, {}])
  })

  it('finds the issuer and the audience in the environment too', async () => {
    Object.assign(process.env, { ISSUER_BASE_URL: issuer, AUDIENCE: audience })
    const asked = asking(() => ({ sub: 'ada', aud: audience, iss: issuer }), { issuer: undefined, audience: undefined })
    delete process.env.ISSUER_BASE_URL
    delete process.env.AUDIENCE
    assert.equal((await (await asked)('t')).status, 200)
  })

  it('takes claims without aud only where the options say that the function checks whom the token is for', async () => {
    assert.equal((await (await asking(() => ({ sub: 'ada' })))('t')).status, 401)
    assert.equal(denials[0]?.reason, 'audience')
    assert.equal((await (await asking(() => ({ sub: 'ada' }), { audience: { checkedBy: 'verify' } }))('t')).status, 200)
  })

  it('answers 503 where it throws, or answers with what are no claims', async () => {
    const failing: [() => unknown, RegExp][] = [
      [() => Promise.reject(new Error('down')), /^Error: down$/],
      [() => true, /TypeError: the option verify answered with something else than claims/],
      [() => ['a'], /something else than claims/],
      [() => 'claims', /something else than claims/],
      [() => () => 1, /./], // what JSON has no word for
    ]
    for (const [verify, cause] of failing) {
      const answer = await (await asking(verify))('t')
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'])
      assert.equal(denials[0]?.reason, 'verify_unavailable')
      assert.match(String(denials[0]?.cause), cause)
    }
  })
})
