import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import mocks from 'node-mocks-http'
import serverless from 'serverless-http'
import { type BearerOptions, requireBearer, requireScope } from '../../../lib'
import { devIssuer, manualClock } from '../../../lib/testing'
import { type Jws, readJws } from '../../../lib/bearer/credentials/jws'
import { serve } from '../../support/serve'
import { ath, keyHolder } from '../../oauth/key-holder'

const dev = devIssuer()
const [ada, bob] = [dev.token('ada'), dev.token('bob')]
const field = 'X-Forwarded-Access-Token'

async function api(tokenFrom: BearerOptions['tokenFrom'], more: Partial<BearerOptions> = {}) {
  const app = express().use(requireBearer({ ...dev.options, ...more, tokenFrom }))
  app.get('/', (req, res) => void res.end(req.auth?.sub ?? 'nobody'))
  const failed: express.ErrorRequestHandler = (err: Error, _req, res, _next) => void res.status(500).end(err.message)
  const { url, raw } = await serve(app.use(failed))
  const ask = async (headers: Record<string, string>, path = '/') => {
    const answer = await fetch(url + path, { headers })
    return [answer.status, answer.ok || answer.status === 500 ? await answer.text() : ''] as const
  }
  return { url, raw, ask }
}

describe('requireBearer({ tokenFrom: { header } })', () => {
  it('takes the token that a proxy puts into a field, with Bearer before it or without', async () => {
    const { ask } = await api({ header: field })
    assert.deepEqual(await ask({ [field]: ada }), [200, 'ada'])
    assert.deepEqual(await ask({ [field.toLowerCase()]: `Bearer ${ada}` }), [200, 'ada'])
    for (const value of ['', undefined])
      assert.equal((await ask(value === undefined ? {} : { [field]: value }))[0], 401)
    assert.equal((await ask({ [field]: dev.attack('claims-changed') }))[0], 401)
  })

  it('prefers the field to Authorization, and falls back to Authorization', async () => {
    const { ask } = await api([{ header: field }])
    assert.deepEqual(await ask({ [field]: ada, authorization: `Bearer ${bob}` }), [200, 'ada'])
    assert.deepEqual(await ask({ authorization: `Bearer ${bob}` }), [200, 'bob'])
    assert.equal((await ask({ [field]: 'x', authorization: `Bearer ${bob}` }))[0], 401)
  })

  it('refuses two such fields, malformed tokens, and tokens that are too long', async () => {
    const { ask, raw } = await api({ header: field }, { maxTokenLength: ada.length })
    const twice = `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${field}: ${ada}\r\n${field}: ${ada}\r\n\r\n`
    assert.match(await raw(twice), /^HTTP\/1.1 400 /)
    assert.equal((await ask({ [field]: 'a b' }))[0], 400)
    assert.equal((await ask({ [field]: `${ada}x` }))[0], 401)
    assert.equal((await ask({ [field]: 'Basic YTpi' }))[0], 400)
  })

  it('keeps the response out of shared caches, which know Authorization only', async () => {
    const { url } = await api({ header: field })
    const of = async (headers: Record<string, string>) => (await fetch(url, { headers })).headers.get('cache-control')
    assert.deepEqual([await of({ [field]: ada }), await of({ authorization: `Bearer ${ada}` })], ['private', null])
  })
})

describe('requireBearer({ tokenFrom: { cookie } })', () => {
  it('takes the token of a cookie, quoted or percent-encoded too', async () => {
    const { ask } = await api({ cookie: '__Host-token' })
    for (const value of [ada, `"${ada}"`, `Bearer%20${ada}`]) {
      assert.deepEqual(await ask({ cookie: `a=b; __Host-token=${value}; c` }), [200, 'ada'], value)
    }
    for (const cookie of ['', `token=${ada}`, `x__Host-token=${ada}`, `__Host-token`, '__Host-token=']) {
      assert.equal((await ask({ cookie }))[0], 401, cookie)
    }
    assert.equal((await ask({ cookie: '__Host-token=%E0%A4%A' }))[0], 400)
  })

  it('counts only without any other token', async () => {
    const { ask } = await api(['query', { cookie: 't' }])
    const cookie = `t=${ada}`
    assert.deepEqual(await ask({ cookie }), [200, 'ada'])
    assert.deepEqual(await ask({ cookie, authorization: `Bearer ${bob}` }), [200, 'bob'])
    assert.deepEqual(await ask({ cookie }, `/?access_token=${bob}`), [200, 'bob'])
    assert.deepEqual(await ask({ cookie, authorization: 'Basic YTpi' }), [200, 'ada'])
    assert.equal((await ask({ cookie, authorization: 'Bearer x' }))[0], 401)
  })

  it('refuses two cookies of one name: another site of the domain may have set one', async () => {
    const { ask } = await api({ cookie: 't' })
    assert.equal((await ask({ cookie: `t=${ada}; t=${bob}` }))[0], 400)
  })
})

