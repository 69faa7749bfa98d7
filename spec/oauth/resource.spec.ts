import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { clientDirectory } from '../../lib/oauth'
import { AS_WEB, CLIENTS, json, serverOfSuite } from './support'
import { UserAgent, codeForm, request, tokensFor } from './user-agent'

const [TREE, PHOTOS] = ['https://api.test/tree', 'https://photos.test']

describe('resource indicators', () => {
  const clients = clientDirectory(
    CLIENTS.map((client) => (client.clientId === 'web' ? { ...client, audiences: [TREE, PHOTOS] } : client)),
  )
  const running = serverOfSuite({ clients, accessTokens: { audience: ['https://a.test', 'https://b.test'] } })

  /** Sends a form with any number of resources; `aud` of the token that comes, else the error. */
  async function audience(form: Record<string, string>, resources: readonly string[], headers: Record<string, string>) {
    const body = new URLSearchParams([
      ...Object.entries(form),
      ...resources.map((one): [string, string] => ['resource', one]),
    ])
    const response = await fetch(`${running.issuer}/token`, { method: 'POST', body, headers })
    const { access_token: token, error } = await json(response)
    return token === undefined ? error : decodeJwt(token as string).aud
  }
  const service = { grant_type: 'client_credentials' }
  const anonymous = { grant_type: 'unauthenticated_session', client_id: 'spa', ip_address: '192.0.2.1' }

  it('RFC 8707 §2: without resource a token is for all audiences of its app, else of the server', async () => {
    assert.deepEqual(await audience(service, [], AS_WEB), [TREE, PHOTOS])
    assert.deepEqual(await audience(anonymous, [], {}), ['https://a.test', 'https://b.test'])
  })

  it('RFC 8707 §2: resource narrows aud, to one or several, with or without a slash at its end', async () => {
    assert.equal(await audience(service, [TREE], AS_WEB), TREE)
    assert.equal(await audience(service, [`${PHOTOS}/`], AS_WEB), PHOTOS)
    assert.equal(await audience(service, [`${TREE}/`], AS_WEB), TREE)
    assert.deepEqual(await audience(service, [PHOTOS, TREE], AS_WEB), [PHOTOS, TREE])
    assert.equal(await audience(anonymous, ['https://b.test'], {}), 'https://b.test')
  })

  it('RFC 8707 §2: an unknown resource is invalid_target at the token endpoint, never ignored', async () => {
    for (const unknown of ['https://evil.test', `${TREE}#x`, 'tree', `${PHOTOS}/#x`, 'https://a.test']) {
      assert.equal(await audience(service, [TREE, unknown], AS_WEB), 'invalid_target', unknown)
    }
  })

  it('RFC 8707 §2.1: an unknown resource is invalid_target at the authorization endpoint', async () => {
    const page = await new UserAgent(running.issuer).authorize(
      running.issuer,
      request({ resource: 'https://evil.test' }),
    )
    assert.equal(page.params.get('error'), 'invalid_target')
    assert.equal(page.params.get('state'), 'st-123')
  })

  it('RFC 8707 §2.2: a code and its refresh tokens are for the resources of the authorization, or fewer', async () => {
    assert.equal(await audience(await codeForm(running.issuer, { resource: TREE }), [], AS_WEB), TREE)
    assert.equal(await audience(await codeForm(running.issuer, { resource: TREE }), [PHOTOS], AS_WEB), 'invalid_target')
    assert.equal(await audience(await codeForm(running.issuer), [PHOTOS], AS_WEB), PHOTOS)

    const tokens = await tokensFor(running.issuer)
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    assert.equal(await audience(refresh, ['https://evil.test'], AS_WEB), 'invalid_target')
    assert.equal(await audience(refresh, [PHOTOS], AS_WEB), PHOTOS, 'and the refused request has not used it')
  })

  it('RFC 8707 §2: two resources of one request survive the login pages', async () => {
    const agent = new UserAgent(running.issuer)
    const query = new URLSearchParams(request())
    for (const resource of [TREE, PHOTOS]) query.append('resource', resource)
    const login = await agent.request(`${running.issuer}/authorization?${query.toString()}`)
    const back = await (await login.logIn()).finish()
    const { code_verifier } = await codeForm(running.issuer)
    const form = {
      grant_type: 'authorization_code',
      code: back.params.get('code') ?? '',
      redirect_uri: 'https://client.test/cb',
      code_verifier: code_verifier as string,
    }
    assert.deepEqual(await audience(form, [], AS_WEB), [TREE, PHOTOS])
  })
})
