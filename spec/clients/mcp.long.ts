import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { protectedResource } from '../../lib'
import { clientDirectory } from '../../lib/oauth'
import { publicFetch } from '../../lib/oauth/clients/public-fetch'
import { closed, startServer } from '../oauth/support'
import { UserAgent } from '../oauth/user-agent'
import { CERT, KEY } from '../support/tls'
import { CALLBACK, McpClientProvider } from './mcp-client'
import { follow } from './today'

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
