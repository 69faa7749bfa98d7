import type { Router as ExpressRouter } from 'express'
import { Router } from '../http/express'
import { optionError } from '../http/help'
import { optionNames, optionOneOf, optionType, shown } from '../http/options'
import { isScope } from './session/scope'
import { allowHttpHint, isSecureUrl } from '../http/secure-url'

/** Options of {@link protectedResource}. */
export interface ProtectedResourceOptions {
  /** The API's own identifier: an https URL without a fragment (RFC 9728 §1.2). Mostly also its audience. */
  readonly resource: string
  /** Issuers whose tokens the API accepts. */
  readonly authorizationServers?: readonly string[] | undefined
  /** Scopes of the API. */
  readonly scopes?: readonly string[] | undefined
  /** Name to show to people. */
  readonly name?: string | undefined
  /** Address of the API's documentation. */
  readonly documentation?: string | undefined
  /** Accepts http addresses of other machines, for a test network. Default false. */
  readonly allowHttp?: boolean | undefined
}

/** Router that {@link protectedResource} returns. */
export type ProtectedResourceRouter = ExpressRouter & {
  /** The address of the metadata, for the option `resourceMetadata` of `requireBearer()`. */
  readonly url: string
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/**
 * Publishes the metadata of the API (RFC 9728), which name the issuers of its tokens to clients. Mount it at the root of
 * the app, before `requireBearer()`.
 *
 * @example
 * const metadata = protectedResource({ resource: 'https://api.example.org', authorizationServers: [issuer] })
 * app.use(metadata)
 * app.use(requireBearer({ issuer, audience, resourceMetadata: metadata.url }))
 * @throws {TypeError} in the factory, naming the option
 */
export function protectedResource(options: ProtectedResourceOptions): ProtectedResourceRouter {
  optionNames('protectedResource()', options, [
    'resource',
    'authorizationServers',
    'scopes',
    'name',
    'documentation',
    'allowHttp',
  ])
  const { resource, authorizationServers, scopes, name, documentation, allowHttp = false } = options
  optionOneOf('allowHttp', allowHttp, [true, false])
  if (!isSecureUrl(resource, allowHttp) || resource.includes('#')) {
    throw optionError(
      `resource must be an https URL without a fragment; received ${shown(resource)}${allowHttpHint(resource)}`,
    )
  }
  if (authorizationServers !== undefined && !isListOf(authorizationServers, (one) => isSecureUrl(one, allowHttp))) {
    throw optionError(`authorizationServers must be a list of https URLs; received ${shown(authorizationServers)}`)
  }
  if (scopes !== undefined && !isListOf(scopes, isScope)) {
    throw optionError(`scopes must be scopes as RFC 6749 §3.3 writes them; received ${shown(scopes)}`)
  }
  optionType('name', name, 'string')
  optionType('documentation', documentation, 'string')

  const { origin, pathname, search } = new URL(resource)
  const path = WELL_KNOWN + (pathname === '/' ? '' : pathname)
  const metadata = JSON.stringify({
    resource,
    authorization_servers: authorizationServers,
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    resource_name: name,
    resource_documentation: documentation,
  })
  const router = Router()
  router.use((req, res, next) => {
    if (!['GET', 'HEAD', 'OPTIONS'].includes(req.method) || req.path !== path) return next()
    res.setHeader('Access-Control-Allow-Origin', '*') // public by its nature, and read by clients in browsers
    if (req.method === 'OPTIONS') {
      // MCP clients send `MCP-Protocol-Version`, for which browsers send a preflight.
      res.setHeader('Access-Control-Allow-Methods', 'GET, HEAD')
      res.setHeader('Access-Control-Allow-Headers', '*')
      res.setHeader('Access-Control-Max-Age', '86400')
      return void res.status(204).end()
    }
    res.setHeader('Cache-Control', 'public, max-age=3600')
    res.type('application/json').send(metadata)
  })
  return Object.assign(router, { url: `${origin}${path}${search}` })
}

function isListOf(value: unknown, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne)
}
