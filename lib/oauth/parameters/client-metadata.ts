import { isScope } from '../../bearer/session/scope'
import type { JsonObject } from '../../http/json'
import { type UriPolicy, hostOf, redirectUriFault } from '../directories/redirect-uri'
import { isDocumentUrl } from '../directories/document-url'
import { readPublicJwks } from '../keys/public-jwks'
import { OAuthError } from '../oauth-error'

/** The metadata of a registration (RFC 7591 §2), with the defaults filled in. */
export interface ClientMetadata {
  /**
   * The URL of the app's metadata document, where it has one. Self-registered apps have none.
   *
   * @experimental metadata documents are an Internet-Draft
   */
  readonly client_id?: string | undefined
  /** Where users are sent back to; checked as those of registered apps are. */
  readonly redirect_uris: readonly string[]
  /** The app's name, as users see it. */
  readonly client_name: string
  /** How the app says who it is at the token endpoint. Default `client_secret_basic`. */
  readonly token_endpoint_auth_method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  /** The app's public keys, for `private_key_jwt`. */
  readonly jwks?: { readonly keys: readonly { readonly kty?: string; readonly kid?: string }[] } | undefined
  /** The URL of its public keys, in place of `jwks`. */
  readonly jwks_uri?: string | undefined
  /** Grants that the app will use. Default `['authorization_code']`. */
  readonly grant_types: readonly ('authorization_code' | 'refresh_token')[]
  /** Always `['code']`. */
  readonly response_types: readonly 'code'[]
  /** Scopes with spaces between. */
  readonly scope?: string | undefined
  /** The app's home page. */
  readonly client_uri?: string | undefined
  /** Where users may be sent after a sign-out. */
  readonly post_logout_redirect_uris?: readonly string[] | undefined
  /** Whether the app sends its authorization requests beforehand only (RFC 9126). */
  readonly require_pushed_authorization_requests?: boolean | undefined
  /** Whether all tokens of the app are bound to its key (RFC 9449). */
  readonly dpop_bound_access_tokens?: boolean | undefined
  /**
   * All members as an app that registers itself sent them, for `accept()` alone: `software_statement` (RFC 7591 §2.3),
   * `contacts`. The server checks, keeps and answers none that is not above. A metadata document has none.
   */
  readonly sent?: Readonly<Record<string, unknown>> | undefined
}

const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const
const MOST_URIS = 10
const LONGEST_NAME = 100
const DISGUISES = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

/**
 * Reads the metadata of a registration. A member that is `null` is absent, as many clients write it (RFC 7591 §2.2). Custom
 * schemes without a dot pass here: `accept` decides about them.
 *
 * @param policy which redirect URIs it may have
 * @throws {OAuthError} invalid_redirect_uri or invalid_client_metadata (RFC 7591 §3.2.2)
 */
export function readClientMetadata(members: JsonObject, policy: UriPolicy): ClientMetadata {
  const body = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
  const redirectUris = urisOf(body, 'redirect_uris', policy)
  if (redirectUris.length === 0) throw invalidRedirectUri('The redirect_uris are missing.')
  const postLogoutUris = urisOf(body, 'post_logout_redirect_uris', policy)
  const scope = textOf(body, 'scope', 7_000)
  const clientUri = textOf(body, 'client_uri', 2_000)
  const pushed = booleanOf(body, 'require_pushed_authorization_requests')
  const bound = booleanOf(body, 'dpop_bound_access_tokens')
  listOf(body, 'response_types', ['code'] as const)
  const method = oneOf(body, 'token_endpoint_auth_method', AUTH_METHODS, 'client_secret_basic')
  return {
    redirect_uris: redirectUris,
    client_name: textOf(body, 'client_name', LONGEST_NAME) ?? hostOf(redirectUris[0] as string),
    token_endpoint_auth_method: method,
    ...(method === 'private_key_jwt' && keysIn(body)),
    grant_types: listOf(body, 'grant_types', GRANT_TYPES) ?? ['authorization_code'],
    response_types: ['code'],
    ...(scope !== undefined && { scope }),
    ...(clientUri !== undefined && { client_uri: clientUri }),
    ...(postLogoutUris.length > 0 && { post_logout_redirect_uris: postLogoutUris }),
    ...(pushed !== undefined && { require_pushed_authorization_requests: pushed }),
    ...(bound !== undefined && { dpop_bound_access_tokens: bound }),
  }
}

