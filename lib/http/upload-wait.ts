import type { IncomingMessage } from 'node:http'

/** Told when a handler waits for the client to send more of the body, and when more is there. */
export interface UploadObserver {
  uploadAwaited(): void
  /** Called before the handler is given what arrived, and also where it did not wait. */
  uploadArrived(): void
}

interface Methods {
  read: (this: IncomingMessage, size?: number) => unknown
  /** Node calls it with what it has received, and at the end with null. */
  push: (this: IncomingMessage, chunk: Uint8Array | null, ...rest: unknown[]) => unknown
}

/**
 * Watches a handler read the body of this request. It waits where it finds nothing to read and not all of the body has
 * arrived; it does not where it leaves the stream paused, or works on what it has read.
 *
 * One whose body is empty is left as it is.
 */
export function watchUpload(req: IncomingMessage, observer: UploadObserver): void {
  let missing = announcedBytes(req)
  if (missing === 0 || req.complete) return
  const methods = req as unknown as Methods
  const { read, push } = methods
  methods.read = function (size) {
    const chunk = Reflect.apply(read, this, [size])
    if (chunk === null && missing > 0 && wantsMore(this, size)) observer.uploadAwaited()
    return chunk
  }
  methods.push = function (...args) {
    const [chunk] = args
    missing = chunk === null ? 0 : missing - chunk.length
    observer.uploadArrived()
    return Reflect.apply(push, this, args)
  }
}

/** RFC 9112 §6.3. Infinity where the body's length is not known before its end. */
function announcedBytes({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity
}

/** Node itself calls `read(0)` to fetch ahead, also for a reader that is at work on what it has read. */
function wantsMore(req: IncomingMessage, size: number | undefined): boolean {
  if (size !== 0) return true
  if (req.readableLength > 0) return false
  return req.readableFlowing === true || (!req.readableDidRead && req.listenerCount('readable') > 0)
}
