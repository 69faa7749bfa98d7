import { type JsonObject, readJsonObject } from '../../http/json'
import { type Refusal, isRefusal, refuse } from '../refusal/refusal'

/** A signed token with its header read and its claims still unread. */
export interface JwsHead {
  readonly token: string
  readonly algorithm: string
  readonly kid: string | undefined
  /** `typ` in lower case, without `application/`; undefined if the header has none. */
  readonly type: string | undefined
  readonly payload: Buffer
  /** The whole header. */
  readonly header: JsonObject
}

/** A signed token taken apart; its signature is not verified yet. */
export interface Jws extends Omit<JwsHead, 'payload'> {
  readonly claims: JsonObject
}

/** Header of a token. */
type JwsHeader = Pick<JwsHead, 'algorithm' | 'kid' | 'type' | 'header'>

/** Headers read before, by their text: all tokens of an issuer have the same one. */
const knownHeaders = new Map<string, JwsHeader>()
const MOST_HEADERS = 64
const LONGEST_HEADER = 512

/**
 * Takes a JWS compact serialization apart (RFC 7515 §7.1). It has three parts in canonical base64url, so a token has one
 * spelling only. The header is a JSON object without duplicate members. `crit` and `b64` are refused, because no
 * extension is supported (RFC 7515 §4.1.11, RFC 7797 §6).
 *
 * @param isPadded whether the parts may end in `=`
 */
export function readJwsHead(token: string, isPadded = false): JwsHead | Refusal {
  const parts = token.split('.', 4)
  if (parts.length !== 3) return refuse('malformed_token')
  const [first, second, third] = parts as [string, string, string]
  const payload = fromBase64url(second, isPadded)
  const signature = fromBase64url(third, isPadded)
  if (!payload || !signature || signature.length === 0) return refuse('malformed_token')
  const read = knownHeaders.get(first) ?? readHeader(first, isPadded)
  if (isRefusal(read)) return read
  const { algorithm, kid, type, header } = read
  return { token, algorithm, kid, type, payload, header }
}

/** Whether a token has three parts, of which the first is a JSON object: others are opaque. */
export function isJws(token: string): boolean {
  const [first = '', ...others] = token.split('.', 4)
  return (
    others.length === 2 && (knownHeaders.has(first) || readJsonObject(Buffer.from(first, 'base64url')) !== undefined)
  )
}

function readHeader(text: string, isPadded: boolean): JwsHeader | Refusal {
  const bytes = fromBase64url(text, isPadded)
  const header = bytes && readJsonObject(bytes)
  if (!header) return refuse('malformed_token')
  if ('crit' in header || 'b64' in header) return refuse('critical_header')
  const { alg, kid, typ } = header
  if (typeof alg !== 'string' || !isText(kid) || !isText(typ)) return refuse('malformed_token')
  const read = { algorithm: alg, kid, type: typ === undefined ? typ : typeNamed(typ), header }
  if (text.length <= LONGEST_HEADER && !isPadded) {
    if (knownHeaders.size >= MOST_HEADERS) knownHeaders.clear()
    knownHeaders.set(text, read)
  }
  return read
}

/** Takes a signed JWT apart as {@link readJwsHead} does. Its claims are a JSON object (RFC 7519 §7.2). */
export function readJws(token: string, isPadded = false): Jws | Refusal {
  const head = readJwsHead(token, isPadded)
  if (isRefusal(head)) return head
  const { algorithm, kid, type, header } = head
  const claims = readJsonObject(head.payload)
  return claims ? { token, algorithm, kid, type, header, claims } : refuse('malformed_token')
}

/** A type in its short form: `at+jwt` for `application/at+JWT` (RFC 7515 §4.1.9). */
export function typeNamed(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, '')
}

function isText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}

function fromBase64url(part: string, isPadded: boolean): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url') // skips what is not of the alphabet
  const text = bytes.toString('base64url')
  if (text === part) return bytes
  return isPadded && part === text.padEnd(Math.ceil(text.length / 4) * 4, '=') ? bytes : undefined
}
