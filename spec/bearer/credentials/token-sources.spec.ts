import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { type BearerOptions, type DenialError, requireBearer } from '../../../lib'
import { devIssuer } from '../../../lib/testing'
import { serve } from '../../support/serve'

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

  it('never takes a token bound to a key', async () => {
    const { ask } = await api({ header: field }, { dpop: { origin: 'https://api.test' } })
    assert.equal((await ask({ [field]: dev.token('ada', { claims: { cnf: { jkt: 'x' } } }), dpop: 'x' }))[0], 401)
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

  it('makes a TypeError of a promise, be it rejected, and of a function', async () => {
    for (const [answer, message] of [
      [() => Promise.resolve(ada), 'tokenFrom returned a promise'],
      [() => Promise.reject(new Error('late')), 'tokenFrom returned a promise'],
      [() => () => ada, 'tokenFrom must return the token as text, or undefined; it returned a function'],
    ] as const) {
      const [status, text] = await (await api(answer as never)).ask({})
      assert.equal(status, 500)
      assert.match(text, new RegExp(`^${message}`))
    }
  })
})

describe('requireBearer({ tokenFrom })', () => {
  it('says in onDenied why a token elsewhere was refused', async () => {
    const reasons: (string | undefined)[] = []
    const onDenied = (err: DenialError, _req: express.Request, res: express.Response) => {
      reasons.push(err.reason)
      res.status(err.status).end()
    }
    const { ask } = await api(['query', { cookie: 't' }], { onDenied, maxTokenLength: 4_000 })
    await ask({ cookie: `t=${dev.token('ada', { expiresInSec: -60 })}` })
    await ask({ cookie: 't="' })
    await ask({}, `/?access_token=${'x'.repeat(4_001)}`)
    assert.deepEqual(reasons, ['expired', 'malformed_credentials', 'malformed_token'])
  })

  it('throws at startup for an invalid place', () => {
    const wrong = [
      'header',
      ['body'],
      [7],
      null,
      {},
      { header: '' },
      { header: 'a b' },
      { cookie: 'a;b' },
      { header: 7 },
    ]
    for (const tokenFrom of [...wrong, { query: 'x' }, { header: 'a', cookie: 'b' }, { header: 'authorization' }]) {
      assert.throws(
        () => requireBearer({ ...dev.options, tokenFrom } as never),
        /tokenFrom must be a list of 'form', 'query', \{ header: .* the Authorization field is read anyway; received/,
      )
    }
  })
})
