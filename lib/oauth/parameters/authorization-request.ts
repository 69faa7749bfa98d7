import { shown } from '../../http/options'
import { type KnownClient, type ResponseType, asksApproval, hasRedirectUri, mayUse } from '../directories/client'
import { redirectUriFault } from '../directories/redirect-uri'
import { OAuthError, invalidRequest } from '../oauth-error'
import type { SignInPageOptions } from '../server-options'
import type { Params, RawParams } from './params'
import { audienceFor } from './resource'
import { type ClaimsRequest, readClaimsRequest } from './claims-request'
import { type Challenge, challengeOf } from './pkce'
import { type ScopePolicy, grantableScope, noScope, parseScope } from './requested-scope'

/** The authorization request's parameters. Others are for a sign-in page of the app's own, else ignored (RFC 6749 §3.1). */
export const AUTHORIZATION_PARAMS = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'response_mode',
  'prompt',
  'nonce',
  'max_age',
  'login_hint',
  'id_token_hint',
  'ui_locales',
  'acr_values',
  'claims',
  'dpop_jkt',
  'request',
  'request_uri',
  'registration',
] as const

/** Bytes of all parameters: they stand in pages, in redirects, and in the store. */
const LONGEST_REQUEST = 16_384
/** Characters of the name of a parameter that is not known here. */
const LONGEST_NAME = 64
/** Of a pushed request. No page is told of them. */
const CREDENTIALS = ['client_secret', 'client_assertion', 'client_assertion_type']

/** @throws {OAuthError} invalid_request for parameters that cannot be kept while the user signs in */
export function refuseLongRequest(params: Params, { login }: Pick<AuthorizationRules, 'login'>): void {
  const others = login ? Object.keys(otherParams(params)) : []
  params.refuseLonger([...AUTHORIZATION_PARAMS, 'resource', ...others], LONGEST_REQUEST)
}

/** Parameters that the server does not know, such as `idp_hint`: the first value of each. */
export function otherParams(params: Params): Readonly<Record<string, string>> {
  const known: readonly string[] = [...AUTHORIZATION_PARAMS, 'resource', ...CREDENTIALS]
  const others = params.names.filter((name) => !known.includes(name) && name.length <= LONGEST_NAME)
  return Object.fromEntries(others.map((name) => [name, params.get(name) ?? '']))
}

/** The parameters that are kept while the user signs in: `resource` may be repeated (RFC 8707 §2). */
export function rawAuthorizationParams(params: Params, { login }: Pick<AuthorizationRules, 'login'>): RawParams {
  const raw: Record<string, string | readonly string[]> = login ? { ...otherParams(params) } : {}
  for (const name of AUTHORIZATION_PARAMS) {
    const value = params.get(name)
    if (value !== undefined) raw[name] = value
  }
  const resources = params.all('resource')
  return resources.length === 0 ? raw : { ...raw, resource: resources }
}

/** How the response gets to the app (OAuth 2.0 Multiple Response Types §2.1, Form Post Response Mode §2). */
export type ResponseMode = 'query' | 'fragment' | 'form_post'

/** A valid authorization request. */
export interface AuthorizationRequest {
  readonly client: KnownClient
  readonly redirectUri: string
  readonly state?: string | undefined
  readonly responseMode: ResponseMode
  /** `none`: the browser goes back without a response, to a page of this server's own. */
  readonly responseType: ResponseType | 'none'
  readonly scope: readonly string[]
  readonly challenge?: Challenge | undefined
  readonly nonce?: string | undefined
  readonly prompt: ReadonlySet<string>
  /** The user must sign in again if the last login is older than this many seconds. */
  readonly maxAgeSec?: number | undefined
  readonly loginHint: string
  readonly idTokenHint?: string | undefined
  readonly claims: ClaimsRequest
  readonly uiLocales?: string | undefined
  /** The strengths of login that the app asks for, best first; undefined where it does not ask for the strength. */
  readonly acrValues?: readonly string[] | undefined
  /** The audiences of the requested resources; undefined if none was requested. */
  readonly audience?: readonly string[] | undefined
  /** The thumbprint of the key that the code is bound to (RFC 9449 §10). */
  readonly dpopJkt?: string | undefined
}

/**
 * The values of `prompt` (OIDC Core §3.1.2.1). `create` is for a sign-in page of the app's own (Initiating User Registration
 * via OpenID Connect 1.0).
 */
export function promptsOf({ login }: Pick<AuthorizationRules, 'login'>): readonly string[] {
  return ['none', 'login', 'consent', 'select_account', ...(login ? ['create'] : [])]
}

/** The server's settings that decide about an authorization request. */
export interface AuthorizationRules extends ScopePolicy {
  /** The strength of every login here; undefined where the app's own page says it. */
  readonly everyAcr: string | undefined
  readonly audience: readonly string[]
  /** Whether a request without a scope is invalid, for an app without a `defaultScope`. */
  readonly isScopeNeeded: boolean
  /** The sign-in page of the app's own. */
  readonly login: SignInPageOptions | undefined
}

/** The redirect URI of a request. @throws {OAuthError} invalid_request unless its app registered it, and browsers can go there */
export function registeredRedirectUri(params: Params, client: KnownClient): string {
  const redirectUri = params.need('redirect_uri')
  const fault = redirectUriFault(redirectUri, { anyPrivateScheme: true, http: 'any' })
  if (fault !== undefined) {
    throw invalidRequest('The redirect_uri is malformed.').because(`redirect_uri ${shown(redirectUri)} ${fault}`)
  }
  if (hasRedirectUri(client, redirectUri)) return redirectUri
  throw invalidRequest('The redirect_uri is not registered.').because(
    `redirect_uri ${shown(redirectUri)} is not one of ${shown(client.redirectUris ?? [])}`,
  )
}

