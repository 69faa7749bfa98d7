const DOT = String.raw`(?:\.|%(?:25)*2e)`
const SEPARATOR = String.raw`(?:[/\\]|%(?:25)*(?:2f|5c))`
/** `.` and `..` in any spelling some server reads so: percent-encoded, more than once, with parameters (`..;x`). */
const DOT_SEGMENT = new RegExp(`(?:^|${SEPARATOR})${DOT}{1,2}(?:(?:;|%(?:25)*3b).*)?(?:${SEPARATOR}|$)`, 'i')

/** Whether a path has a segment that some server takes for this folder, or the one above. */
export function hasDotSegments(path: string): boolean {
  return DOT_SEGMENT.test(path)
}
