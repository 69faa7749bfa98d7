import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/**
 * Whether nobody waits for a response any more: it was ended or destroyed, or its client has disconnected. All rooms ask
 * here. Node does not say so on a response that waits for its turn in a pipeline: its connection does.
 */
export function isOver(res: ServerResponse): boolean {
  const socket = (res.req as IncomingMessage | undefined)?.socket
  return socket?.destroyed === true || res.writableEnded || res.destroyed || writableOf(res).closed
}

/** Whether the client of a request that the app has not answered is gone: nobody waits for what a handler would do. */
export function hasLeft(res: ServerResponse): boolean {
  return isOver(res) && !res.writableEnded
}

/**
 * Whether Express itself has destroyed the connection: its final handler does so after an error where the header was
 * sent. No handler has the request then, so `next` is undefined, and no end or error came from the client.
 */
export function hasFailed({ req }: { readonly req?: { readonly next?: unknown; readonly socket?: Socket } }): boolean {
  if (req === undefined || !('next' in req) || req.next !== undefined) return false
  return req.socket?.errored === null && !req.socket.readableEnded
}

/** Whether the last `write()` filled the response's buffer. */
export function needsDrain(res: ServerResponse): boolean {
  return writableOf(res).writableNeedDrain
}

/** An `Http2ServerResponse` has neither `closed` nor `writableNeedDrain`: its stream has. */
function writableOf(res: ServerResponse): ServerResponse | ServerHttp2Stream {
  if ((res.req as IncomingMessage | undefined)?.httpVersionMajor !== 2) return res
  return (res as { stream?: ServerHttp2Stream }).stream ?? res
}

/** A response that waits for its turn in a pipeline; told when the connection closes. */
export interface QueuedResponse {
  closed(): void
}

const queues = new WeakMap<Socket, Map<ServerResponse, QueuedResponse>>()

/**
 * Watches the connection of a response that is behind others in a pipeline (RFC 9112 §9.3.2). Node emits no `close` on
 * a response that has no socket yet.
 */
export function watchQueued(res: ServerResponse, queued: QueuedResponse): void {
  const { socket } = res.req
  const known = queues.get(socket)
  const queue = known ?? new Map<ServerResponse, QueuedResponse>()
  queue.set(res, queued)
  if (known !== undefined) return
  queues.set(socket, queue)
  socket.once('close', closeQueued)
}

/** Stops watching a response that was ended. */
export function forgetQueued(res: ServerResponse): void {
  queues.get(res.req.socket)?.delete(res)
}

function closeQueued(this: Socket): void {
  for (const queued of queues.get(this)?.values() ?? []) queued.closed()
}