/**
 * Checks an authorization request. The caller has checked its client and redirect URI: errors from here are sent to that
 * URI (RFC 6749 §4.1.2.1).
 *
 * @throws {OAuthError} to send to the redirect URI
 */
export function readAuthorizationRequest(
  params: Params,
  client: KnownClient,
  redirectUri: string,
  rules: AuthorizationRules,
): AuthorizationRequest {
  params.refuseRepeated(AUTHORIZATION_PARAMS)
  for (const name of ['request', 'request_uri', 'registration'] as const) {
    if (params.get(name) !== undefined)
      throw new OAuthError(`${name}_not_supported`, `The parameter ${name} is not supported.`)
  }
  const responseType = responseTypeOf(params, client)
  if (!mayUse(client, 'authorization_code')) {
    throw new OAuthError('unauthorized_client', 'This app is not registered for the authorization code grant.')
  }
  const responseMode = responseModeOf(params, responseType, redirectUri)
  const { identity, everyAcr, audience } = rules
  const asked = parseScope(params.get('scope') ?? client.defaultScope?.join(' '))
  if (rules.isRealmNeeded && asked.length > 0 && client.realm === undefined) throw realmMissing()
  const resources = params.all('resource')
  const scope = grantableScope(asked, rules, client)
  if (scope.length === 0 && (asked.length > 0 || rules.isScopeNeeded)) throw noScope(asked)
  // The page on which a user approves the app shows its scopes, so it gets no claim beyond them.
  const known = asksApproval(client, redirectUri) ? identity.claimsOf(scope) : identity.claimsFor(client)
  const claims = readClaimsRequest(params.get('claims'), known ?? identity.claims, everyAcr)
  return {
    client,
    redirectUri,
    state: params.get('state'),
    responseMode,
    responseType,
    scope,
    challenge: challengeOf(params.get('code_challenge'), params.get('code_challenge_method'), {
      required: responseType === 'code' && (client.requirePkce ?? true),
      plain: client.plainPkce ?? false,
    }),
    nonce: params.get('nonce'),
    prompt: promptOf(params.get('prompt'), promptsOf(rules)),
    maxAgeSec: maxAgeOf(params.get('max_age')),
    loginHint: (params.get('login_hint') ?? '').replace(/\p{Cc}/gu, '').slice(0, 256),
    idTokenHint: params.get('id_token_hint'),
    claims,
    audience: resources.length === 0 ? undefined : audienceFor(resources, client.audiences ?? audience),
    dpopJkt: dpopJktOf(params.get('dpop_jkt')),
    uiLocales: params.get('ui_locales'),
    acrValues: acrValuesOf(params, claims),
  }
}

/** Entries of a list that are read. */
const MOST_LISTED = 20

/** The strengths of login that a request asks for, best first: at most 20. */
export function acrValuesOf(params: Params, claims = readClaimsRequest(params.get('claims'), [], undefined)) {
  const asked = claims.acrValues ?? params.get('acr_values')?.split(' ').filter(Boolean)
  return asked?.slice(0, MOST_LISTED)
}

function responseTypeOf(params: Params, client: KnownClient): ResponseType {
  const asked = params.need('response_type')
  const types = client.responseTypes ?? ['code']
  const type = types.find((one) => one === asked)
  if (type === undefined) {
    throw new OAuthError('unsupported_response_type', `The response_type must be ${types.join(' or ')}.`)
  }
  if (type === 'id_token' && params.get('nonce') === undefined) {
    throw invalidRequest('The parameter nonce is missing (OIDC Core section 3.2.2.1).')
  }
  return type
}

/** An id_token in a query would stand in the browser's history and in logs. */
function responseModeOf(params: Params, type: ResponseType, redirectUri: string): ResponseMode {
  const mode = params.get('response_mode') ?? 'query'
  if (mode === 'form_post' && /^https?:/.test(redirectUri)) return mode
  if ((mode === 'query' || mode === 'fragment') && type !== 'id_token') return mode
  throw invalidRequest(
    `The response_mode must be ${type === 'id_token' ? 'form_post' : 'query, fragment or form_post'}.`,
  )
}

function dpopJktOf(jkt: string | undefined): string | undefined {
  if (jkt === undefined || /^[\w-]{43}$/.test(jkt)) return jkt
  throw invalidRequest('The dpop_jkt must be a SHA-256 thumbprint (RFC 9449 section 10).')
}

function realmMissing(): OAuthError {
  return invalidRequest(
    'A validation exception occurred: client registration is required before a scope can be asked for. ' +
      'The realm of this app is added through developer support.',
  ).because("the app has no realm; write one into it, or for standard OAuth app.set('tollgate dialect', 'standard')")
}

function promptOf(prompt: string | undefined, known: readonly string[]): ReadonlySet<string> {
  const words = new Set(prompt?.split(' ').filter((word) => word !== ''))
  for (const word of words) if (!known.includes(word)) throw invalidRequest('The prompt has an unknown value.')
  if (words.has('none') && words.size > 1) throw invalidRequest('The prompt none cannot be combined with other values.')
  return words
}

function maxAgeOf(maxAge: string | undefined): number | undefined {
  if (maxAge === undefined) return undefined
  if (!/^\d{1,9}$/.test(maxAge)) throw invalidRequest('The max_age must be a whole number of seconds.')
  return Number(maxAge)
}
