const DOT = String.raw`(?:\.|%(?:25)*2e)`
const SEPARATOR = String.raw`(?:[/\\]|%(?:25)*(?:2f|5c))`
/** `.` and `..` in every spelling that some server decodes: percent-encoded, twice, with parameters (`..;x`). */
const DOT_SEGMENT = new RegExp(`(?:^|${SEPARATOR})${DOT}{1,2}(?:(?:;|%(?:25)*3b).*)?(?:${SEPARATOR}|$)`, 'i')

/** Whether a path has a segment that some server reads as `.` or `..`. */
export function hasDotSegments(path: string): boolean {
  return DOT_SEGMENT.test(path)
}

/** Characters that need no encoding (RFC 3986 §2.3), encoded all the same; once or several times. */
const ENCODED_UNRESERVED = /%(?:25)*(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/i
const EMPTY_SEGMENT = /\/\//

/** Whether all servers read a path alike. */
export function isPlainPath(path: string): boolean {
  return !(EMPTY_SEGMENT.test(path) || path.includes('\\') || ENCODED_UNRESERVED.test(path) || hasDotSegments(path))
}

/** Servers decode a path once, proxies before them once more. */
const MOST_DECODED = 4

/**
 * All readings of a path, itself included. Servers differ in what they decode: unreserved characters, dots, slashes,
 * backslashes, parameters of segments (`..;x`) and empty segments. Encoded slashes and parameters are read so only where
 * there are dot segments: they are usual in names.
 *
 * @example pathReadings('/assets/..%2fsearch') // ['/assets/..%2fsearch', '/search']
 * @example pathReadings('//sear%63h') // ['//sear%63h', '//search', '/search']
 */
export function pathReadings(path: string): string[] {
  const readings = new Set([path])
  const hasDots = hasDotSegments(path)
  let encoded = unreservedDecoded(path)
  for (let times = 0; times <= MOST_DECODED; times++) {
    readings.add(resolved(encoded)) // RFC 3986 §6.2.2
    const slashed = encoded.replaceAll('\\', '/')
    readings.add(resolved(slashed)) // the URL standard
    readings.add(resolved(merged(slashed)))
    if (hasDots) {
      const separated = encoded.replace(/%2f|%5c|\\/gi, '/')
      readings.add(resolved(separated))
      readings.add(resolved(merged(separated.replace(/(?:;|%3b)[^/]*/gi, ''))))
    }
    const decoded = unreservedDecoded(encoded.replace(/%25/g, '%'))
    if (decoded === encoded) break
    encoded = decoded
  }
  return [...readings]
}

function unreservedDecoded(path: string): string {
  return path.replace(/%([2-7][\da-f])/gi, (code, hex: string) => {
    const character = String.fromCharCode(parseInt(hex, 16))
    return /[\w.~-]/.test(character) ? character : code
  })
}

function merged(path: string): string {
  return path.replace(/\/{2,}/g, '/')
}

/** RFC 3986 §5.2.4, where a dot may be percent-encoded. */
function resolved(path: string): string {
  const kept: string[] = []
  const segments = path.split('/')
  for (const [i, segment] of segments.entries()) {
    const plain = segment.replace(/%2e/gi, '.')
    const isLast = i === segments.length - 1
    if (plain !== '.' && plain !== '..') kept.push(segment)
    else {
      if (plain === '..' && kept.length > 1) kept.pop()
      if (isLast) kept.push('')
    }
  }
  return kept.join('/')
}
