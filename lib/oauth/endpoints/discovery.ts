import type { Request, Response } from 'express'
import { ASYMMETRIC } from '../../bearer/keys/algorithm'
import { PROMPTS } from '../parameters/authorization-request'
import { ASSERTION_ALGORITHMS } from '../client-auth/assertion'
import { CLIENT_AUTH_METHODS } from '../client-auth/authenticate-client'
import type { ServerContext } from '../server-context'
import { GRANTS } from '../grants/grant-table'
import { type Endpoint, sendJson } from './endpoint'
import { jwks } from './jwks'

/** Seconds that caches may keep the document and the keys. Publish a key for longer than this before it signs. */
const PUBLISHED_FOR_SEC = 300

/** The OpenID Connect Discovery document (§4). */
export const openidConfigurationEndpoint: Endpoint = {
  path: '/.well-known/openid-configuration',
  methods: { GET: discovery },
  errors: 'json',
  cacheable: true,
}

/** The authorization server metadata (RFC 8414 §3). */
export const oauthMetadataEndpoint: Endpoint = {
  ...openidConfigurationEndpoint,
  path: '/.well-known/oauth-authorization-server',
}

/** Sends the discovery document. With `?certs` sends the keys: some of the service's clients fetch them there. */
export function discovery(ctx: ServerContext, req: Request, res: Response): void {
  const query = new URLSearchParams(req.url.split('?')[1])
  if (query.has('certs')) return jwks(ctx, req, res)
  sendJson(res, 200, metadata(ctx), { 'Cache-Control': `public, max-age=${PUBLISHED_FOR_SEC}` })
}

function metadata({
  issuer,
  keyring,
  identity,
  acr,
  requirePushedRequests,
  registration,
}: ServerContext): Record<string, unknown> {
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
    ...(registration && { registration_endpoint: `${issuer}/register` }),
    response_types_supported: ['code', 'id_token'],
    response_modes_supported: ['query', 'form_post'],
    pushed_authorization_request_endpoint: `${issuer}/par`,
    require_pushed_authorization_requests: requirePushedRequests,
    dpop_signing_alg_values_supported: ASYMMETRIC,
    grant_types_supported: [...GRANTS.keys()],
    scopes_supported: identity.names,
    claims_supported: [
      'sub',
      'iss',
      'aud',
      'exp',
      'iat',
      'auth_time',
      'nonce',
      'amr',
      'sid',
      'at_hash',
      'acr',
      ...identity.claims,
    ],
    claim_types_supported: ['normal'],
    claims_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    prompt_values_supported: PROMPTS,
    acr_values_supported: [acr],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(keyring.published().map(({ alg }) => alg))],
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