describe('requireBearer({ tokenFrom: function })', () => {
  it('takes the token that it returns, or none', async () => {
    const { ask } = await api((req) => req.get('Sec-WebSocket-Protocol')?.split('bearer.')[1])
    assert.deepEqual(await ask({ 'sec-websocket-protocol': `v1, bearer.${ada}` }), [200, 'ada'])
    assert.equal((await ask({ 'sec-websocket-protocol': 'v1' }))[0], 401)
    for (const none of [null, undefined, '']) assert.equal((await (await api(() => none)).ask({}))[0], 401)
  })

  it('asks several in their order', async () => {
    const { ask } = await api([() => undefined, { header: 'X-Token' }, () => ada])
    assert.deepEqual(await ask({}), [200, 'ada'])
    assert.deepEqual(await ask({ 'X-Token': bob }), [200, 'bob'])
  })

  it("gives what it throws to Express's error handler, also beside optional", async () => {
    const broken = await api(
      () => {
        throw new Error('no session store')
      },
      { optional: true },
    )
    assert.deepEqual(await broken.ask({}), [500, 'no session store'])
    assert.deepEqual(await broken.ask({ authorization: `Bearer ${ada}` }), [500, 'no session store'])
  })

  it('answers 400 where a parser made something else than a text of what the client sent', async () => {
    for (const sent of [7, true, { x: ada }, [ada, bob], [7]]) {
      assert.equal((await (await api(() => sent as never)).ask({}))[0], 400, JSON.stringify(sent))
    }
    assert.equal((await (await api(() => false as never)).ask({}))[0], 401)
  })

  it('makes a TypeError of a function', async () => {
    const [status, text] = await (await api(() => (() => ada) as never)).ask({})
    assert.equal(status, 500)
    assert.match(text, /^tokenFrom must return the token as text, or undefined; it returned a function/)
  })
})

const bearer = `Bearer ${dev.token('ada', { scope: 'read' })}`
const whose: express.RequestHandler = (req, res) => void res.end(req.auth?.sub ?? 'nobody')

describe('requireBearer() with requests of adapters and mocks', () => {
  const lambda = serverless(express().use(requireBearer(dev.options), requireScope('read'), whose))
  const event = { version: '2.0', rawPath: '/x', rawQueryString: '', requestContext: { http: { method: 'GET' } } }
  const invoke = async (headers: Record<string, string>) => {
    const { statusCode, body } = (await lambda({ ...event, headers }, {})) as { statusCode: number; body: string }
    return [statusCode, body]
  }

  it('takes the token behind serverless-http, which has no raw fields', async () => {
    assert.deepEqual(await invoke({ authorization: bearer }), [200, 'ada'])
    assert.deepEqual(await invoke({ Authorization: bearer }), [200, 'ada'])
    assert.equal((await invoke({}))[0], 401)
    assert.equal((await invoke({ authorization: `${bearer}x` }))[0], 401)
    assert.equal((await invoke({ authorization: `${bearer},${bearer}` }))[0], 400) // as gateways join two fields
  })

  it('calls next() for a request of node-mocks-http', () => {
    for (const [headers, sub] of [
      [{ authorization: bearer }, 'ada'],
      [{}, undefined],
    ] as const) {
      const req = mocks.createRequest({ headers })
      let passed = 0
      requireBearer({ ...dev.options, optional: true })(req, mocks.createResponse(), () => passed++)
      assert.deepEqual([passed, req.auth?.sub], [1, sub])
    }
  })

  it('answers 401 to a request of node-mocks-http without a token', () => {
    const res = mocks.createResponse()
    requireBearer(dev.options)(mocks.createRequest(), res, () => assert.fail('let in'))
    assert.equal(res.statusCode, 401)
  })
})

