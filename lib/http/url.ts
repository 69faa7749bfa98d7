import { usageError } from './help'

/** Most characters of a URL, and of its host (RFC 1035 §2.3.4). */
const [LONGEST, LONGEST_HOST] = [2_048, 253]

/** What URL parsers leave out (WHATWG URL §4.4). */
const SKIPPED = /^[\0-\x20]+|[\t\n\r]/g

/** What stands before the path: the scheme, user and host. */
const BEFORE_PATH = /^(?:[a-z][a-z0-9+.-]*:)?[\\/]*([^\\/?#]*)/i

/**
 * The URL of a text, or undefined if it is none. The only place that parses URLs, since a stranger may have sent the text:
 * for a host of international letters the time grows with the square of its length, so lengths are checked first.
 */
export function urlOf(text: unknown, base?: string): URL | undefined {
  if (typeof text !== 'string' || text.length > LONGEST) return undefined
  const authority = BEFORE_PATH.exec(text.replace(SKIPPED, ''))?.[1] ?? text
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '')
  /* eslint-disable no-restricted-syntax -- here is the place */
  return host.length <= LONGEST_HOST && URL.canParse(text, base) ? new URL(text, base) : undefined
  /* eslint-enable no-restricted-syntax */
}

/** The URL of a text that is known to be one. @throws {TypeError} if it is none */
export function knownUrl(text: string, base?: string): URL {
  const url = urlOf(text, base)
  if (!url) throw usageError(`a URL must have at most ${LONGEST} characters, and its host ${LONGEST_HOST}`)
  return url
}

/** Whether the text is a URL. */
export function isUrl(text: string, base?: string): boolean {
  return urlOf(text, base) !== undefined
}
