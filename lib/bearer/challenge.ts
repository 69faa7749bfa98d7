import type { Denial } from '../errors'
import type { Refusal } from './refusal'

/** What a challenge says whatever the reason. */
export interface ChallengeOptions {
  /** RFC 9110 §11.5. */
  readonly realm: string | undefined
  /** RFC 9728 §5.1: where the metadata of the protected resource are. */
  readonly resourceMetadata: string | undefined
}

type Params = Readonly<Record<string, string | undefined>>

/** The denial of a refusal: status, challenge (RFC 6750 §3) and words that say nothing of the token. */
export function denialOf(refusal: Refusal, options: ChallengeOptions): Denial {
  const { refused: reason, cause } = refusal
  const rest = cause === undefined ? { reason } : { reason, cause }
  switch (reason) {
    case 'no_token': // RFC 6750 §3.1: no error code where the request brings no credentials
      return {
        status: 401,
        code: 'unauthorized',
        message: 'An access token is required',
        headers: challenge(options, {}),
        ...rest,
      }
    case 'malformed_credentials':
      return denial(400, 'invalid_request', 'The access token is not written as the Bearer scheme has it')
    case 'several_tokens':
      return denial(400, 'invalid_request', 'The request brings credentials more than once')
    case 'scope':
      return denial(403, 'insufficient_scope', 'The access token does not grant the scope needed', {
        scope: refusal.scope?.join(' '),
      })
    case 'unauthenticated_session':
      return denial(403, 'insufficient_scope', 'A signed-in session is needed')
    case 'authentication': {
      // RFC 9470 §3
      const { acrValues = [], maxAgeSec } = refusal.authentication ?? {}
      return denial(401, 'insufficient_user_authentication', 'A more recent or a stronger login is needed', {
        acr_values: acrValues.length > 0 ? acrValues.join(' ') : undefined,
        max_age: maxAgeSec?.toString(),
      })
    }
    case 'keys_unavailable':
    case 'introspection_unavailable':
    case 'verify_unavailable':
    case 'revocation_unavailable':
      return {
        status: 503,
        code: 'unavailable',
        message: 'The access token cannot be checked at the moment',
        headers: { 'Retry-After': String(refusal.retryAfterSec ?? 1) },
        ...rest,
      }
    case 'expired':
      return denial(401, 'invalid_token', 'The access token has expired')
    default:
      return denial(401, 'invalid_token', 'The access token is not valid')
  }

  function denial(status: 400 | 401 | 403, error: string, message: string, more: Params = {}): Denial {
    const params = { error, error_description: message, ...more }
    return { status, code: error, message, headers: challenge(options, params), ...rest }
  }
}

/** RFC 6750 §3: what the value of an attribute may be made of. */
export function isChallengeText(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(value)
}

function challenge({ realm, resourceMetadata }: ChallengeOptions, params: Params): { 'WWW-Authenticate': string } {
  const all = { realm, ...params, resource_metadata: resourceMetadata }
  const said = Object.entries(all).filter(([, value]) => value !== undefined)
  const text = said.map(([name, value]) => `${name}="${value}"`).join(', ')
  return { 'WWW-Authenticate': text === '' ? 'Bearer' : `Bearer ${text}` }
}
