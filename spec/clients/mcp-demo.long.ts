import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CALLBACK, McpClientProvider } from './mcp-client'
import { follow } from './today'
import { post } from '../oauth/support'
import { UserAgent } from '../oauth/user-agent'
import { type RunningDemo, startDemo } from '../../demo/spec/running'
import { assertIs, below } from '../support/until'

/** The official SDK's client, which notes what it asks for. */
function mcpClient({ origin }: RunningDemo, authProvider: McpClientProvider) {
  const asked: string[] = []
  const transport = new StreamableHTTPClientTransport(new URL(`${origin}/mcp`), {
    authProvider,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      asked.push(`${init?.method ?? 'GET'} ${new URL(url).pathname} ${response.status}`)
      return response
    },
  })
  return { asked, transport, client: new Client({ name: 'client', version: '1.0.0' }) }
}

describe("the demo's MCP server", () => {
  const provider = new McpClientProvider()
  let demo: RunningDemo
  let asked: readonly string[]
  before(async () => {
    demo = await startDemo()
    const first = mcpClient(demo, provider)
    await assert.rejects(first.client.connect(first.transport), /Unauthorized/)
    const back = await follow(new UserAgent(demo.origin), String(provider.url), (to) => to.startsWith(CALLBACK))
    await first.transport.finishAuth(new URL(back as string).searchParams.get('code') ?? '')
    asked = first.asked
  })
  after(() => demo.close())

  it('leads a client of the official SDK through discovery, registration and PKCE to a token', () => {
    const issuerPath = '/cis-web/oauth2/v3'
    assert.deepEqual(
      [...new Set(asked)],
      [
        'POST /mcp 401',
        'GET /.well-known/oauth-protected-resource/mcp 200',
        `GET /.well-known/oauth-authorization-server${issuerPath} 200`,
        `POST ${issuerPath}/register 201`,
        `POST ${issuerPath}/token 200`,
      ],
    )
    const { searchParams } = provider.url ?? assert.fail()
    assert.equal(searchParams.get('code_challenge_method'), 'S256')
    assert.equal(searchParams.get('code_challenge'), sha256(provider.verifier, 'base64url'))
    assert.deepEqual([searchParams.get('resource'), searchParams.get('scope')], [`${demo.origin}/mcp`, 'openid'])
  })

  it('tells tools token, clientId, scopes and expiresAt in authInfo', async () => {
    const { client, transport } = mcpClient(demo, provider)
    await client.connect(transport)
    const { content } = await client.callTool({ name: 'who_am_i' })
    await client.close()
    const [{ text }] = content as [{ text: string }]
    const { expiresAt, ...seen } = JSON.parse(text) as { expiresAt: number }
    const fingerprint = sha256(provider.kept?.access_token ?? '', 'hex')
    assert.deepEqual(seen, { fingerprint, clientId: provider.client?.client_id, scopes: ['openid'] })
    assertIs(Math.abs(expiresAt - Date.now() / 1_000 - (provider.kept?.expires_in ?? 0)), below(60))
  })

  it('refuses tokens of the platform, and the platform refuses those of MCP clients', async () => {
    const ask = async (method: string, path: string, token?: string) => {
      const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }), accept: 'application/json' }
      return (await fetch(demo.origin + path, { method, headers })).status
    }
    const own = provider.kept?.access_token
    const platform = await demo.visitor.userToken('ada', 'family-app')
    assert.equal(await ask('GET', '/platform/users/current', platform), 200)
    assert.equal(await ask('POST', '/mcp', platform), 401)
    assert.equal(await ask('GET', '/platform/users/current', own), 401)
    assert.deepEqual([await ask('POST', '/mcp'), await ask('GET', '/mcp', own)], [401, 405])
  })

  it('lets a client refresh its token, and refuses a revoked one', async () => {
    provider.kept = { ...(provider.kept ?? assert.fail()), access_token: 'expired' }
    const { client, transport } = mcpClient(demo, provider)
    await client.connect(transport)
    assert.equal((await client.listTools()).tools[0]?.name, 'who_am_i')
    await client.close()
    const { access_token: token } = provider.kept
    assert.notEqual(token, 'expired')
    await post(`${demo.issuer}/revoke`, { token, client_id: provider.client?.client_id ?? '' })
    assert.equal((await post(`${demo.origin}/mcp`, {}, { authorization: `Bearer ${token}` })).status, 401)
  })
})

function sha256(text: string, encoding: 'base64url' | 'hex'): string {
  return createHash('sha256').update(text).digest(encoding)
}
