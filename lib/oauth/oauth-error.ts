/** The error codes of this server: RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, OIDC Core §3.1.2.6 and its extensions. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'invalid_dpop_proof'
  | 'use_dpop_nonce'
  | 'access_denied'
  | 'temporarily_unavailable'
  | 'login_required'
  | 'interaction_required'
  | 'consent_required'
  | 'unmet_authentication_requirements'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported'
  | 'unauthorized'
  | 'invalid_token'
  | 'insufficient_scope'

/**
 * A request refused with an OAuth error. `message` becomes `error_description`: plain ASCII without quotes or backslashes
 * (RFC 6749 §5.2), and never what the client sent.
 */
export class OAuthError extends Error {
  /** For the server's developer, who may see what the client sent. Never a secret. */
  reason: string | undefined

  /**
   * @param code as on the wire, such as `invalid_grant`
   * @param status HTTP status of a JSON response; a redirect does not use it
   */
  constructor(
    readonly code: OAuthErrorCode,
    message: string,
    readonly status: 400 | 401 | 403 | 405 | 409 | 413 | 429 | 503 = 400,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
    this.name = 'OAuthError'
  }

  /**
   * Adds the reason for the server's developer, which the client does not see: `redirect_uri 'x' is not one of [ 'y'
   * ]`.
   */
  because(reason: string): this {
    this.reason = reason
    return this
  }
}

/** `invalid_request`: the request is malformed (RFC 6749 §5.2). */
export function invalidRequest(message: string, status: 400 | 405 | 413 = 400): OAuthError {
  return new OAuthError('invalid_request', message, status)
}

/**
 * `invalid_grant`: a wrong, expired or spent code or token, or another client's. One answer for all, so that clients
 * cannot tell them apart.
 */
export function invalidGrant(what: string): OAuthError {
  return new OAuthError('invalid_grant', `The ${what} is not valid, has expired or has been used.`)
}

/** A form that a page of this server did not submit (RFC 9700 §4.7). */
export function foreignForm(): OAuthError {
  return new OAuthError('access_denied', 'The form was not submitted by a page of this server.', 403)
}
