import { OAuthError } from '../oauth-error'

/**
 * The audiences of a token: those of the requested resources, or all allowed ones if none is requested (RFC 8707 §2).
 *
 * @param requested the values of `resource`: `['https://api.example.org/tree']`
 * @param allowed the audiences that the token may have
 * @throws {OAuthError} invalid_target if a resource is malformed or not allowed
 */
export function audienceFor(requested: readonly string[], allowed: readonly string[]): readonly string[] {
  if (requested.length === 0) return allowed
  const found = requested.map((resource) => allowed.find((audience) => isSameResource(resource, audience)))
  if (found.every((audience) => audience !== undefined)) return [...new Set(found)]
  throw new OAuthError('invalid_target', 'A requested resource is unknown or not allowed (RFC 8707).')
}

/** A slash at the end does not tell two resources apart: URL parsers add one to an origin, and clients to a path. */
function isSameResource(resource: string, audience: string): boolean {
  if (resource === audience) return true
  if (!URL.canParse(resource) || !URL.canParse(audience) || resource.includes('#')) return false
  return new URL(resource).href.replace(/\/$/, '') === new URL(audience).href.replace(/\/$/, '')
}
