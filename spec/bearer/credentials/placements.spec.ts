import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { requireBearer, type BearerOptions } from '../../../lib/index'
import { devIssuer } from '../../../lib/testing/index'
import { serve } from '../../support/serve'

const dev = devIssuer()
const token = dev.token('ada')
const authorization = `Bearer ${token}`
const form = 'application/x-www-form-urlencoded'

async function api(tokenFrom: BearerOptions['tokenFrom'], more: Partial<BearerOptions> = {}) {
  const app = express().use(express.urlencoded({ extended: true }), express.json())
  const { url } = await serve(app.use(requireBearer({ ...dev.options, ...more, tokenFrom }), answer))
  return (path: string, init: RequestInit = {}) => fetch(url + path, init)
}

const answer: express.RequestHandler = (req, res) =>
  void res.json({ sub: (req.auth as { sub?: string } | undefined)?.sub ?? null })

const posting = (body: string, type = form, more: Record<string, string> = {}): RequestInit => {
  return { method: 'POST', body, headers: { 'content-type': type, ...more } }
}

describe('requireBearer() without tokenFrom', () => {
  it('reads the Authorization field alone', async () => {
    const ask = await api(undefined)
    assert.equal((await ask(`/?access_token=${token}`)).headers.get('www-authenticate'), 'Bearer')
    assert.equal((await ask('/', posting(`access_token=${token}`))).headers.get('www-authenticate'), 'Bearer')
    const both = await ask('/?access_token=x&access_token=y', { headers: { authorization } })
    assert.deepEqual([both.status, both.headers.get('cache-control')], [200, null])
  })
})

describe("requireBearer({ tokenFrom: ['query'] }) (RFC 6750 §2.3)", () => {
  it('takes a token from the query, and keeps the response out of shared caches', async () => {
    const ask = await api(['query'])
    for (const query of ['/?access_token=', '/x?access_token=', '/x?a=1&access%5Ftoken=']) {
      const path = `${query}${token}&b`
      const found = await ask(path)
      assert.deepEqual([found.status, await found.json()], [200, { sub: 'ada' }])
      assert.equal(found.headers.get('cache-control'), 'private')
    }
    const usual = await ask('/?a=1', { headers: { authorization } })
    assert.deepEqual([usual.status, usual.headers.get('cache-control')], [200, null])
    assert.equal((await ask(`/x&access_token=${token}`)).status, 401)
    assert.equal((await ask('/', posting(`access_token=${token}`))).status, 401)
  })

  it('refuses more than one token with 400, be they the same (§2)', async () => {
    const ask = await api(['query'])
    for (const [path, headers] of [
      [`/?access_token=${token}`, { authorization }],
      [`/?access_token=${token}`, { authorization: 'Bearer' }],
      [`/?access_token=${token}&access_token=${token}`, {}],
      [`/?access_token=${token}&access_token=`, {}],
    ] as const) {
      const refused = await ask(path, { headers })
      assert.equal(refused.status, 400, path)
      assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_request"/)
    }
    const basic = await ask(`/?access_token=${token}`, { headers: { authorization: 'Basic YTpi' } })
    assert.equal(basic.status, 200)
  })

  it('refuses malformed and invalid tokens', async () => {
    const ask = await api(['query'])
    for (const [text, status] of [
      ['', 400],
      ['a%20b', 400],
      ['a"b', 400],
      [`${'a'.repeat(8_193)}`, 401],
      ['abc', 401],
      [dev.attack('claims-changed'), 401],
    ] as const) {
      assert.equal((await ask(`/?access_token=${text}`)).status, status, text.slice(0, 20))
    }
    assert.equal((await ask('/?token=x')).headers.get('www-authenticate'), 'Bearer')
  })

  it('refuses a bound token in the query', async () => {
    const ask = await api(['query'], { dpop: true })
    const bound = dev.token('ada', { claims: { cnf: { jkt: 'x' } } })
    assert.equal((await ask(`/?access_token=${bound}`, { headers: { dpop: 'x' } })).status, 401)
  })
})

