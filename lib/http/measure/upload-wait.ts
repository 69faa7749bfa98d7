import type { IncomingMessage } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'

/** Callbacks for the start and the end of a handler's wait for the request's body. */
export interface UploadObserver {
  uploadAwaited(): void
  /** Called before the handler is given what arrived, and also where it did not wait. */
  uploadArrived(): void
}

type Read = (this: Watched, size?: number) => unknown
/** Node calls it with what it has received, and at the end with null. */
type Push = (this: Watched, chunk: Uint8Array | null, ...rest: unknown[]) => unknown

const watched = Symbol('tollgate.upload')
/** A request whose methods are replaced. */
type Watched = Omit<IncomingMessage, 'read' | 'push'> & { [watched]: Upload; read: Read; push: Push }

/** The body of a request as far as it is seen, and the methods that were replaced. */
interface Upload {
  missing: number
  /** More than one where the app has a second response made of the first. */
  readonly observers: UploadObserver[]
  readonly read: Read
  readonly push: Push
}

/**
 * Watches a handler read the body of this request. The handler waits if it finds nothing to read before the body is
 * complete. It does not wait while the stream is paused, or while it works on what it has read.
 *
 * A request without a body, or with an empty one, is left as it is.
 */
export function watchUpload(req: IncomingMessage, observer: UploadObserver): void {
  if (!hasBody(req)) return
  const missing = announcedBytes(req)
  if (missing === 0 || req.complete) return
  const methods = req as unknown as Watched
  if (Object.hasOwn(methods, watched)) return void methods[watched].observers.push(observer)
  methods[watched] = { missing, observers: [observer], read: methods.read, push: methods.push }
  methods.read = watchedRead
  methods.push = watchedPush
}

/** RFC 9112 §6.3. In HTTP/2 a body needs no field: RFC 9113 §8.1. */
function hasBody(req: IncomingMessage & { stream?: ServerHttp2Stream }): boolean {
  if (req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined) return true
  return req.stream?.endAfterHeaders === false
}

// Shared by all requests: with functions of its own V8 keeps a request until the next full collection, and copies it at
// each collection before.

function watchedRead(this: Watched, size?: number): unknown {
  const { read, missing, observers } = this[watched]
  const chunk = Reflect.apply(read, this, [size])
  if (chunk === null && missing > 0 && wantsMore(this, size)) {
    for (const observer of observers) observer.uploadAwaited()
  }
  return chunk
}

function watchedPush(this: Watched, ...args: Parameters<Push>): unknown {
  const upload = this[watched]
  const [chunk] = args
  upload.missing = chunk === null ? 0 : upload.missing - chunk.length
  for (const observer of upload.observers) observer.uploadArrived()
  return Reflect.apply(upload.push, this, args)
}

/** RFC 9112 §6.3, of a request with a body. Infinity where the body's length is not known before its end. */
function announcedBytes({ headers }: IncomingMessage): number {
  const length = headers['content-length']
  return headers['transfer-encoding'] === undefined && length !== undefined ? Number(length) : Infinity
}

/** Node itself calls `read(0)` to fetch ahead, also for a reader that is at work on what it has read. */
function wantsMore(req: Watched, size: number | undefined): boolean {
  if (size !== 0) return true
  if (req.readableLength > 0) return false
  return req.readableFlowing === true || (!req.readableDidRead && req.listenerCount('readable') > 0)
}