/** What a request without `scope` asks for: what the app registered, else `openid` and what `accept` named. */
export function defaultScopeOf({ scope }: ClientMetadata, granted: readonly string[] = []): readonly string[] {
  return scope?.split(' ').filter(isScope) ?? ['openid', ...granted]
}

/** Keys or their address, not both (RFC 7591 §2). Clients that use no keys here may have some for other purposes. */
function keysIn({ jwks, jwks_uri: uri }: JsonObject): Pick<ClientMetadata, 'jwks' | 'jwks_uri'> {
  if ((jwks === undefined) === (uri === undefined)) {
    throw invalidMetadata('The method private_key_jwt needs either jwks or jwks_uri.')
  }
  if (uri !== undefined) {
    if (typeof uri === 'string' && uri.length <= 2_000 && isDocumentUrl(uri)) return { jwks_uri: uri }
    throw invalidMetadata('The jwks_uri must be an https URL with a path.')
  }
  const keys = readPublicJwks(jwks).map(({ jwk }) => jwk)
  if (keys.length > 0) return { jwks: { keys } }
  throw invalidMetadata('The jwks must hold a public key: RSA of 2048 to 4096 bits, EC on P-256, or Ed25519.')
}

function urisOf(body: JsonObject, name: string, policy: UriPolicy): readonly string[] {
  const uris = body[name] ?? []
  if (!Array.isArray(uris) || uris.length > MOST_URIS) {
    throw invalidRedirectUri(`The ${name} must be a list of at most ${MOST_URIS} URIs.`)
  }
  for (const uri of uris as readonly unknown[]) {
    const fault = redirectUriFault(uri, policy)
    if (fault !== undefined) throw invalidRedirectUri(`One of the ${name} ${fault}.`)
  }
  return uris as readonly string[]
}

/** A list that holds at least one known value; unknown ones are left out, as RFC 7591 §2 allows. */
function listOf<T extends string>(body: JsonObject, name: string, known: readonly T[]): readonly T[] | undefined {
  const values = body[name]
  if (values === undefined) return undefined
  const found = known.filter((one) => Array.isArray(values) && values.includes(one))
  if (found.length === 0) throw invalidMetadata(`The ${name} must hold ${known.join(' or ')}.`)
  return found
}

function oneOf<T extends string>(body: JsonObject, name: string, known: readonly T[], byDefault: T): T {
  const value = body[name] ?? byDefault
  const found = known.find((one) => one === value)
  if (found === undefined) throw invalidMetadata(`The ${name} must be ${known.join(' or ')}.`)
  return found
}

/**
 * Control characters and those that turn the direction of text could disguise a name. The joiners U+200C and U+200D belong
 * to Persian and to emoji.
 */
function textOf(body: JsonObject, name: string, longest: number): string | undefined {
  const value = body[name]
  if (value === undefined) return undefined
  const isText = typeof value === 'string' && value.length <= longest && !DISGUISES.test(value)
  if (!isText) throw invalidMetadata(`The ${name} must be a text of at most ${longest} printable characters.`)
  return value.trim() === '' ? undefined : value.trim()
}

function booleanOf(body: JsonObject, name: string): boolean | undefined {
  const value = body[name]
  if (value === undefined || typeof value === 'boolean') return value
  throw invalidMetadata(`The ${name} must be true or false.`)
}

function invalidRedirectUri(message: string): OAuthError {
  return new OAuthError('invalid_redirect_uri', message)
}

/** `invalid_client_metadata` (RFC 7591 §3.2.2). */
export function invalidMetadata(message: string): OAuthError {
  return new OAuthError('invalid_client_metadata', message)
}
