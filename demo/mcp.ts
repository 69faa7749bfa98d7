import { createHash } from 'node:crypto'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { Router, json } from 'express'
import { type Throttle, protectedResource, requireBearer } from 'express-tollgate'
import type { AuthorizationServer } from 'express-tollgate/oauth'

/** Path of the MCP server. */
export const MCP_PATH = '/mcp'

/** For those who open the address in a browser. */
const ABOUT = `This is the MCP server of the express-tollgate demo. It answers POST requests of MCP clients.
Give this address to an MCP client, such as the MCP Inspector: it registers itself and opens the sign-in page.
`

/**
 * An MCP server for the user's own agent. A client needs no set-up: the first 401 leads it to the sign-in server, where
 * it registers itself and its user signs in. Tool calls are charged to the user.
 */
export function mcp(origin: string, issuer: string, { verify }: AuthorizationServer, throttled: Throttle): Router {
  const resource = origin + MCP_PATH
  const metadata = protectedResource({ resource, authorizationServers: [issuer], scopes: ['openid'] })
  const bearer = requireBearer({
    issuer,
    audience: resource,
    verify,
    scope: 'openid',
    resourceMetadata: metadata.url,
  })
  const router = Router()
  router.use(metadata)
  router.post(MCP_PATH, bearer, throttled, json(), (req, res, next) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true }) // no session, no stream
    const server = tools()
    res.on('close', () => void server.close())
    server
      .connect(transport)
      .then(() => transport.handleRequest(req, res, req.body))
      .catch(next)
  })
  router.all(MCP_PATH, (_req, res) => void res.status(405).set('Allow', 'POST').type('text').send(ABOUT))
  return router
}

function tools(): McpServer {
  const server = new McpServer({ name: 'family-records', version: '1.0.0' })
  const description = 'Shows which app calls on whose behalf, and for how long.'
  server.registerTool('who_am_i', { description }, ({ authInfo }) => {
    const { token = '', clientId, scopes, expiresAt } = authInfo ?? {}
    const fingerprint = createHash('sha256').update(token).digest('hex') // tools must not show the token itself
    return { content: [{ type: 'text', text: JSON.stringify({ fingerprint, clientId, scopes, expiresAt }) }] }
  })
  return server
}
