import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { requireStepUp, requireBearer, requireScope, type BearerOptions, type Dialect } from '../../lib'
import { devIssuer, manualClock, type DevTokenOptions } from '../../lib/testing'
import { serve } from '../support/serve'
import { assertIs, below, above } from '../support/until'

const dev = devIssuer()
const ok: RequestHandler = (req, res) =>
  void res.json({ kind: (req.auth as { kind?: string } | undefined)?.kind ?? null })
const shown: ErrorRequestHandler = (err: Error, _req, res, _next) => void res.status(500).send(err.message)

async function asking(options: Partial<BearerOptions>, ...handlers: RequestHandler[]) {
  const app = express().use(requireBearer({ ...dev.options, ...options }), ...handlers, ok)
  const { url } = await serve(app.use(shown))
  return (token?: DevTokenOptions | string) => {
    const authorization = typeof token === 'string' ? token : token && `Bearer ${dev.token('ada', token)}`
    return fetch(url, authorization === undefined ? {} : { headers: { authorization } })
  }
}

describe('requireBearer({ scope })', () => {
  it('takes all of a list, or any one', async () => {
    for (const scope of ['a b', ['a', 'b']]) {
      const all = await asking({ scope })
      assert.deepEqual([(await all({ scope: 'a' })).status, (await all({ scope: 'b a' })).status], [403, 200])
    }
    const any = await asking({ scope: { any: ['a', 'b'] } })
    assert.deepEqual([(await any({ scope: 'c' })).status, (await any({ scope: 'b' })).status], [403, 200])
    assert.match((await any({})).headers.get('www-authenticate') ?? '', /scope="a b"$/)
  })
})

describe('requireBearer({ acr }) and requireStepUp({ acr }) (RFC 9470 §3)', () => {
  it('asks for a login of the class named, also where the token is known', async () => {
    const one = await asking({ acr: 'mfa' })
    const known = { claims: { acr: 'mfa', jti: '1' } }
    assert.deepEqual([(await one(known)).status, (await one(known)).status], [200, 200])
    for (const any of [
      await asking({ acr: ['mfa', 'hwk'], scope: 'a' }),
      await asking({ scope: 'a' }, requireStepUp({ acr: ['mfa', 'hwk'] })),
    ]) {
      assert.equal((await any({ scope: 'a', claims: { acr: 'hwk' } })).status, 200)
      for (const acr of [undefined, 'pwd', ['mfa'], '', 1, 'mfa hwk']) {
        const answer = await any({ scope: 'a', claims: { acr } })
        const challenge = /^Bearer error="insufficient_user_authentication", error_.*"[^"]+", .*acr_values="mfa hwk"$/
        assert.equal(answer.status, 401, String(acr))
        assert.match(answer.headers.get('www-authenticate') ?? '', challenge)
      }
      assert.equal((await any({ claims: { acr: 'pwd' } })).status, 403, 'a scope that is missing comes first')
    }
  })
})

describe('requireBearer({ typ })', () => {
  it('takes access tokens only, with typ', async () => {
    const { default: jsonwebtoken } = await import('jsonwebtoken')
    const secret = 's'.repeat(32)
    const claims = { iss: dev.issuer, aud: dev.audience, sub: 'ada', exp: 4_102_444_800 }
    const strict = await asking({ key: undefined, secret, typ: 'at+jwt' })
    const lax = await asking({ key: undefined, secret, typ: undefined })
    for (const [typ, strictly, laxly] of [
      ['at+jwt', 200, 200],
      ['application/AT+JWT', 200, 200],
      ['JWT', 401, 200],
      [undefined, 401, 200],
      ['dpop+jwt', 401, 401],
      ['logout+jwt', 401, 401],
      ['', 401, 401],
    ] as const) {
      const token = `Bearer ${jsonwebtoken.sign(claims, secret, { header: { alg: 'HS256', typ } })}`
      assert.deepEqual([(await strict(token)).status, (await lax(token)).status], [strictly, laxly], typ)
    }
  })
})

describe('requireBearer() without maxTokenLength', () => {
  const groups = (count: number) => ({ claims: { groups: Array.from({ length: count }, () => 'g'.repeat(36)) } })

  it('takes tokens as long as Node takes header fields, such as one with 200 groups', async () => {
    const ask = await asking({})
    const token = dev.token('ada', groups(200))
    assertIs(token.length, above(10_000))
    assertIs(token.length, below(16_000))
    assert.equal((await ask(`Bearer ${token}`)).status, 200)
  })
})

