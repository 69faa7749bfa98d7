import type { Request } from 'express'
import { answeredAtOnce } from '../../http/callback'
import { usageError } from '../../http/help'
import { type Refusal, isRefusal, refuse } from '../refusal/refusal'
import {
  type Credentials,
  type Placement,
  type RequestView,
  bearerToken,
  fieldValues,
  findCredentials,
} from './credentials'

/**
 * A place of the token beside the `Authorization` field: a form-encoded body, the URL's query, another header field, a
 * cookie, or a function of the app, which returns undefined, null or an empty text if there is no token. `padded`: the parts of the JWT there end in `=`, as AWS's load balancer writes them.
 */
export type TokenSource =
  | 'form'
  | 'query'
  | {
      /** The name of a header field that a proxy sets. */
      readonly header: string
      /** Whether the parts of the JWT in the field end in `=`. Default false. */
      readonly padded?: boolean | undefined
    }
  | {
      /** The name of a cookie. */
      readonly cookie: string
    }
  | ((req: Request) => string | null | undefined)

/** Places of the token, by precedence. */
export interface TokenSources {
  /** Header fields that a proxy sets, and functions of the app. They come before `Authorization`. */
  readonly first: readonly Place[]
  readonly placements: readonly Placement[]
  /** Browsers send cookies unasked, so these count only where there is no other token. */
  readonly cookies: readonly Place[]
}

/** One place: all texts there. */
interface Place {
  readonly isPadded: boolean
  readonly texts: (request: AppRequestView) => readonly unknown[]
}

/** A {@link RequestView} with the request itself, for functions of the app. */
export interface AppRequestView extends RequestView {
  readonly request: Request
}

/** RFC 9110 §5.6.2: the names of header fields; RFC 6265 §4.1.1: those of cookies. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** @returns undefined if the option `tokenFrom` holds anything but places */
export function tokenSources(given: unknown): TokenSources | undefined {
  const sources: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (!sources.every(isSource)) return undefined
  const first: Place[] = []
  const cookies: Place[] = []
  for (const source of sources) {
    if (typeof source === 'function') first.push({ isPadded: false, texts: textsOfApp(source) })
    else if (typeof source !== 'object') continue
    else if ('cookie' in source) cookies.push({ isPadded: false, texts: textsOfCookie(source.cookie) })
    else {
      const field = source.header.toLowerCase()
      first.push({ isPadded: source.padded === true, texts: (request) => fieldValues(request, field) })
    }
  }
  return { first, cookies, placements: [...new Set(sources.filter(isPlacement))] }
}

/**
 * Finds the token of a request in the places of the options. The first place with a token decides. Two tokens in it are
 * refused.
 *
 * @param dpop whether the scheme DPoP is accepted
 * @param maxTokenLength in characters
 */
export function findTokenIn(
  { first, placements, cookies }: TokenSources,
  request: AppRequestView,
  dpop: boolean,
  maxTokenLength: number,
): Credentials | Refusal {
  const own = first.length === 0 ? undefined : tokenOf(first, request, maxTokenLength)
  if (own) return own
  const found = findCredentials(request, placements, dpop, maxTokenLength)
  if (cookies.length === 0 || !isRefusal(found) || found.refused !== 'no_token') return found
  return tokenOf(cookies, request, maxTokenLength) ?? found
}

function tokenOf(
  places: readonly Place[],
  request: AppRequestView,
  longest: number,
): Credentials | Refusal | undefined {
  for (const { isPadded, texts } of places) {
    const [text, ...more] = texts(request).filter((one) => one !== '')
    if (text === undefined) continue
    if (more.length > 0) return refuse('several_tokens')
    if (typeof text !== 'string') return refuse('malformed_credentials')
    return bearerToken(text.replace(/^bearer +/i, ''), 'own', longest, isPadded)
  }
  return undefined
}

/** Values of a cookie (RFC 6265 §5.4). Percent-encoding is no part of the RFC, but most programs write it. */
function textsOfCookie(name: string): Place['texts'] {
  return (request) => {
    const pairs = fieldValues(request, 'cookie').flatMap((field) => field.split(';').map((pair) => pair.trim()))
    const values = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1))
    return values.map((value) => decoded(value.replace(/^"(.*)"$/, '$1')))
  }
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value // then it is no token either
  }
}

function textsOfApp(read: (req: Request) => unknown): Place['texts'] {
  return ({ request }) => {
    const text: unknown = answeredAtOnce('tokenFrom', read(request))
    if (text === undefined || text === null || text === false) return []
    // Parsers make lists, objects and numbers of what clients send: ?token=a&token=b, ?token[x]=a, {"token": 1}.
    if (typeof text !== 'function') return [text].flat()
    throw usageError('tokenFrom must return the token as text, or undefined; it returned a function')
  }
}

function isSource(value: unknown): value is TokenSource {
  if (isPlacement(value) || typeof value === 'function') return true
  const { header, cookie, padded, ...others } = (value ?? {}) as Record<string, unknown>
  const name = header ?? cookie
  if (typeof name !== 'string' || !NAME.test(name) || Object.keys(others).length > 0) return false
  if (header === undefined) return padded === undefined
  const isFlag = padded === undefined || typeof padded === 'boolean'
  return cookie === undefined && isFlag && name.toLowerCase() !== 'authorization'
}

function isPlacement(value: unknown): value is Placement {
  return value === 'form' || value === 'query'
}
