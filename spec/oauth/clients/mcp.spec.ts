import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type { OAuthClientInformationFull, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import express from 'express'
import { requireBearer } from '../../../lib'
import { clientDirectory } from '../../../lib/oauth'
import { startServer } from '../support'
import { UserAgent } from '../user-agent'
import { follow } from './today'

const CALLBACK = 'http://localhost:3334/oauth/callback'

/** What an MCP client keeps between its steps. */
class Provider implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK
  readonly clientMetadata = {
    client_name: 'An MCP client',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  client: OAuthClientInformationFull | undefined
  kept: OAuthTokens | undefined
  verifier = ''
  url: URL | undefined

  clientInformation = () => this.client
  saveClientInformation = (client: OAuthClientInformationFull) => void (this.client = client)
  tokens = () => this.kept
  saveTokens = (tokens: OAuthTokens) => void (this.kept = tokens)
  redirectToAuthorization = (url: URL) => void (this.url = url)
  saveCodeVerifier = (verifier: string) => void (this.verifier = verifier)
  codeVerifier = () => this.verifier
}

it("@modelcontextprotocol/sdk's client goes through with no registration by hand", async (t) => {
  let audience = ''
  const running = await startServer({
    tokenType: 'Bearer',
    clients: clientDirectory([]),
    registration: { accept: () => ({ audiences: [audience] }) },
  })
  t.after(() => running.close())
  audience = `${running.origin}/mcp`
  const metadataPath = '/.well-known/oauth-protected-resource/mcp'
  // protectedResource() wants https, as RFC 9728 does; the client takes http on this machine.
  running.app.get(metadataPath, (_req, res) => {
    res.json({ resource: audience, authorization_servers: [running.issuer], scopes_supported: ['openid'] })
  })
  const bearer = requireBearer({
    issuer: running.issuer,
    audience,
    verify: running.server.verify,
    resourceMetadata: running.origin + metadataPath,
  })
  const users: unknown[] = []
  running.app.all('/mcp', bearer, express.json(), (req, res) => {
    users.push(req.auth?.kind === 'user' && req.auth.userId)
    const server = new McpServer({ name: 'tree', version: '1.0.0' })
    server.registerTool('whoami', {}, () => ({ content: [{ type: 'text', text: 'Ada' }] }))
    const transport = new StreamableHTTPServerTransport()
    void server.connect(transport as never).then(() => transport.handleRequest(req as never, res, req.body))
  })

  const authProvider = new Provider()
  const connect = () => {
    const transport = new StreamableHTTPClientTransport(new URL(audience), { authProvider })
    const client = new Client({ name: 'client', version: '1.0.0' })
    return { transport, client, connected: client.connect(transport) }
  }
  const first = connect()
  await assert.rejects(first.connected, /Unauthorized/)
  assert.match(authProvider.client?.client_id ?? '', /^dyn-/)
  const asked = authProvider.url?.searchParams
  assert.deepEqual([asked?.get('resource'), asked?.get('code_challenge_method')], [audience, 'S256'])

  const back = await follow(new UserAgent(running.origin), String(authProvider.url), (to) => to.startsWith(CALLBACK))
  await first.transport.finishAuth(new URL(back as string).searchParams.get('code') ?? '')
  const second = connect()
  await second.connected
  const { content } = await second.client.callTool({ name: 'whoami' })
  assert.deepEqual(content, [{ type: 'text', text: 'Ada' }])
  assert.ok(users.length > 0 && users.every((user) => user === 'KWC6-X7D'))
  await second.client.close()
})
