import type { ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/**
 * Whether nobody waits for a response any more: it was ended or destroyed, or its client has disconnected. All rooms ask
 * here.
 *
 * Node does not say so on a response that waits for its turn in a pipeline: its connection does. The connection is asked
 * first, because reading a property of a response whose client has gone counts as a sign of the handler (late-signs.ts).
 */
export function isOver(res: ServerResponse): boolean {
  const socket = (res.req as ServerResponse['req'] | undefined)?.socket
  return socket?.destroyed === true || res.writableEnded || writableOf(res).closed || res.destroyed
}

/** Whether the last `write()` filled the response's buffer. */
export function needsDrain(res: ServerResponse): boolean {
  return writableOf(res).writableNeedDrain
}

/** An `Http2ServerResponse` has neither `closed` nor `writableNeedDrain`: its stream has. */
function writableOf(res: ServerResponse): ServerResponse | ServerHttp2Stream {
  const { stream } = res as { stream?: ServerHttp2Stream }
  return (res.req as ServerResponse['req'] | undefined)?.httpVersionMajor === 2 && stream ? stream : res
}

/** Callbacks for responses that wait for their turn in a pipeline, called when the connection closes. */
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
