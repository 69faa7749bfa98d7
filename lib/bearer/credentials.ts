import { LONGEST_TOKEN } from './jws'
import { type Refusal, refuse } from './refusal'

/** The token of a request, as text. */
export interface Credentials {
  readonly token: string
  /** How it was brought: as a bearer token, or bound to a key (RFC 9449 §7.1). */
  readonly scheme: 'Bearer' | 'DPoP'
}

/** RFC 9110 §5.6.2: what a scheme's name may be made of. */
const SCHEME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]*/
/** RFC 6750 §2.1: b64token, after one space or more (RFC 9110 §11.4). */
const TOKEN = /^ +([A-Za-z0-9._~+/-]+=*)$/

/**
 * Finds the bearer token in a request's header fields (RFC 6750 §2.1). They are looked at raw: Node keeps only the
 * first of two `Authorization` fields, and a proxy in front may have looked at the other.
 *
 * @param rawHeaders names and values in turn, as `req.rawHeaders` has them
 * @param dpop whether the scheme DPoP is taken too
 */
export function findToken(rawHeaders: readonly string[], dpop = false): Credentials | Refusal {
  let field: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'authorization') continue
    if (field !== undefined) return refuse('several_tokens')
    field = rawHeaders[i + 1]
  }
  if (field === undefined) return refuse('no_token')
  const scheme = SCHEME.exec(field)?.[0] ?? ''
  const bound = dpop && scheme.toLowerCase() === 'dpop'
  if (!bound && scheme.toLowerCase() !== 'bearer') return refuse('no_token')
  if (field.length > scheme.length + 1 + LONGEST_TOKEN) return refuse('malformed_token')
  const token = TOKEN.exec(field.slice(scheme.length))?.[1]
  return token === undefined ? refuse('malformed_credentials') : { token, scheme: bound ? 'DPoP' : 'Bearer' }
}

/** The values of all header fields of a name. */
export function fieldsOf(rawHeaders: readonly string[], name: string): readonly string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
}
