import { type JsonObject, readJsonObject } from '../../http/json'
import { type Refusal, isRefusal, refuse } from '../refusal/refusal'

/** What a signed token says of its signature, before anything else of it is looked at. */
export interface JwsHead {
  readonly token: string
  readonly algorithm: string
  readonly kid: string | undefined
  /** In lower case and without `application/`; undefined where the header has none. */
  readonly type: string | undefined
  readonly payload: Buffer
  /** All of its header. */
  readonly header: JsonObject
}

/** A signed token taken apart and not yet believed. */
export interface Jws extends Omit<JwsHead, 'payload'> {
  readonly claims: JsonObject
}

/**
 * Takes a JWS compact serialization apart (RFC 7515 §7.1), strictly: three parts of canonical base64url, so that no
 * token has two spellings; the header a JSON object without a member named twice; no `crit` and no `b64`, since no
 * extension is understood here (RFC 7515 §4.1.11, RFC 7797 §6).
 */
export function readJwsHead(token: string): JwsHead | Refusal {
  const parts = token.split('.', 4)
  if (parts.length !== 3) return refuse('malformed_token')
  const [headerBytes, payload, signature] = parts.map(fromBase64url)
  if (!headerBytes || !payload || !signature || signature.length === 0) return refuse('malformed_token')

  const header = readJsonObject(headerBytes)
  if (!header) return refuse('malformed_token')
  if ('crit' in header || 'b64' in header) return refuse('critical_header')
  const { alg, kid, typ } = header
  if (typeof alg !== 'string' || !isText(kid) || !isText(typ)) return refuse('malformed_token')
  const type = typ?.toLowerCase().replace(/^application\//, '')
  return { token, algorithm: alg, kid, type, payload, header }
}

/** Takes a signed JWT apart as {@link readJwsHead} does, with claims that are a JSON object (RFC 7519 §7.2). */
export function readJws(token: string): Jws | Refusal {
  const head = readJwsHead(token)
  if (isRefusal(head)) return head
  const { payload, ...rest } = head
  const claims = readJsonObject(payload)
  return claims ? { ...rest, claims } : refuse('malformed_token')
}

function isText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}

function fromBase64url(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url') // skips what is not of the alphabet
  return bytes.toString('base64url') === part ? bytes : undefined
}
