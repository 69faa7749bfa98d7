import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { protectedResource, requireBearer, requireScope } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { serve } from '../support/serve'

const resource = 'https://api.test'
const dev = devIssuer({ audience: resource })

async function api(scope: string | { any: string[] } | undefined, audience = resource) {
  const metadata = protectedResource({ resource, authorizationServers: [dev.issuer], scopes: ['mcp:tools'] })
  const app = express().use(metadata)
  app.use(requireBearer({ ...dev.options, audience, scope, resourceMetadata: metadata.url, warnings: false }))
  return (await serve(app.use((_req, res) => void res.end()))).url
}

describe('protectedResource() and requireBearer() for an MCP server', () => {
  it('tell a client that has no token which scope to ask for', async () => {
    const challengeOf = async (scope?: string | { any: string[] }) =>
      (await fetch(await api(scope))).headers.get('www-authenticate')
    const metadata = `resource_metadata="${resource}/.well-known/oauth-protected-resource"`
    assert.equal(await challengeOf('mcp:tools'), `Bearer scope="mcp:tools", ${metadata}`)
    assert.equal(await challengeOf('a b'), `Bearer scope="a b", ${metadata}`)
    assert.equal(await challengeOf({ any: ['a', 'b'] }), `Bearer scope="a b", ${metadata}`)
    assert.equal(await challengeOf(), `Bearer ${metadata}`)
    const optional = express().use(requireBearer({ ...dev.options, optional: true }), requireScope('c'))
    assert.equal((await fetch((await serve(optional)).url)).headers.get('www-authenticate'), 'Bearer scope="c"')
  })

  it('publish every member of RFC 9728 §2, in other languages too', async () => {
    const members = {
      ...{ dpop_signing_alg_values_supported: ['ES256'], tls_client_certificate_bound_access_tokens: false },
      ...{ authorization_details_types_supported: ['payment'], jwks_uri: `${resource}/keys` },
      ...{ resource_signing_alg_values_supported: ['ES256'], resource_policy_uri: `${resource}/policy` },
      ...{ resource_tos_uri: `${resource}/terms`, signed_metadata: 'e30.e30.x', 'resource_name#de': 'Stammbaum' },
    }
    const metadata = { ...members, 'resource_policy_uri#de': `${resource}/richtlinie`, example_extension: { a: 1 } }
    const named = { name: 'Tree', documentation: `${resource}/docs`, scopes: ['a'], dpopRequired: true }
    const bearerMethods = ['header', 'body'] as const
    const { url } = await serve(express().use(protectedResource({ resource, bearerMethods, ...named, metadata })))
    const { name: resource_name, documentation: resource_documentation, scopes: scopes_supported } = named
    const answer = await fetch(`${url}/.well-known/oauth-protected-resource`)
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=3600')
    assert.equal((await fetch(`${url}/.well-known/oauth-protected-resource`, { method: 'HEAD' })).status, 200)
    assert.deepEqual(await answer.json(), {
      ...{ resource, resource_name, resource_documentation, scopes_supported },
      ...{ bearer_methods_supported: bearerMethods, dpop_bound_access_tokens_required: true },
      ...metadata,
    })
  })

  it('leave out lists without a value, and answer clients that ask without the slash at the end (RFC 9728 §3)', async () => {
    const mcp = `${resource}/mcp/`
    const empty = { authorizationServers: [], scopes: [], metadata: { dpop_signing_alg_values_supported: [] } }
    const metadata = protectedResource({ resource: mcp, ...empty, bearerMethods: [] })
    const { url } = await serve(express().use(metadata))
    assert.equal(metadata.url, `${resource}/.well-known/oauth-protected-resource/mcp/`)
    for (const path of ['/mcp/', '/mcp']) {
      const answer = await fetch(`${url}/.well-known/oauth-protected-resource${path}`)
      assert.deepEqual(await answer.json(), { resource: mcp, bearer_methods_supported: [] })
    }
    assert.equal((await fetch(`${url}/.well-known/oauth-protected-resource`)).status, 404)
  })

  it('name the scope in the challenge of a token that is refused, so that the client asks for it', async () => {
    const url = await api('mcp:tools')
    for (const [token, status] of [
      [dev.attack('expired'), 401],
      [dev.attack('another-key'), 401],
      ['x', 401],
    ] as const) {
      const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
      assert.equal(answer.status, status)
      assert.match(answer.headers.get('www-authenticate') ?? '', /error="invalid_token", .*scope="mcp:tools"/)
    }
    const twice = await fetch(url, { headers: { authorization: 'Bearer a b' } })
    assert.doesNotMatch(twice.headers.get('www-authenticate') ?? '', /scope=/) // another token would not help
  })

  it('answer a preflight for the metadata, and no other', async () => {
    const url = await api('mcp:tools')
    const asking = { origin: 'http://localhost:6274', 'access-control-request-method': 'GET' }
    const ask = (path: string) =>
      fetch(url + path, {
        method: 'OPTIONS',
        headers: { ...asking, 'access-control-request-headers': 'mcp-protocol-version' },
      })
    const { status, headers } = await ask('/.well-known/oauth-protected-resource')
    const fields = ['origin', 'methods', 'headers'].map((name) => headers.get(`access-control-allow-${name}`))
    assert.deepEqual([status, ...fields], [204, '*', 'GET, HEAD', '*'])
    assert.equal((await ask('/')).status, 401)
  })

  it('take a resource with a slash at its end and without for one, with resourceMetadata', async () => {
    const ask = async (audience: string, aud: string | string[]) => {
      const authorization = `Bearer ${dev.token('ada', { claims: { aud } })}`
      return (await fetch(await api(undefined, audience), { headers: { authorization } })).status
    }
    assert.deepEqual(
      [
        await ask(resource, `${resource}/`),
        await ask(`${resource}/`, resource),
        await ask(resource, ['x', `${resource}/`]),
        await ask(`${resource}/mcp`, `${resource}/mcp/`),
        await ask(`${resource}/mcp/`, `${resource}/mcp`),
      ],
      [200, 200, 200, 200, 200],
    )
    for (const aud of [`${resource}//`, `${resource}/x`, `${resource}.evil`, 'http://api.test/', `${resource}/?`]) {
      assert.equal(await ask(resource, aud), 401, aud)
    }
    assert.equal(await ask(`${resource}/mcp`, `${resource}/mcp//`), 401)
    assert.equal(await ask(`${resource}/mcp`, `${resource}/mcp/x`), 401)
    assert.equal(await ask('api', 'api/'), 401)
    const bare = (await serve(express().use(requireBearer({ ...dev.options, warnings: false })))).url
    const authorization = `Bearer ${dev.token('ada', { claims: { aud: `${resource}/` } })}`
    assert.equal((await fetch(bare, { headers: { authorization } })).status, 401, 'without resourceMetadata')
  })

  it('take http addresses of other machines with allowHttp', () => {
    const http = { resource: 'http://mcp.lan/mcp', authorizationServers: ['http://as.lan'] }
    const { url } = protectedResource({ ...http, allowHttp: true })
    assert.equal(url, 'http://mcp.lan/.well-known/oauth-protected-resource/mcp')
    requireBearer({ ...dev.options, allowHttp: true, resourceMetadata: url })
  })
})
