import { OAuthError } from '../oauth-error'
import { urlOf } from '../../http/url'

/**
 * The audiences of a token: those of the requested resources, or all allowed ones if none is requested (RFC 8707 §2).
 *
 * @param requested the values of `resource`: `['https://api.example.org/tree']`
 * @param allowed the audiences that the token may have
 * @throws {OAuthError} invalid_target if a resource is malformed or not allowed
 */
export function audienceFor(requested: readonly string[], allowed: readonly string[]): readonly string[] {
  if (requested.length === 0) return allowed
  const forms = allowed.map(formOf)
  const found = requested.map((resource) =>
    allowed.includes(resource) ? resource : allowed[forms.indexOf(formOf(resource) ?? '')],
  )
  if (found.every((audience) => audience !== undefined)) return [...new Set(found)]
  throw new OAuthError('invalid_target', 'A requested resource is unknown or not allowed (RFC 8707).')
}

/** A slash at the end does not tell two resources apart: URL parsers add one to an origin, and clients to a path. */
function formOf(resource: string): string | undefined {
  return resource.includes('#') ? undefined : urlOf(resource)?.href.replace(/\/$/, '')
}
