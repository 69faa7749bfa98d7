import type { ServerResponse } from 'node:http'

/** How much of an event stream is measured: all of it, or the time to its header. */
export type EventStreams = 'whole' | 'header'

/**
 * Whether a response is measured to its header: upgraded connections, and event streams where the app wants it so, last as
 * long as the client likes.
 *
 * @param type the field `Content-Type` that the app gave `writeHead()`
 */
export function endsWithHeader(res: ServerResponse, type: unknown, eventStreams: EventStreams | undefined): boolean {
  if (res.statusCode === 101) return true
  if (!isEventStream(type ?? res.getHeader('content-type'))) return false
  return (eventStreams ?? (res.req.method === 'GET' ? 'header' : 'whole')) === 'header'
}

/** @param type an app may set the field as an array */
function isEventStream(type: unknown): boolean {
  const first: unknown = Array.isArray(type) ? type[0] : type
  return typeof first === 'string' && /^\s*text\/event-stream\b/i.test(first)
}
