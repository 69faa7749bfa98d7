import type { Request, Response } from 'express'
import { ASYMMETRIC } from '../../bearer/keys/algorithm'
import { ASSERTION_ALGORITHMS } from '../client-auth/assertion'
import { CLIENT_AUTH_METHODS } from '../client-auth/authenticate-client'
import { promptsOf } from '../parameters/authorization-request'
import type { Parts, Uses } from '../parts'
import { type Endpoint, sendJson } from './endpoint'

/** Seconds that caches may keep the document and the keys. Publish a key for longer than this before it signs. */
const PUBLISHED_FOR_SEC = 300
const CACHED = { 'Cache-Control': `public, max-age=${PUBLISHED_FOR_SEC}` }

/** The discovery documents (OpenID Connect Discovery §4, RFC 8414 §3). The host's root has them, too. */
export function discoveryEndpoints(parts: Parts): readonly [Endpoint, Endpoint] {
  // With `?certs` sends the keys: some of the service's clients fetch them there.
  const discovery = (req: Request, res: Response) =>
    new URLSearchParams(req.url.split('?')[1]).has('certs')
      ? sendKeys(parts, res)
      : sendJson(res, 200, metadata(parts), CACHED)
  const cached = { methods: { GET: discovery }, errors: 'json', cacheable: true, anyOrigin: true } as const
  return [
    { path: '/.well-known/openid-configuration', ...cached },
    { path: '/.well-known/oauth-authorization-server', ...cached },
  ]
}

/** The public keys that verify tokens (RFC 7517 §5): current, next and retired. */
export function jwksEndpoint(parts: Uses<'keyring'>): Endpoint {
  const methods = { GET: (_req: Request, res: Response) => sendKeys(parts, res) }
  return { path: '/jwks', methods, errors: 'json', cacheable: true, anyOrigin: true }
}

function sendKeys({ keyring }: Uses<'keyring'>, res: Response): void {
  sendJson(res, 200, { keys: keyring.published().map(({ jwk }) => jwk) }, CACHED)
}

function metadata(parts: Parts): Record<string, unknown> {
  const { issuer, identity, registration } = parts
  const confidential = CLIENT_AUTH_METHODS.filter((method) => method !== 'none')
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorization`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    revocation_endpoint: `${issuer}/revoke`,
    introspection_endpoint: `${issuer}/introspect`,
    end_session_endpoint: `${issuer}/logout`,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    ...(registration && { registration_endpoint: `${issuer}/register`, client_id_metadata_document_supported: true }),
    response_types_supported: ['code', 'id_token'],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    pushed_authorization_request_endpoint: `${issuer}/par`,
    require_pushed_authorization_requests: parts.requirePushedRequests,
    dpop_signing_alg_values_supported: ASYMMETRIC,
    grant_types_supported: [
      'authorization_code',
      ...(parts.hasService ? ['unauthenticated_session'] : []),
      'client_credentials',
      'refresh_token',
    ],
    scopes_supported: [...new Set([...identity.names, ...parts.apiScopes])],
    claims_supported: [
      ...['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'amr', 'sid', 'at_hash', 'acr'],
      ...identity.claims,
    ],
    claim_types_supported: ['normal'],
    claims_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    prompt_values_supported: promptsOf(parts),
    ...(parts.everyAcr !== undefined && { acr_values_supported: [parts.everyAcr] }),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(parts.keyring.published().map(({ alg }) => alg))],
    access_token_typ_values_supported: ['at+jwt'], // RFC 9068 §2.1; for requireBearer(), which then takes no others
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    token_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    revocation_endpoint_auth_methods_supported: CLIENT_AUTH_METHODS,
    revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    introspection_endpoint_auth_methods_supported: confidential,
    introspection_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  }
}
