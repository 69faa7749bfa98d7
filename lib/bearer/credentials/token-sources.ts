import type { Request } from 'express'
import { answeredAtOnce } from '../../http/callback'
import { usageError } from '../../http/help'
import { type Refusal, isRefusal, refuse } from '../refusal/refusal'
import {
  type Credentials,
  type Placement,
  type RequestView,
  fieldValues,
  findCredentials,
  isToken,
} from './credentials'

/** Reads the token out of a request; undefined, null or an empty text where it has none. */
export type ReadToken = (req: Request) => string | null | undefined

/**
 * Where a token may stand beside the `Authorization` field: in a form-encoded body, in the URL's query, in another header
 * field, in a cookie, or where a function of the app finds it.
 */
export type TokenSource = Placement | { readonly header: string } | { readonly cookie: string } | ReadToken

/** The places where tokens are looked for. */
export interface TokenSources {
  /** Header fields that a proxy sets, and functions of the app. They come before `Authorization`. */
  readonly first: readonly ReadTexts[]
  readonly placements: readonly Placement[]
  /** Browsers send cookies unasked, so these count only where there is no other token. */
  readonly cookies: readonly ReadTexts[]
}

/** All texts that a place holds. */
type ReadTexts = (request: AppRequestView) => readonly string[]

/** A {@link RequestView} that also has the request itself, for functions of the app. */
export interface AppRequestView extends RequestView {
  readonly request: Request
}

/** RFC 9110 §5.6.2: the names of header fields; RFC 6265 §4.1.1: those of cookies. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** @returns undefined where the option `tokenFrom` holds anything but places */
export function tokenSources(given: unknown): TokenSources | undefined {
  const sources: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (!sources.every(isSource)) return undefined
  return {
    first: sources.flatMap((source) => {
      if (typeof source === 'function') return [textsOfApp(source)]
      return typeof source === 'object' && 'header' in source ? [textsOfField(source.header)] : []
    }),
    placements: [...new Set(sources.filter(isPlacement))],
    cookies: sources.flatMap((source) => {
      return typeof source === 'object' && 'cookie' in source ? [textsOfCookie(source.cookie)] : []
    }),
  }
}

/**
 * Finds the token of a request where the options say that it may stand. Of the first place that holds one it is the only
 * one, or the request is refused.
 *
 * @param dpop whether the scheme DPoP is taken too
 * @param maxTokenLength in characters
 * @param isKnown whether a text is known to be a token: then its syntax, which takes longest, is not looked at
 */
export function findTokenIn(
  sources: TokenSources,
  request: AppRequestView,
  dpop: boolean,
  maxTokenLength: number,
  isKnown?: (text: string) => boolean,
): Credentials | Refusal {
  const { first, placements, cookies } = sources
  const own = first.length === 0 ? undefined : tokenOf(first, request, maxTokenLength)
  if (own) return own
  const found = findCredentials(request, placements, dpop, maxTokenLength, isKnown)
  if (cookies.length === 0 || !isRefusal(found) || found.refused !== 'no_token') return found
  return tokenOf(cookies, request, maxTokenLength) ?? found
}

function tokenOf(
  places: readonly ReadTexts[],
  request: AppRequestView,
  longest: number,
): Credentials | Refusal | undefined {
  for (const textsOf of places) {
    const [text, ...more] = textsOf(request).filter((one) => one !== '')
    if (text === undefined) continue
    if (more.length > 0) return refuse('several_tokens')
    const token = text.replace(/^bearer +/i, '')
    if (token.length > longest) return refuse('malformed_token')
    return isToken(token) ? { token, scheme: 'Bearer', placement: 'own' } : refuse('malformed_credentials')
  }
  return undefined
}

function textsOfField(name: string): ReadTexts {
  const field = name.toLowerCase()
  return (request) => fieldValues(request, field)
}

function textsOfCookie(name: string): ReadTexts {
  return (request) => fieldValues(request, 'cookie').flatMap((field) => cookiesIn(field, name))
}

/** RFC 6265 §5.4. Percent-encoding is not part of cookies, but what most programs write. */
function cookiesIn(field: string, name: string): readonly string[] {
  const pairs = field.split(';').map((pair) => pair.trim())
  const values = pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1))
  return values.map((value) => decoded(value.replace(/^"(.*)"$/, '$1')))
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value // then it is no token either
  }
}

function textsOfApp(read: ReadToken): ReadTexts {
  return ({ request }) => {
    const text: unknown = answeredAtOnce('tokenFrom', read(request))
    if (text === undefined || text === null) return []
    if (typeof text === 'string') return [text]
    throw usageError(`tokenFrom must return the token as text, or undefined; it returned a ${typeof text}`)
  }
}

function isSource(value: unknown): value is TokenSource {
  if (isPlacement(value) || typeof value === 'function') return true
  const [[kind, name] = [], ...others] = Object.entries(value ?? {}) as [string, unknown][]
  if (typeof name !== 'string' || !NAME.test(name) || others.length > 0) return false
  return kind === 'cookie' || (kind === 'header' && name.toLowerCase() !== 'authorization')
}

function isPlacement(value: unknown): value is Placement {
  return value === 'form' || value === 'query'
}
