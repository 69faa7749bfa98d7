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
    assert.throws(() => protectedResource(http), /resource must be an https URL .*allowHttp: true/)
    const { url } = protectedResource({ ...http, allowHttp: true })
    assert.equal(url, 'http://mcp.lan/.well-known/oauth-protected-resource/mcp')
    requireBearer({ ...dev.options, allowHttp: true, resourceMetadata: url })
    assert.throws(() => requireBearer({ ...dev.options, resourceMetadata: url }), /resourceMetadata/)
    assert.throws(() => protectedResource({ ...http, allowHttp: 1 as never }), /allowHttp must be true or false/)
  })
})
