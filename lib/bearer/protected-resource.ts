import type { Router as ExpressRouter } from 'express'
import { Router } from '../http/express'
import { optionError } from '../http/help'
import { isJsonObject } from '../http/json'
import {
  type Option,
  type OptionTable,
  checkedLater,
  flag,
  isText,
  oneOf,
  option,
  readOptions,
  text,
} from '../http/option-table'
import { shown } from '../http/options'
import { allowHttpHint, isSecureUrl } from '../http/fetch/secure-url'
import { isScope } from './session/scope'
import { knownUrl } from '../http/url'

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
  /** Places of the token: `'header'`, `'body'`, `'query'`. Default `['header']`. */
  readonly bearerMethods?: readonly ('header' | 'body' | 'query')[] | undefined
  /** Whether every token must be bound to a key (RFC 9449): `true` with `requireBearer({ dpop: { required: true } })`. */
  readonly dpopRequired?: boolean | undefined
  /**
   * Further members of the metadata, by their names in RFC 9728 §2, also in other languages:
   * `{ resource_tos_uri: 'https://example.org/terms', 'resource_name#de': 'Stammbaum' }`.
   */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  /** Accepts http addresses of other machines, for a test network. Default false. */
  readonly allowHttp?: boolean | undefined
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

const isListOf = (isOne: (one: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(isOne)
const isMethod = (value: unknown) => ['header', 'body', 'query'].includes(value as string)
const isUrl = (value: unknown) => isSecureUrl(value, true)
const texts = () => option<readonly string[]>('a list of texts', isListOf(isText))
const url = () => option<string>('an https URL', isUrl)
const isBoolean = () => oneOf<boolean>([true, false])

const TABLE = {
  resource: option<string>('an https URL without a fragment', isText),
  authorizationServers: option<readonly string[]>('a list of https URLs', isListOf(isUrl)),
  scopes: option<readonly string[]>('scopes as RFC 6749 §3.3 writes them', isListOf(isScope)),
  name: text(),
  documentation: url(),
  bearerMethods: option("a list of 'header', 'body', 'query'", isListOf(isMethod), ['header']),
  dpopRequired: isBoolean(),
  metadata: checkedLater<Readonly<Record<string, unknown>>>({}),
  allowHttp: flag(),
}

/** Members that are options by another name. */
const OPTIONS: Readonly<Record<string, string>> = {
  resource: 'resource',
  authorization_servers: 'authorizationServers',
  scopes_supported: 'scopes',
  resource_name: 'name',
  resource_documentation: 'documentation',
  bearer_methods_supported: 'bearerMethods',
  dpop_bound_access_tokens_required: 'dpopRequired',
}

/** Further members of RFC 9728 §2, and what they take. Those of extensions are taken as they are. */
const MEMBERS: OptionTable = {
  dpop_signing_alg_values_supported: texts(),
  tls_client_certificate_bound_access_tokens: isBoolean(),
  authorization_details_types_supported: texts(),
  jwks_uri: url(),
  resource_signing_alg_values_supported: texts(),
  resource_policy_uri: url(),
  resource_tos_uri: url(),
  signed_metadata: text(),
}
/** Members for people, which may have a language behind them (BCP 47): `resource_name#de`. */
const FOR_PEOPLE: OptionTable = {
  resource_name: text(),
  resource_documentation: url(),
  resource_policy_uri: url(),
  resource_tos_uri: url(),
}
const IN_LANGUAGE = /^(\w+)#[A-Za-z0-9-]+$/

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
export function protectedResource(options: ProtectedResourceOptions): ExpressRouter & {
  /** The address of the metadata, for the option `resourceMetadata` of `requireBearer()`. */
  readonly url: string
} {
  for (const name of Object.keys(options ?? {})) {
    const option = name === 'resource' ? undefined : own(OPTIONS, name)
    if (option !== undefined) throw optionError(`protectedResource() has the option ${option} for ${name}`)
    if (ruleOf(name)) throw optionError(`protectedResource() takes ${name} as a member of metadata`)
  }
  const { allowHttp, metadata: further, ...values } = readOptions('protectedResource()', options, TABLE)
  const { resource, authorizationServers } = values
  if (!isSecureUrl(resource, allowHttp) || resource.includes('#')) {
    throw optionError(
      `resource must be an https URL without a fragment; received ${shown(resource)}${allowHttpHint(resource)}`,
    )
  }
  checkMembers(further)
  for (const [option, value] of Object.entries({ authorizationServers, 'metadata.jwks_uri': further.jwks_uri })) {
    if ([value ?? []].flat().every((one) => isSecureUrl(one, allowHttp))) continue
    throw optionError(`${option} must have https URLs; received ${shown(value)}${allowHttpHint([value].flat()[0])}`)
  }

  const { origin, pathname, search } = knownUrl(resource)
  const path = WELL_KNOWN + (pathname === '/' ? '' : pathname)
  const paths = [path, path.replace(/\/$/, '')] // clients of MCP ask without the slash at the end
  const named = Object.entries(OPTIONS).map(([member, option]) => [member, values[option as keyof typeof values]])
  const metadata = JSON.stringify({ ...Object.fromEntries(named), ...further } as object, unlessEmpty)
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

/** @throws {TypeError} naming the member of `metadata` that is wrong, or has an option of its own */
function checkMembers(further: unknown): void {
  if (!isJsonObject(further)) throw optionError(`metadata must be an object of members; received ${shown(further)}`)
  for (const [member, value] of Object.entries(further)) {
    if (value === undefined) continue
    const option = own(OPTIONS, member)
    if (option !== undefined) throw optionError(`protectedResource() has the option ${option} for metadata.${member}`)
    const rule = ruleOf(member)
    if (rule?.is(value) === false) {
      throw optionError(`metadata.${member} must be ${rule.must}; received ${shown(value)}`)
    }
  }
}

function ruleOf(member: string): Option<unknown> | undefined {
  return own(MEMBERS, member) ?? own(FOR_PEOPLE, IN_LANGUAGE.exec(member)?.[1] ?? '')
}

function own<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** RFC 9728 §3.2: a list without a value is left out, except that of methods, where it says that there are none (§2). */
function unlessEmpty(name: string, value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 && name !== 'bearer_methods_supported' ? undefined : value
}