describe('requireBearer() and fields that other middleware changes', () => {
  const api = async (before: (req: express.Request) => void) => {
    const app = express().use((req, _res, next) => (before(req), next()))
    return serve(app.use(requireBearer({ ...dev.options, optional: true }), whose))
  }
  const ask = async (before: (req: express.Request) => void, headers: Record<string, string> = {}) =>
    (await fetch((await api(before)).url, { headers })).text()

  it('takes a field that middleware has set', async () => {
    const fromCookie = (req: express.Request) => (req.headers.authorization = `Bearer ${req.headers.cookie?.slice(2)}`)
    assert.equal(await ask(fromCookie, { cookie: `t=${bearer.slice(7)}` }), 'ada')
    const asList = (req: express.Request) => (req.headers.authorization = [bearer] as unknown as string)
    assert.equal(await ask(asList), 'ada')
    const replaced = (req: express.Request) => (req.headers.authorization = `Bearer ${dev.token('bob')}`)
    assert.equal(await ask(replaced, { authorization: bearer }), 'bob')
  })

  it('ignores a field that middleware has deleted', async () => {
    assert.equal(await ask((req) => delete req.headers.authorization, { authorization: bearer }), 'nobody')
    const emptied = (req: express.Request) => (req.headers.authorization = '')
    assert.equal(await ask(emptied, { authorization: bearer }), 'nobody')
    const app = express().use((req, _res, next) => (delete req.headers.cookie, next()))
    const { url } = await serve(app.use(requireBearer({ ...dev.options, tokenFrom: { cookie: 't' } }), whose))
    assert.equal((await fetch(url, { headers: { cookie: `t=${bearer.slice(7)}` } })).status, 401)
  })

  it('takes no other field with a name as long for a second one', async () => {
    const fields = `Authorization: ${bearer}\r\nCache-Control: no-cache\r\nConnection: close`
    assert.match(await (await api(() => undefined)).raw(`GET / HTTP/1.1\r\nHost: x\r\n${fields}\r\n\r\n`), /ada$/)
  })

  it('refuses a second Authorization field, unless middleware chose one', async () => {
    const twice = `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${bearer}\r\nauthorization: Basic YTpi\r\n\r\n`
    assert.match(await (await api(() => undefined)).raw(twice), /^HTTP\/1.1 400 /)
    const chosen = (req: express.Request) => (req.headers.authorization = `Bearer ${dev.token('bob')}`)
    assert.match(await (await api(chosen)).raw(twice), /bob$/)
    const joined = { joinDuplicateHeaders: true }
    const app = express().use(requireBearer(dev.options), whose)
    assert.match(await (await serve(app, joined)).raw(twice), /^HTTP\/1.1 400 /)
  })

  it('reads the DPoP field the same way', async () => {
    const holder = await keyHolder(manualClock(Date.now()))
    const token = dev.token('ada', { claims: { cnf: { jkt: holder.jkt } } })
    const origin = 'https://api.test'
    const app = express().use((req, _res, next) => {
      if (req.headers['x-proof'] !== undefined) req.headers.dpop = req.get('x-proof')
      next()
    })
    const { url, raw } = await serve(app.use(requireBearer({ ...dev.options, dpop: { origin } }), whose))
    const proof = () => holder.proof(`${origin}/`, { ath: ath(token) }, 'GET')
    const moved = await fetch(url, { headers: { authorization: `DPoP ${token}`, 'x-proof': await proof() } })
    assert.equal(moved.status, 200)
    const [one, other] = [await proof(), await proof()]
    const fields = `Host: x\r\nConnection: close\r\nAuthorization: DPoP ${token}\r\nDPoP: ${one}\r\nDPoP: ${other}`
    assert.match(await raw(`GET / HTTP/1.1\r\n${fields}\r\n\r\n`), /^HTTP\/1.1 401 /)
  })
})

const part = (of: object) => Buffer.from(JSON.stringify(of)).toString('base64url')
const tokenWith = (header: object, claims: object = { sub: 'ada' }) => `${part(header)}.${part(claims)}.c2ln`

describe('readJws()', () => {
  it('reads a header of many tokens once, and the claims of each token', () => {
    const header = { alg: 'RS256', kid: 'a', typ: 'application/AT+JWT' }
    const [one, other] = ['ada', 'ben'].map((sub) => readJws(tokenWith(header, { sub })) as Jws) as [Jws, Jws]
    assert.equal(one.header, other.header)
    assert.ok(Object.isFrozen(one.header))
    assert.deepEqual([one.algorithm, one.kid, one.type], ['RS256', 'a', 'at+jwt'])
    assert.deepEqual([one.claims.sub, other.claims.sub], ['ada', 'ben'])
  })

  it('refuses a header each time that it refused once', () => {
    for (const header of [{ alg: 'RS256', crit: ['exp'] }, { alg: 7 }, { alg: 'RS256', kid: 7 }]) {
      const refusals = [1, 2].map(() => readJws(tokenWith(header)))
      assert.deepEqual(refusals[0], refusals[1])
      assert.ok('refused' in (refusals[0] as object))
    }
  })

  it('tells headers apart, however many come, and long ones', () => {
    const headers = Array.from({ length: 300 }, (_, i) => ({ alg: 'RS256', kid: `${i}` }))
    const read = (header: object) => (readJws(tokenWith(header)) as Jws).header
    const [first, long] = [read({ alg: 'ES256' }), read({ alg: 'ES256', kid: 'x'.repeat(9_999) })]
    assert.notEqual(read(long), long, 'a long one is not kept')
    assert.equal(read(first), first)
    for (const header of [...headers, ...headers]) assert.deepEqual(read(header), header)
    assert.notEqual(read(first), first, 'no more are kept than some')
  })
})
