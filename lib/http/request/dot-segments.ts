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
const EMPTY_SEGMENT = new RegExp(`${SEPARATOR}{2}`, 'i')
/** Parameters of a segment (RFC 3986 §3.3). Some servers route without them. */
const PARAMETERS = /(?:;|%(?:25)*3b)[^/]*/gi

/** Whether all servers read a path alike. */
export function isPlainPath(path: string): boolean {
  return !(EMPTY_SEGMENT.test(path) || path.includes('\\') || ENCODED_UNRESERVED.test(path) || hasDotSegments(path))
}

/** The path as servers route it that leave out parameters of segments: `/search;v=1` as `/search`. */
export function withoutParameters(path: string): string {
  return path.replace(PARAMETERS, '')
}
