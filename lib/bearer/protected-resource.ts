import type { Router as ExpressRouter } from 'express'
import { Router } from '../http/express'
import { optionNames, optionType, shown } from '../http/options'
import { isScope } from './session/scope'
import { isSecureUrl } from '../http/secure-url'

/** Options of {@link protectedResource}. */
export interface ProtectedResourceOptions {
  /** The API's own identifier: an https URL without a fragment (RFC 9728 §1.2). Mostly also its audience. */
  readonly resource: string
  /** The issuers whose tokens it takes. */
  readonly authorizationServers?: readonly string[]
  /** The scopes it knows. */
  readonly scopes?: readonly string[]
  /** Its name for people. */
  readonly name?: string
  /** The address of its documentation. */
  readonly documentation?: string
}

/** What {@link protectedResource} returns. */
export type ProtectedResourceRouter = ExpressRouter & {
  /** The address of the metadata, for the option `resourceMetadata` of `requireBearer()`. */
  readonly url: string
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/**
 * Publishes the metadata of the API, by which clients find out whose tokens it takes (RFC 9728). It stands before
 * `requireBearer()`, at the root of the app.
 *
 * @example
 * const metadata = protectedResource({ resource: 'https://api.example.org', authorizationServers: [issuer] })
 * app.use(metadata)
 * app.use(requireBearer({ issuer, audience, resourceMetadata: metadata.url }))
 * @throws {TypeError} in the factory, naming the option
 */
export function protectedResource(options: ProtectedResourceOptions): ProtectedResourceRouter {
  optionNames('protectedResource()', options, ['resource', 'authorizationServers', 'scopes', 'name', 'documentation'])
  const { resource, authorizationServers, scopes, name, documentation } = options
  if (!isSecureUrl(resource, false) || resource.includes('#')) {
    throw new TypeError(`resource must be an https URL without a fragment; received ${shown(resource)}`)
  }
  if (authorizationServers !== undefined && !isListOf(authorizationServers, (one) => isSecureUrl(one, false))) {
    throw new TypeError(`authorizationServers must be a list of https URLs; received ${shown(authorizationServers)}`)
  }
  if (scopes !== undefined && !isListOf(scopes, isScope)) {
    throw new TypeError(`scopes must be scopes as RFC 6749 §3.3 writes them; received ${shown(scopes)}`)
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
    const read = req.method === 'GET' || req.method === 'HEAD'
    if (!read || req.path !== path) return next()
    res.setHeader('Cache-Control', 'public, max-age=3600')
    res.setHeader('Access-Control-Allow-Origin', '*') // public by its nature, and read by clients in browsers
    res.type('application/json').send(metadata)
  })
  return Object.assign(router, { url: `${origin}${path}${search}` })
}

function isListOf(value: unknown, isOne: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne)
}
