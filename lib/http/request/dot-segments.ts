const DOT = String.raw`(?:\.|%(?:25)*2e)`
const SEPARATOR = String.raw`(?:[/\\]|%(?:25)*(?:2f|5c))`
/** `.` and `..` in every spelling that some server decodes: percent-encoded, twice, with parameters (`..;x`). */
const DOT_SEGMENT = new RegExp(`(?:^|${SEPARATOR})${DOT}{1,2}(?:(?:;|%(?:25)*3b).*)?(?:${SEPARATOR}|$)`, 'i')

/** Whether a path has a segment that some server reads as `.` or `..`. */
export function hasDotSegments(path: string): boolean {
  return DOT_SEGMENT.test(path)
}

/** Servers decode a path once, proxies before them once more. */
const MOST_DECODED = 4

/**
 * All readings of a path with dot segments, itself included. Servers differ in what they decode: encoded dots, encoded
 * slashes, backslashes, parameters of segments (`..;x`) and empty segments.
 *
 * @example pathReadings('/assets/..%2fsearch') // ['/assets/..%2fsearch', '/search']
 */
export function pathReadings(path: string): string[] {
  const readings = new Set([path])
  let encoded = path
  for (let times = 0; times <= MOST_DECODED; times++) {
    const separated = encoded.replace(/%2f|%5c|\\/gi, '/')
    readings.add(resolved(encoded)) // RFC 3986 §6.2.2
    readings.add(resolved(encoded.replaceAll('\\', '/'))) // the URL standard
    readings.add(resolved(separated))
    readings.add(resolved(separated.replace(/(?:;|%3b)[^/]*/gi, '').replace(/\/{2,}/g, '/')))
    const decoded = encoded.replace(/%25/g, '%')
    if (decoded === encoded) break
    encoded = decoded
  }
  return [...readings]
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