describe("requireBearer({ tokenFrom: ['form'] }) (RFC 6750 §2.2)", () => {
  it('takes a token from a form-encoded body that has been parsed', async () => {
    const ask = await api(['form'])
    const found = await ask('/', posting(`a=1&access_token=${token}`))
    assert.deepEqual([found.status, await found.json()], [200, { sub: 'ada' }])
    assert.equal((await ask('/', posting(`access_token=${token}`, `${form}; charset=utf-8`))).status, 200)
    assert.equal((await ask('/', { ...posting(`access_token=${token}`), method: 'PUT' })).status, 200)
    assert.equal((await ask(`/?access_token=${token}`)).status, 401)
  })

  it('ignores bodies of other types, unparsed bodies, and GET', async () => {
    const ask = await api(['form'])
    assert.equal((await ask('/', posting(JSON.stringify({ access_token: token }), 'application/json'))).status, 401)
    const bare = express().use(requireBearer({ ...dev.options, tokenFrom: ['form'] }), answer)
    const { url } = await serve(bare)
    assert.equal((await fetch(url, posting(`access_token=${token}`))).status, 401)
    const { raw } = await serve(
      express().use(express.urlencoded(), requireBearer({ ...dev.options, tokenFrom: ['form'] }), answer),
    )
    const body = `access_token=${token}`
    for (const [method, status] of [
      ['GET', 401],
      ['HEAD', 401],
      ['PATCH', 200],
    ] as const) {
      const fields = `Host: x\r\nConnection: close\r\nContent-Type: ${form}\r\nContent-Length: ${body.length}`
      const text = await raw(`${method} / HTTP/1.1\r\n${fields}\r\n\r\n${body}`)
      assert.match(text, new RegExp(`^HTTP/1.1 ${status} `), method)
    }
  })

  it('ignores values that another parser has changed', async () => {
    for (const body of [null, `access_token=${token}`, undefined, 7]) {
      const parsed: express.RequestHandler = (req, _res, next) => (((req as { body: unknown }).body = body), next())
      const { url } = await serve(express().use(parsed, requireBearer({ ...dev.options, tokenFrom: ['form'] }), answer))
      assert.equal((await fetch(url, posting(`access_token=${token}`))).status, 401, String(body))
    }
  })

  it('refuses a token longer than maxTokenLength, as in the header', async () => {
    for (const [maxTokenLength, status] of [
      [token.length, 200],
      [token.length - 1, 401],
    ] as const) {
      const ask = await api(['form', 'query'], { maxTokenLength })
      assert.equal((await ask('/', posting(`access_token=${token}`))).status, status)
      assert.equal((await ask(`/?access_token=${token}`)).status, status)
      assert.equal((await ask('/', { headers: { authorization } })).status, status)
    }
  })

  it('refuses two tokens, and a token that is no text', async () => {
    const ask = await api(['form', 'query', 'form'])
    for (const body of [
      `access_token=${token}&access_token=${token}`,
      `access_token[]=${token}&access_token[]=x`,
      `access_token[a]=${token}`,
      'access_token=',
    ]) {
      const refused = await ask('/', posting(body))
      assert.equal(refused.status, 400, body.slice(0, 20))
      assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_request"/)
    }
    assert.equal((await ask(`/?access_token=${token}`, posting(`access_token=${token}`))).status, 400)
    assert.equal((await ask('/', posting(`access_token=${token}`, form, { authorization }))).status, 400)
    assert.equal((await ask('/', posting(`access_token=${token}`))).status, 200)
    assert.equal((await ask('/', posting('a=1'))).headers.get('www-authenticate'), 'Bearer')
    assert.equal((await ask('/', posting('__proto__[access_token]=x&constructor=y'))).status, 401)
  })
})
