/** The error codes that this server answers with: RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, OIDC Core §3.1.2.6. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'access_denied'
  | 'temporarily_unavailable'
  | 'login_required'
  | 'interaction_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported'
  | 'unauthorized'
  | 'invalid_token'
  | 'insufficient_scope'

/**
 * A request that OAuth has an answer for. `message` goes on the wire as `error_description`: plain ASCII without quotes
 * or backslashes (RFC 6749 §5.2), and never anything that the client sent.
 */
export class OAuthError extends Error {
  /**
   * @param code as on the wire, such as `invalid_grant`
   * @param status of a JSON answer; where the answer is a redirect, it is not used
   */
  constructor(
    readonly code: OAuthErrorCode,
    message: string,
    readonly status: 400 | 401 | 403 | 405 | 413 = 400,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
    this.name = 'OAuthError'
  }
}

/** A request that is malformed (RFC 6749 §5.2). */
export function invalidRequest(message: string, status: 400 | 405 | 413 = 400): OAuthError {
  return new OAuthError('invalid_request', message, status)
}

/** A code or token that is wrong, expired, spent or another client's: one answer for all, so that nobody learns which. */
export function invalidGrant(what: string): OAuthError {
  return new OAuthError('invalid_grant', `The ${what} is not valid, has expired or has been used.`)
}
