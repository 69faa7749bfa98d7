import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { json, serverOfSuite, askToken } from './support'
import { codeForm } from './user-agent'

describe('discovery and the keys', () => {
  const running = serverOfSuite()

  it('OIDC Discovery §4 and RFC 8414 §3.1: is found below the issuer and at the well-known root forms', async () => {
    const { issuer, origin } = running
    const path = '/cis-web/oauth2/v3'
    const places = [
      `${issuer}/.well-known/openid-configuration`,
      `${issuer}/.well-known/oauth-authorization-server`,
      `${origin}/.well-known/openid-configuration`,
      `${origin}/.well-known/openid-configuration${path}`,
      `${origin}/.well-known/oauth-authorization-server`,
      `${origin}/.well-known/oauth-authorization-server${path}`,
    ]
    const documents = await Promise.all(places.map(async (place) => json(await fetch(place))))
    for (const document of documents) assert.deepEqual(document, documents[0])
    assert.equal(documents[0]?.issuer, issuer)
    const elsewhere = await fetch(`${origin}/.well-known/openid-configuration/else`)
    assert.equal(elsewhere.status, 404)
  })

  it('OIDC Discovery §3, RFC 8414 §2 and RFC 9207 §3: describes the server', async () => {
    const document = await json(await fetch(`${running.issuer}/.well-known/openid-configuration`))
    assert.equal(document.authorization_response_iss_parameter_supported, true)
    assert.deepEqual(document.response_types_supported, ['code', 'id_token'])
    assert.deepEqual(document.code_challenge_methods_supported, ['S256'])
    assert.deepEqual(document.id_token_signing_alg_values_supported, ['RS256'])
    assert.deepEqual(document.access_token_typ_values_supported, ['at+jwt'])
    assert.deepEqual(document.subject_types_supported, ['public'])
    const grants = 'authorization_code unauthenticated_session client_credentials refresh_token'
    assert.deepEqual(document.grant_types_supported, grants.split(' '))
    assert.equal((document.introspection_endpoint_auth_methods_supported as string[]).includes('none'), false)
    for (const [name, url] of Object.entries(document)) {
      if (!/_endpoint$|^jwks_uri$/.test(name)) continue
      assert.ok((url as string).startsWith(`${running.issuer}/`), name)
      assert.notEqual((await fetch(url as string)).status, 404, name)
    }
  })

  it('may be cached, for five minutes; so may the keys', async () => {
    for (const path of ['.well-known/openid-configuration', 'jwks']) {
      const response = await fetch(`${running.issuer}/${path}`)
      assert.equal(response.headers.get('cache-control'), 'public, max-age=300')
      assert.match(response.headers.get('x-processing-time') ?? '', /^\d+$/)
    }
  })

  it('RFC 7517 §5: publishes public keys with kid, use and alg, and nothing private', async () => {
    const { keys } = (await json(await fetch(`${running.issuer}/jwks`))) as { keys: Record<string, unknown>[] }
    assert.equal(keys.length, 1)
    for (const key of keys) {
      assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use'])
      assert.equal(key.alg, 'RS256')
      assert.equal(key.use, 'sig')
    }
    for (const place of [running.issuer, running.origin]) {
      const certs = await json(await fetch(`${place}/.well-known/openid-configuration?certs`))
      assert.deepEqual(certs, { keys })
    }
  })
})

describe('userinfo', () => {
  const running = serverOfSuite()

  const token = async (scope: string) => {
    const form = await codeForm(running.issuer, { scope })
    return (await askToken(running.issuer, form)).access_token
  }
  const ask = (token: string, method = 'GET') =>
    fetch(`${running.issuer}/userinfo`, { method, headers: { authorization: `Bearer ${token}` } })

  it('OIDC Core §5.3.1 and §5.4: gives the claims of the scopes, by GET and POST', async () => {
    const access = await token('openid email givenName')
    for (const method of ['GET', 'POST']) {
      const response = await ask(access, method)
      assert.equal(response.headers.get('cache-control'), 'no-store')
      assert.deepEqual(await json(response), {
        sub: 'KWC6-X7D',
        email: 'ada@example.org',
        givenName: 'Ada',
        given_name: 'Ada',
      })
    }
    assert.deepEqual(await json(await ask(await token('openid'))), { sub: 'KWC6-X7D' })
  })

  it('RFC 6750 §3 and OIDC Core §5.3.3: challenges a missing token, a wrong one, and one without openid', async () => {
    const none = await fetch(`${running.issuer}/userinfo`)
    assert.equal(none.status, 401)
    assert.match(none.headers.get('www-authenticate') ?? '', /^Bearer realm="[^"]+"$/)
    for (const wrong of ['x', 'a.b.c', (await token('openid')).slice(0, -2)]) {
      const response = await ask(wrong)
      assert.equal(response.status, 401)
      assert.match(response.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
      assert.ok(!response.headers.get('www-authenticate')?.includes(wrong + '"'))
    }
    const short = await ask(await token('email'))
    assert.equal(short.status, 403)
    assert.match(short.headers.get('www-authenticate') ?? '', /error="insufficient_scope".*scope="openid"/)
  })

  it('refuses an id_token and tokens without a user', async () => {
    const form = await codeForm(running.issuer)
    const tokens = await askToken(running.issuer, form)
    assert.equal((await ask(tokens.id_token)).status, 401)
    const client = await askToken(running.issuer, { grant_type: 'client_credentials' })
    assert.equal((await ask(client.access_token)).status, 403)
  })
})