describe('requireBearer({ optional: true })', () => {
  it('lets in a request without a token, and refuses a bad one', async () => {
    const ask = await asking({ optional: true })
    assert.deepEqual(await (await ask()).json(), { kind: null })
    assert.deepEqual(await (await ask({})).json(), { kind: 'user' })
    assert.equal((await ask('Basic abc')).status, 200)
    assert.equal((await ask('Bearer abc')).status, 401)
    assert.equal((await ask('Bearer')).status, 400)
    assert.equal((await ask({ expiresInSec: -60 })).status, 401)
    assert.equal((await ask({ kind: 'unauthenticated' })).status, 403)
    const { url } = await serve(express().use(requireBearer({ ...dev.options, optional: true }), ok))
    for (const method of ['OPTIONS', 'HEAD', 'POST'])
      assert.equal((await fetch(url, { method, headers: { authorization: 'Bearer bad' } })).status, 401, method)
  })

  it('leaves nobody else’s req.auth standing', async () => {
    const app = express().use((req, _res, next) => (Object.assign(req, { auth: { kind: 'user' } }), next()))
    const { url } = await serve(app.use(requireBearer({ ...dev.options, optional: true }), ok))
    assert.deepEqual(await (await fetch(url)).json(), { kind: null })
  })

  it('and requireScope() then asks for a token', async () => {
    const ask = await asking({ optional: true }, requireScope('read'))
    const answer = await ask()
    assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer scope="read"'])
  })
})

describe('requireStepUp() (RFC 9470)', () => {
  const at = 1_800_000_000
  const clock = manualClock(at * 1_000)
  const times = { exp: at + 60, iat: at }

  it('asks for a login that is at most maxAgeSec old', async () => {
    const ask = await asking({ clock, clockToleranceSec: 0 }, requireStepUp({ maxAgeSec: 300 }))
    assert.equal((await ask({ claims: { ...times, auth_time: at - 300 } })).status, 200)
    for (const auth_time of [at - 301, undefined, String(at), at + 1, null]) {
      const answer = await ask({ claims: { ...times, auth_time } })
      assert.equal(answer.status, 401)
      assert.match(answer.headers.get('www-authenticate') ?? '', /, max_age="300"$/)
    }
  })

  it('where the clocks of two machines may differ by clockToleranceSec', async () => {
    const ask = await asking({ clock, clockToleranceSec: 5 }, requireStepUp({ maxAgeSec: 300 }))
    const status = async (auth_time: number) => (await ask({ claims: { ...times, auth_time } })).status
    assert.deepEqual([await status(at - 305), await status(at - 306)], [200, 401])
    assert.deepEqual([await status(at + 5), await status(at + 6)], [200, 401])
  })

  it('says so where no requireBearer() stands before it', async () => {
    const { url } = await serve(express().use(requireStepUp({ maxAgeSec: 1 }), ok, shown))
    assert.match(await (await fetch(url)).text(), /must stand after requireBearer\(\)/)
  })

  it('asks for a token where there is none', async () => {
    const ask = await asking({ optional: true }, requireStepUp({ maxAgeSec: 300 }))
    assert.equal((await ask()).headers.get('www-authenticate'), 'Bearer')
  })
})

describe('the option dialect of a route', () => {
  const routes = {
    'requireScope(…)': (dialect?: Dialect) => requireScope('write', { dialect }),
    'requireScope({ any })': (dialect?: Dialect) => requireScope({ any: ['write'], dialect }),
    'requireStepUp()': (dialect?: Dialect) => requireStepUp({ acr: 'mfa', dialect }),
  }
  for (const [title, route] of Object.entries(routes)) {
    it(`decides the format of ${title} alone, else that of requireBearer() does`, async () => {
      const type = async (of: Dialect, dialect?: Dialect) =>
        (await (await asking({ dialect: of }, route(dialect)))({})).headers.get('content-type')
      assert.equal(await type('familysearch', 'standard'), 'application/json')
      assert.equal(await type('standard', 'familysearch'), 'application/x-fs-v1+xml')
      assert.equal(await type('standard'), 'application/json')
    })
  }
})
