// OpenID Connect's Config OP profile: the one module of its certification plan.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createPublicKey } from 'node:crypto'
import { json, startServer } from '../support'

describe('oidcc-config-certification-test-plan', () => {
  it('oidcc-discovery-endpoint-verification', async () => {
    const running = await startServer()
    const response = await fetch(`${running.issuer}/.well-known/openid-configuration`)
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
    const document = await json(response)
    assert.equal(document.issuer, running.issuer)
    for (const name of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri']) {
      assert.equal(new URL(document[name] as string).origin, running.origin, name)
    }
    for (const [name, value] of [
      ['scopes_supported', 'openid'],
      ['response_types_supported', 'code'],
      ['response_modes_supported', 'query'],
      ['grant_types_supported', 'authorization_code'],
      ['subject_types_supported', 'public'],
      ['id_token_signing_alg_values_supported', 'RS256'],
      ['token_endpoint_auth_methods_supported', 'client_secret_basic'],
      ['claims_supported', 'sub'],
      ['claim_types_supported', 'normal'],
    ] as const) {
      assert.ok((document[name] as string[]).includes(value), `${name}: ${value}`)
    }
    for (const name of [
      'claims_parameter_supported',
      'request_parameter_supported',
      'request_uri_parameter_supported',
    ]) {
      assert.equal(typeof document[name], 'boolean', name)
    }

    const { keys } = (await json(await fetch(document.jwks_uri as string))) as { keys: Record<string, string>[] }
    assert.equal(new Set(keys.map(({ kid }) => kid)).size, keys.length)
    assert.ok(keys.some(({ kty, use, alg }) => kty === 'RSA' && use === 'sig' && alg === 'RS256'))
    for (const key of keys) {
      assert.equal(createPublicKey({ key, format: 'jwk' }).type, 'public')
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) assert.equal(key[secret], undefined)
    }
  })
})
