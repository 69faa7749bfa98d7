import { maxHeaderSize } from 'node:http'
import { type Refusal, refuse } from '../refusal/refusal'

/** The token of a request, as text. */
export interface Credentials {
  readonly token: string
  /** Authentication scheme: a bearer token, or one bound to a key (RFC 9449 §7.1). */
  readonly scheme: 'Bearer' | 'DPoP'
  /** Where the token stood. `own`: a header field, cookie or function of the option `tokenFrom`. */
  readonly placement: 'header' | 'own' | Placement
  /** Whether the parts of a JWT may have padding, which base64url has not in RFC 7515 §2. */
  readonly isPadded?: boolean | undefined
}

/** Places of RFC 6750 beside the `Authorization` field: a form-encoded body (§2.2) and the URL's query (§2.3). */
export type Placement = 'form' | 'query'

/** The header fields of a request. `rawHeaders` may be missing or empty: adapters and mocks have `headers` alone. */
export interface RequestFields {
  /** Names and values in turn, as received. */
  readonly rawHeaders?: readonly string[] | undefined
  /** Values by name in lower case; the app's middleware may have changed them. Default: those of `rawHeaders`. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
}

/** Parts of a request that the check reads. */
export interface RequestView extends RequestFields {
  readonly method: string
  /** Path and query as received. */
  readonly target: string
  /** Protocol and host that the client used: `https://api.example.org`. */
  readonly origin: string
  /** Members of a parsed form-encoded body; undefined without one. */
  readonly form: object | undefined
}

/** The name of the scheme, not followed by another token character (RFC 9110 §5.6.2, §11.1). */
const BEARER = /^bearer(?![!#$%&'*+.^_`|~0-9a-z-])/i
export const DPOP = /^dpop(?![!#$%&'*+.^_`|~0-9a-z-])/i
/** RFC 6750 §2.1: b64token. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/
const SPACE = 0x20

/**
 * Finds the token of a request in its `Authorization` field and in the given placements. A request with two tokens is
 * refused, also if they are equal (RFC 6750 §2, §3.1). The syntax of the token is checked later.
 *
 * @param dpop whether the scheme DPoP is accepted
 * @param maxTokenLength in characters
 */
export function findCredentials(
  request: RequestView,
  placements: readonly Placement[],
  dpop: boolean,
  maxTokenLength = maxHeaderSize,
): Credentials | Refusal {
  const found = findToken(request, dpop, maxTokenLength)
  if (placements.length === 0) return found
  const elsewhere = placements.flatMap((placement) =>
    tokensIn(placement, request).map((token) => ({ token, placement })),
  )
  const [only, ...more] = elsewhere
  if (!only) return found
  if (more.length > 0 || !('refused' in found) || found.refused !== 'no_token') return refuse('several_tokens')
  const { token, placement } = only
  return typeof token === 'string' ? bearerToken(token, placement, maxTokenLength) : refuse('malformed_credentials')
}

/** Credentials of a token outside of `Authorization`, which is always a plain bearer token. */
export function bearerToken(
  token: string,
  placement: Credentials['placement'],
  maxTokenLength: number,
  isPadded = false,
): Credentials | Refusal {
  return token.length > maxTokenLength ? refuse('malformed_token') : { token, scheme: 'Bearer', placement, isPadded }
}

/** All values of `access_token` in a placement (RFC 6750 §2.2, §2.3), whichever parser the app uses. */
function tokensIn(placement: Placement, { target, method, form }: RequestView): readonly unknown[] {
  if (placement === 'query') return new URLSearchParams(target.replace(/[^?]*/, '')).getAll('access_token')
  // RFC 6750 §2.2: a body has no meaning in these methods.
  if (form === undefined || method === 'GET' || method === 'HEAD' || !Object.hasOwn(form, 'access_token')) return []
  const { access_token: token } = form as { access_token: unknown }
  return Array.isArray(token) ? token : [token]
}

/**
 * Finds the token of the `Authorization` field (RFC 6750 §2.1). Several such fields are refused. Its syntax is checked
 * later, by {@link isToken}: that is the slowest check, and not needed for a token that is known.
 *
 * @param dpop whether the scheme DPoP is accepted
 * @param maxTokenLength in characters
 */
export function findToken(request: RequestFields, dpop = false, maxTokenLength = maxHeaderSize): Credentials | Refusal {
  const fields = fieldValues(request, 'authorization')
  if (fields.length !== 1) return refuse(fields.length === 0 ? 'no_token' : 'several_tokens')
  const [field] = fields as [string]
  const scheme = BEARER.test(field) ? 'Bearer' : dpop && DPOP.test(field) ? 'DPoP' : undefined
  if (scheme === undefined) return refuse('no_token')
  if (field.length > scheme.length + 1 + maxTokenLength) return refuse('malformed_token')
  let from = scheme.length
  while (field.charCodeAt(from) === SPACE) from++ // one or more: RFC 9110 §11.4
  if (from === scheme.length) return refuse('malformed_credentials')
  return { token: field.slice(from), scheme, placement: 'header' }
}

/** Whether a text has the syntax of a token (RFC 6750 §2.1); with `isPadded` also in each part. */
export function isToken(text: string, isPadded = false): boolean {
  return TOKEN.test(isPadded ? text.split('.').map(withoutPadding).join('.') : text)
}

function withoutPadding(part: string): string {
  let end = part.length
  while (part[end - 1] === '=') end--
  return part.slice(0, end)
}

const NONE: readonly string[] = []

/**
 * The values of a header field. `req.headers` decides: adapters have no raw fields, and the app's middleware may set or
 * delete a field. `rawHeaders` shows repeated fields: Node keeps the first of two `Authorization` fields, and a proxy in
 * front may have checked the second.
 *
 * @param name in lower case
 */
export function fieldValues({ rawHeaders, headers }: RequestFields, name: string): readonly string[] {
  const raw = fieldsOf(rawHeaders ?? NONE, name)
  if (headers === undefined) return raw
  const value = headers[name]
  if (value === raw[0] || value === raw.join(', ')) return raw
  return (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string')
}

/** The values of all raw header fields of a name in lower case. */
function fieldsOf(rawHeaders: readonly string[], name: string): readonly string[] {
  let values = NONE
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [found, value] = [rawHeaders[i] as string, rawHeaders[i + 1] as string]
    if (found.length === name.length && found.toLowerCase() === name) values = [...values, value]
  }
  return values
}
