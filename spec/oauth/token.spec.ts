import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AS_WEB, type Form, json, post, serverOfSuite } from './support'
import { codeForm, request } from './user-agent'

describe('the token endpoint', () => {
  const running = serverOfSuite()

  const send = (body: string, headers: Form = {}) => {
    const sent = { 'content-type': 'application/x-www-form-urlencoded', ...headers }
    return fetch(`${running.issuer}/token`, { method: 'POST', body, headers: sent })
  }
  const error = async (response: Response) => [response.status, (await json(response)).error]

  it('RFC 6749 §3.2: answers POST alone', async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) {
      const response = await fetch(`${running.issuer}/token`, { method })
      assert.equal(response.status, 405)
      assert.equal(response.headers.get('allow'), 'POST')
    }
  })

  it('RFC 6749 §5.2: errors are JSON, uncached and measured', async () => {
    const response = await send('grant_type=authorization_code&code=x&redirect_uri=x', AS_WEB)
    assert.equal(response.status, 400)
    assert.equal(response.headers.get('content-type'), 'application/json;charset=UTF-8')
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.equal(response.headers.get('pragma'), 'no-cache')
    assert.match(response.headers.get('x-processing-time') ?? '', /^\d+$/)
    assert.deepEqual(await json(response), {
      error: 'invalid_grant',
      error_description: 'The code is not valid, has expired or has been used.',
    })
  })

  it('RFC 6749 §3.2: a parameter given twice is refused, in any spelling; an unknown one is ignored', async () => {
    const form = new URLSearchParams(await codeForm(running.issuer)).toString()
    const names = 'grant_type code redirect_uri code_verifier client_id client_secret code[] code[a]'
    for (const name of names.split(' ')) {
      const twice = name.includes('[') ? `${form}&${name}=x` : `${form}&${name}=x&${name}=x`
      assert.deepEqual(await error(await send(twice, AS_WEB)), [400, 'invalid_request'], name)
    }
    assert.equal((await send(`${form}&x=1&x=2&__proto__[y]=1`, AS_WEB)).status, 200)
  })

  it('RFC 6749 appendix B: takes form encoding in UTF-8 alone', async () => {
    const grant = 'grant_type=authorization_code&redirect_uri=x&code='
    for (const rubbish of ['%zz', '%FF%FE', '%', '%u0041']) {
      assert.deepEqual(await error(await send(grant + rubbish, AS_WEB)), [400, 'invalid_request'])
    }
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded-x'])
      assert.deepEqual(await error(await send(`${grant}x`, { ...AS_WEB, 'content-type': type })), [
        400,
        'invalid_request',
      ])
    const odd = { 'content-type': 'Application/X-WWW-Form-Urlencoded ; charset=utf-8' }
    assert.deepEqual(await error(await send(`${grant}x`, { ...AS_WEB, ...odd })), [400, 'invalid_grant'])
  })

  it('an access token in the field, as interceptors of apps add it, authenticates nobody and does no harm', async () => {
    const fields = ['Bearer eyJhbGciOiJSUzI1NiJ9.e30.x', 'bearer undefined', 'Bearer', 'DPoP x']
    for (const authorization of fields) {
      const headers = { authorization }
      const form = await codeForm(running.issuer, { client_id: 'spa', redirect_uri: 'https://spa.test/cb' })
      const url = (path: string) => `${running.issuer}/${path}`
      const tokens = await post(url('token'), { ...form, client_id: 'spa' }, headers)
      assert.equal(tokens.status, 200, authorization)
      const token = (await json(tokens)).access_token as string
      assert.equal((await post(url('revoke'), { token, client_id: 'spa' }, headers)).status, 200)
      assert.equal(await running.server.verify(token), undefined, 'it is revoked')
      const asWeb = { client_id: 'web', client_secret: 'secret' }
      assert.equal((await post(url('introspect'), { token, ...asWeb }, headers)).status, 200)
      assert.equal((await post(url('par'), { ...request(), ...asWeb }, headers)).status, 201)
      assert.equal((await post(url('introspect'), { token, client_id: 'web' }, headers)).status, 401, 'no secret')
    }
  })

  it('RFC 6749 §3.2.1: a confidential client needs its secret; an empty one counts as none', async () => {
    for (const form of ['client_id=web', 'client_id=web&client_secret=', 'client_id=web&client_secret=%20']) {
      const response = await send(`grant_type=authorization_code&code=x&redirect_uri=x&${form}`)
      assert.deepEqual(await error(response), [401, 'invalid_client'])
    }
    for (const secret of ['', '%20']) {
      const response = await send(
        `grant_type=authorization_code&code=x&redirect_uri=x&client_id=spa&client_secret=${secret}`,
      )
      assert.deepEqual(await error(response), [400, 'invalid_grant'], 'a public client may send an empty one')
    }
    const invented = await send('grant_type=authorization_code&code=x&redirect_uri=x&client_id=spa&client_secret=guess')
    assert.deepEqual(await error(invented), [401, 'invalid_client'])
  })
})
