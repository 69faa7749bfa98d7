import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import mocks from 'node-mocks-http'
import serverless from 'serverless-http'
import { requireBearer, requireScope } from '../../../lib'
import { devIssuer, manualClock } from '../../../lib/testing'
import { ath, keyHolder } from '../../oauth/key-holder'
import { serve } from '../../support/serve'

const dev = devIssuer()
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
