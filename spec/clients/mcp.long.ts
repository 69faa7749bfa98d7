import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import express from 'express'
import { protectedResource, requireBearer } from '../../lib'
import { clientDirectory } from '../../lib/oauth'
import { publicFetch } from '../../lib/oauth/clients/public-fetch'
import { closed, startServer } from '../oauth/support'
import { UserAgent } from '../oauth/user-agent'
import { CERT, KEY } from '../support/tls'
import { CALLBACK, McpClientProvider } from './mcp-client'
import { follow } from './today'
import { assertIs, above } from '../support/until'

it("@modelcontextprotocol/sdk's client goes through with no registration by hand", async () => {
  let audience = ''
  const running = await startServer({
    tokenType: 'Bearer',
    clients: clientDirectory([]),
    registration: { accept: () => ({ audiences: [audience] }) },
  })
  audience = `${running.origin}/mcp`
  const metadata = protectedResource({ resource: audience, authorizationServers: [running.issuer], scopes: ['openid'] })
  running.app.use(metadata)
  const bearer = requireBearer({
    issuer: running.issuer,
    audience,
    verify: running.server.verify,
    resourceMetadata: metadata.url,
    scope: 'openid',
  })
  const users: unknown[] = []
  const told: (AuthInfo | undefined)[] = []
  running.app.all('/mcp', bearer, express.json(), (req, res) => {
    users.push(req.auth?.kind === 'user' && req.auth.userId)
    const server = new McpServer({ name: 'tree', version: '1.0.0' })
    server.registerTool('whoami', {}, ({ authInfo }) => {
      told.push(authInfo)
      return { content: [{ type: 'text', text: 'Ada' }] }
    })
    const transport = new StreamableHTTPServerTransport()
    void server.connect(transport).then(() => transport.handleRequest(req, res, req.body))
  })

  const authProvider = new McpClientProvider()
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
  // The next start of the client listens on another port, as its system gives one out.
  const { origin } = new URL(running.issuer)
  const elsewhere = new URL(String(authProvider.url))
  elsewhere.searchParams.set('redirect_uri', CALLBACK.replace('3334', '41017'))
  const agent = new UserAgent(origin)
  const other = await follow(agent, String(elsewhere), (to) => to.startsWith('http://localhost:41017/oauth/callback'))
  assert.match(other as string, /[?&]code=[\w-]{43}/)
  const second = connect()
  await second.connected
  const { content } = await second.client.callTool({ name: 'whoami' })
  assert.deepEqual(content, [{ type: 'text', text: 'Ada' }])
  const { token, clientId, scopes, expiresAt = 0 } = told[0] ?? assert.fail()
  assert.deepEqual(
    [token, clientId, scopes],
    [authProvider.kept?.access_token, authProvider.client?.client_id, ['openid']],
  )
  assertIs(expiresAt, above(Date.now() / 1_000))
  assert.ok(users.length > 0 && users.every((user) => user === 'KWC6-X7D'))
  await second.client.close()
})

it("@modelcontextprotocol/sdk's client goes through by the document that its URL names, refreshes and signs out", async (t) => {
  const host = createServer({ cert: CERT, key: KEY }).listen(0, '127.0.0.1')
  await once(host, 'listening')
  t.after(() => closed(host))
  const provider = new McpClientProvider()
  const clientMetadataUrl = `https://editor.test:${(host.address() as AddressInfo).port}/client.json`
  host.on(
    'request',
    (_req, res) => void res.end(JSON.stringify({ ...provider.clientMetadata, client_id: clientMetadataUrl })),
  )
  let resource = ''
  const lookUp = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
  const running = await startServer({
    dialect: 'standard',
    clients: clientDirectory([]),
    registration: {
      accept: () => ({ scopes: ['mcp:tools'], audiences: [resource] }),
      fetch: publicFetch({ lookUp, isPublic: () => true, ca: CERT }),
    },
  })
  resource = `${running.origin}/mcp`
  const metadata = protectedResource({ resource, authorizationServers: [running.issuer], scopes: ['mcp:tools'] })
  running.app.use(metadata)

  const authProvider = Object.assign(provider, { clientMetadataUrl })
  const asked = { serverUrl: resource, scope: 'mcp:tools offline_access' }
  assert.equal(await auth(authProvider, asked), 'REDIRECT')
  assert.equal(authProvider.client?.client_id, clientMetadataUrl, 'without a registration')
  const agent = new UserAgent(running.origin)
  const back = await follow(agent, String(authProvider.url), (to) => to.startsWith(CALLBACK))
  const authorizationCode = new URL(back as string).searchParams.get('code') ?? ''
  assert.equal(await auth(authProvider, { ...asked, authorizationCode }), 'AUTHORIZED')
  const first = authProvider.kept
  assert.equal(await auth(authProvider, asked), 'AUTHORIZED', 'by the refresh token')
  assert.notEqual(authProvider.kept?.access_token, first?.access_token)
  const token = authProvider.kept?.access_token ?? ''
  assert.equal((await running.server.verify(token))?.client_id, clientMetadataUrl)
  assert.deepEqual(
    (await running.server.approvals('KWC6-X7D')).map(({ clientId }) => clientId),
    [clientMetadataUrl],
  )
  await running.server.withdrawApproval('KWC6-X7D', clientMetadataUrl)
  assert.equal(await running.server.verify(token), undefined)
})
