import type { Router as ExpressRouter } from 'express'
import { Router } from '../http/express'
import { optionError } from '../http/help'
import { flag, oneOf, option, readOptions } from '../http/option-table'
import { shown } from '../http/options'
import { allowHttpHint, isSecureUrl } from '../http/fetch/secure-url'
import { isScope } from './session/scope'

/** Options of {@link protectedResource}: members of the metadata (RFC 9728 §2), five of them by shorter names. */
export interface ProtectedResourceOptions {
  /** The API's own identifier: an https URL without a fragment (RFC 9728 §1.2). Mostly also its audience. */
  readonly resource: string
  /** Issuers whose tokens the API accepts. */
  readonly authorizationServers?: readonly string[] | undefined
  /** Scopes of the API. */
  readonly scopes?: readonly string[] | undefined
  /** Name to show to people. In another language: `'resource_name#de'`. */
  readonly name?: string | undefined
  /** Address of the API's documentation. In another language: `'resource_documentation#de'`. */
  readonly documentation?: string | undefined
  /** Places of the token: `'header'`, `'body'`, `'query'`. Default `['header']`. */
  readonly bearer_methods_supported?: readonly ('header' | 'body' | 'query')[] | undefined
  /** Whether every token must be bound to a key (RFC 9449): `true` with `requireBearer({ dpop: { required: true } })`. */
  readonly dpop_bound_access_tokens_required?: boolean | undefined
  /** Algorithms of DPoP proofs: `['ES256']`. */
  readonly dpop_signing_alg_values_supported?: readonly string[] | undefined
  /** Whether tokens are bound to a client certificate (RFC 8705). */
  readonly tls_client_certificate_bound_access_tokens?: boolean | undefined
  /** Types of `authorization_details` (RFC 9396). */
  readonly authorization_details_types_supported?: readonly string[] | undefined
  /** Address of the API's own JWK Set, for responses that it signs. */
  readonly jwks_uri?: string | undefined
  /** Algorithms of those signatures. */
  readonly resource_signing_alg_values_supported?: readonly string[] | undefined
  /** Address of the page about the use of data. In another language: `'resource_policy_uri#de'`. */
  readonly resource_policy_uri?: string | undefined
  /** Address of the terms of service. In another language: `'resource_tos_uri#de'`. */
  readonly resource_tos_uri?: string | undefined
  /** The metadata as a signed JWT (RFC 9728 §2.2). */
  readonly signed_metadata?: string | undefined
  /** A text or an address for people in another language (BCP 47): `{ 'resource_name#de': 'Stammbaum' }`. */
  readonly [inLanguage: `resource_${'name' | 'documentation' | 'policy_uri' | 'tos_uri'}#${string}`]: string | undefined
  /** Accepts http addresses of other machines, for a test network. Default false. */
  readonly allowHttp?: boolean | undefined
}

/** Router that {@link protectedResource} returns. */
export type ProtectedResourceRouter = ExpressRouter & {
  /** The address of the metadata, for the option `resourceMetadata` of `requireBearer()`. */
  readonly url: string
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'
const IN_LANGUAGE = /^resource_(?:name|documentation|policy_uri|tos_uri)#[A-Za-z0-9-]+$/

const isText = (value: unknown) => typeof value === 'string' && value !== ''
const isListOf = (isOne: (one: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(isOne)
const isMethod = (value: unknown) => ['header', 'body', 'query'].includes(value as string)
const isUrl = (value: unknown) => isSecureUrl(value, true)
const texts = () => option<readonly string[]>('a list of texts', isListOf(isText))
const text = () => option<string>('a text', isText)
const url = () => option<string>('an https URL', isUrl)
const isBoolean = () => oneOf<boolean>([true, false])

const TABLE = {
  resource: option<string>('an https URL without a fragment', isText),
  authorizationServers: option<readonly string[]>('a list of https URLs', isListOf(isUrl)),
  scopes: option<readonly string[]>('scopes as RFC 6749 §3.3 writes them', isListOf(isScope)),
  name: text(),
  documentation: url(),
  bearer_methods_supported: option("a list of 'header', 'body', 'query'", isListOf(isMethod), ['header']),
  dpop_bound_access_tokens_required: isBoolean(),
  dpop_signing_alg_values_supported: texts(),
  tls_client_certificate_bound_access_tokens: isBoolean(),
  authorization_details_types_supported: texts(),
  jwks_uri: url(),
  resource_signing_alg_values_supported: texts(),
  resource_policy_uri: url(),
  resource_tos_uri: url(),
  signed_metadata: text(),
  allowHttp: flag(),
}

/** Members with a shorter name here. */
const SHORTER: Readonly<Record<string, string>> = {
  authorization_servers: 'authorizationServers',
  scopes_supported: 'scopes',
  resource_name: 'name',
  resource_documentation: 'documentation',
}

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
  const names = Object.keys(options ?? {})
  const long = names.find((name) => Object.hasOwn(SHORTER, name))
  if (long !== undefined) throw optionError(`protectedResource() has the option ${SHORTER[long]} for ${long}`)
  const inLanguages = names.filter((name) => IN_LANGUAGE.test(name))
  const ofLanguages = inLanguages.map((name) => [name, name.startsWith('resource_name') ? text() : url()])
  const table = { ...TABLE, ...(Object.fromEntries(ofLanguages) as object) }
  const { resource, authorizationServers, scopes, name, documentation, allowHttp, ...members } = readOptions(
    'protectedResource()',
    options,
    table,
  )
  if (!isSecureUrl(resource, allowHttp) || resource.includes('#')) {
    throw optionError(
      `resource must be an https URL without a fragment; received ${shown(resource)}${allowHttpHint(resource)}`,
    )
  }
  for (const [option, value] of Object.entries({ authorizationServers, jwks_uri: members.jwks_uri })) {
    if ([value ?? []].flat().every((one) => isSecureUrl(one, allowHttp))) continue
    throw optionError(`${option} must have https URLs; received ${shown(value)}${allowHttpHint([value].flat()[0])}`)
  }

  const { origin, pathname, search } = new URL(resource)
  const path = WELL_KNOWN + (pathname === '/' ? '' : pathname)
  const paths = [path, path.replace(/\/$/, '')] // clients of MCP ask without the slash at the end
  const named = { authorization_servers: authorizationServers, scopes_supported: scopes, resource_name: name }
  const metadata = JSON.stringify(
    { resource, ...named, resource_documentation: documentation, ...members },
    unlessEmpty,
  )
  const router = Router()
  router.use((req, res, next) => {
    if (!['GET', 'HEAD', 'OPTIONS'].includes(req.method) || !paths.includes(req.path)) return next()
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

/** RFC 9728 §3.2: a list without a value is left out, except that of methods, where it says that there are none (§2). */
function unlessEmpty(name: string, value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 && name !== 'bearer_methods_supported' ? undefined : value
}
