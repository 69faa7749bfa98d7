import { EventEmitter } from 'node:events'
import { ReadStream } from 'node:fs'
import { IncomingMessage, type ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { AbandonedRequest } from './abandoned-request'
import { forgetQueued, isOver, needsDrain, watchQueued } from './client-gone'
import { type Clock, nowUs, systemClock } from './clock'
import { GivenFields, type HeaderFields } from './given-fields'
import { usageError } from './help'
import { shareHiddenClasses } from './hidden-classes'
import { watchLateSigns } from './late-signs'
import { type ResponseHooks, type ResponseMethod, hookResponse, hooksOf } from './response-hooks'
import { READER, SENDER, Stopwatch } from './stopwatch'
import { watchTakeover } from './upgrade-takeover'
import { type UploadObserver, watchUpload } from './upload-wait'

/**
 * What is told about one request's time, once the observer has begun it. All times are `nowUs()` of the meter's clock.
 *
 * | Order of calls | The request |
 * |---|---|
 * | `paused` `resumed` … `ended` | was answered |
 * | `aborted` `ended` | lost its client while a file was piped to it; or its handler ended it all the same |
 * | `aborted` `writtenOff` `ended` (`late`)* (`finished`) | lost its client, and nobody saw its handler for some time |
 * | `ended` `aborted` | was over for the meter (an event stream, `settle()`) when its client went |
 */
export interface MeterObserver {
  /** The app waits for its client: for more of the body, or for `drain`. Time stands still, see {@link Meter.countFrom}. */
  paused(now: number): void
  /** The wait is over. Not called where `countFrom()` has ended the pause before. */
  resumed(now: number): void
  /** Once: the response was ended or destroyed, the client of a piped file has gone, or it takes no more time. */
  ended(now: number): void
  /**
   * Once, before the response was ended: the client has gone, and the handler may work on. Returns how long the meter
   * waits for a sign of the handler before it writes the request off, in microseconds from now; `Infinity` where nothing
   * of it runs. Where a file is piped to the response, `ended` follows at once.
   */
  aborted(now: number): number
  /** There was no sign of the handler for that long. Called before `ended`; nothing is learned from the request. */
  writtenOff(now: number): void
  /**
   * After a write-off: time in which a handler turned out to have worked, in microseconds. At most a minute in all.
   */
  late(us: number): void
  /** After a write-off: the handler has ended the response. The real time is known now. */
  finished(now: number): void
  /** The last moment at which response header fields can be set. */
  headers(res: HeaderFields, now: number): void
}

/** How much of an event stream is measured: all of it, or the time to its header. */
export type EventStreams = 'whole' | 'header'

/**
 * Measures the processing time of one response and sets `X-PROCESSING-TIME`. The first middleware of this package that
 * a request meets starts it.
 *
 * Time ends when `res.end()` or `res.destroy()` is called, not when the client has read the last byte. It stands still
 * while the app itself waits for its client, as far as the observer allows. A connection that was upgraded is measured
 * until somebody takes it over.
 *
 * When the client goes away, a response to which a file or another server's response is piped ends with it. Any other
 * handler or stream may work on, and its time goes on until it ends the response, or until there was no sign of it for as
 * long as the observer says.
 */
export class Meter extends Stopwatch implements ResponseHooks, UploadObserver {
  own = false
  /** Undefined: a GET, which is what `EventSource` sends, is measured to its header, and all of any other request. */
  eventStreams: EventStreams | undefined
  #isBegun = false
  #isGone = false
  #isQueued = false
  #isDrainWatched = false
  /** When the response was ended, or destroyed by its handler: nothing after that is processing. */
  #endedAt: number | undefined
  #abandoned: AbandonedRequest | undefined
  #observer: MeterObserver | undefined

  private constructor(
    readonly res: ServerResponse,
    public clock: Clock,
    now: number,
  ) {
    super(now)
    const req = res.req as IncomingMessage | undefined
    if (req !== undefined) {
      shareHiddenClasses?.(req, res)
      if (hasBody(req)) watchUpload(req, this)
    }
    hookResponse(res, this)
    if (isOver(res)) this.#begunLate(now)
    else this.#watchClient(req)
    if ((req as { upgrade?: boolean } | undefined)?.upgrade) watchTakeover(res, clock, () => this.settle())
  }

  /**
   * The meter of this response, started now if there is none yet. A clock that a test brings replaces the usual one.
   *
   * @param now by that clock, where it is known
   * @throws {TypeError} where an observer already goes by another clock: their times cannot be compared
   */
  static of(res: ServerResponse, clock: Clock = systemClock, now?: number): Meter {
    const meter = Meter.on(res)
    if (meter === undefined) return new Meter(res, clock, now ?? nowUs(clock))
    if (clock !== systemClock && clock !== meter.clock) meter.follow(clock)
    return meter
  }

  /** The meter of this response; undefined where there is none yet. */
  static on(res: ServerResponse): Meter | undefined {
    return hooksOf(res) as Meter | undefined // of whichever copy of this package: nobody else hooks a response
  }

  /** Goes by another clock from now on. */
  follow(clock: Clock): void {
    if (this.#observer) throw usageError('clock: a throttle before this one goes by another; give both the same')
    this.shift(nowUs(clock) - nowUs(this.clock))
    this.clock = clock
  }

  /** The processing time so far, in microseconds. */
  timeUs(): number {
    return this.countedUs(nowUs(this.clock))
  }

  get observer(): MeterObserver | undefined {
    return this.#observer
  }

  /** There is at most one observer. It hears nothing before it calls {@link begin}, but for `headers`. */
  observe(observer: MeterObserver): void {
    this.#observer = observer
  }

  /**
   * The observer has let the request in: its time begins now, and the observer hears of it from now on. Where the client
   * has gone before, it is told so at once.
   */
  begin(now: number): void {
    if (this.stopped) return
    this.restartAt(now)
    this.#isBegun = true
    if (this.#isGone) this.#abandon(now)
  }

  /** Ends the measuring now, as `res.end()` would. */
  settle(): void {
    this.#finish(nowUs(this.clock))
  }

  /** The handler did something. Where its client has gone, that shows that it was at work until now. */
  handlerSeen(): void {
    if (this.#abandoned === undefined || this.#endedAt !== undefined) return
    const us = this.#abandoned.seen(nowUs(this.clock))
    if (us > 0) this.#observer?.late(us)
  }

  // --- ResponseHooks

  writeHead(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown {
    this.handlerSeen()
    if (res.headersSent) return Reflect.apply(original, res, args)
    const given = args.length > 1 ? GivenFields.of(res, args) : undefined
    this.#setFields(given ?? res)
    const returned = Reflect.apply(original, res, given?.arguments() ?? args)
    if (!this.stopped && this.#endsWithHeader(res, given)) this.#finish(nowUs(this.clock))
    return returned
  }

  #setFields(res: HeaderFields): void {
    const now = this.#endedAt ?? nowUs(this.clock)
    this.#observer?.headers(res, now)
    res.setHeader('X-PROCESSING-TIME', Math.round(this.countedUs(now) / 1_000))
  }

  write(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown {
    this.handlerSeen()
    const isFlowing = Reflect.apply(original, res, args)
    // Hosts that are not Node's return undefined: they know no backpressure.
    if (isFlowing === false && needsDrain(res) && this.#canWait(READER)) this.#fullWrite(res)
    return isFlowing
  }

  end(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown {
    this.#last(res)
    return Reflect.apply(original, res, args)
  }

  destroy(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown {
    // Node, from 24.21 on, destroys what waited for its turn on a connection that was closed: no word of the handler's.
    if (!res.destroyed && res.socket === null && res.req?.socket?.destroyed) this.closed()
    else this.#last(res)
    return Reflect.apply(original, res, args)
  }

  #last(res: ServerResponse): void {
    // Listeners of the request hear that the client has gone before the response does.
    if (res.socket?.destroyed) this.closed()
    if (this.#endedAt !== undefined) return
    this.handlerSeen()
    const now = (this.#endedAt = nowUs(this.clock))
    this.#finish(now)
    if (this.#abandoned?.isWrittenOff) this.#observer?.finished(now)
  }

  // --- UploadObserver

  uploadAwaited(): void {
    if (this.#canWait(SENDER)) this.#pause(SENDER)
  }

  uploadArrived(): void {
    if (this.waits(SENDER)) this.#resume(SENDER)
  }

  // --- events

  /** The app listens for `drain` from now on, or a pipe does. */
  drainAwaited(): void {
    if (needsDrain(this.res) && this.#canWait(READER)) this.#pause(READER)
  }

  /** The reader goes on, or nobody listens for `drain` any more. */
  drainAwaitedNoMore(): void {
    if (this.waits(READER)) this.#resume(READER)
  }

  closed(): void {
    if (this.#endedAt !== undefined || this.#isGone) return
    this.#isGone = true
    this.#resume(READER | SENDER)
    if (this.#isBegun) this.#abandon(nowUs(this.clock))
  }

  /** A stream is piped to a response whose client has gone, or was until then. */
  piped(source: unknown): void {
    this.handlerSeen()
    if (!this.stopped && isPassive(source)) this.#finish(nowUs(this.clock))
  }

  // ---

  /** The response is over already: it was ended, or its client has gone. */
  #begunLate(now: number): void {
    this.#isGone = true
    if (!this.res.writableEnded) return
    this.#endedAt = now
    this.stop(now)
  }

  #watchClient(req: IncomingMessage | undefined): void {
    const { res } = this
    const isEmitter = hasEvents(res)
    if (isEmitter) res.on('close', meteredClose)
    if ((isEmitter && res.socket !== null) || !req?.socket) return
    this.#isQueued = true
    watchQueued(res, this)
  }

  /** The client has gone while the handler may work on. */
  #abandon(now: number): void {
    const { res } = this
    const waitUs = this.#observer?.aborted(now) ?? Infinity
    if (this.stopped) return
    this.#abandoned = new AbandonedRequest(this.clock, now, waitUs, (at) => this.#writeOff(at))
    // Node unpipes what is piped to a response when it is closed, which says where it came from.
    if (hasEvents(res)) res.on('pipe', meteredPipe).on('unpipe', meteredPipe)
    watchLateSigns(res, () => this.handlerSeen())
  }

  #writeOff(now: number): void {
    if (this.stopped) return
    this.#observer?.writtenOff(now)
    this.#finish(now)
  }

  /** Nothing is excused on a response that waits behind others in a pipeline: it has no reader yet. */
  #canWait(whom: number): boolean {
    return !this.stopped && !this.#isGone && Boolean(this.res.socket) && !this.waits(whom)
  }

  #fullWrite(res: ServerResponse): void {
    if (res.listenerCount('drain') > (this.#isDrainWatched ? 1 : 0)) this.#pause(READER)
    if (this.#isDrainWatched) return
    this.#isDrainWatched = true
    // Not res.on(): compression sends its listeners to its own stream, which drains at another time or never.
    EventEmitter.prototype.prependListener.call(res, 'drain', meteredDrain)
    EventEmitter.prototype.on.call(res, 'newListener', meteredNewListener)
    EventEmitter.prototype.on.call(res, 'removeListener', meteredRemoveListener)
  }

  #pause(whom: number): void {
    const now = nowUs(this.clock)
    if (this.waitFor(whom, now) && this.#isBegun) this.#observer?.paused(now)
  }

  #resume(whom: number): void {
    if (this.stopped) return
    const now = nowUs(this.clock)
    if (!this.waitsNoMore(whom, now)) return
    if (this.#isBegun) this.#observer?.resumed(now)
    this.countFrom(now)
  }

  #finish(now: number): void {
    if (this.stopped) return
    if (this.#isQueued) forgetQueued(this.res)
    this.#abandoned?.settle()
    this.stop(now)
    if (this.#isBegun) this.#observer?.ended(now)
  }

  /** Upgraded connections, and event streams where the app wants it so, last as long as the client likes. */
  #endsWithHeader(res: ServerResponse, given: GivenFields | undefined): boolean {
    if (res.statusCode === 101) return true
    if (!isEventStream(given?.get('content-type') ?? res.getHeader('content-type'))) return false
    return (this.eventStreams ?? (res.req.method === 'GET' ? 'header' : 'whole')) === 'header'
  }
}

/** RFC 9112 §6.3. In HTTP/2 a body needs no field: RFC 9113 §8.1. */
function hasBody(req: IncomingMessage & { stream?: ServerHttp2Stream }): boolean {
  if (req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined) return true
  return req.stream?.endAfterHeaders === false
}

/** What stands in for a response of an upgrade may have none: that of engine.io, for `io.engine.use()`. */
function hasEvents(res: ServerResponse): boolean {
  return typeof res.on === 'function'
}

/**
 * Whether a stream does nothing while nobody reads it: a file, or what another server sends. Any other may be in the
 * midst of a step, and neither `unpipe` nor `close` tells when that ends: a generator, a transformation of one, a child
 * process, a `read()` of the app's own. The body of a request, which has no status, is its client's doing.
 */
function isPassive(source: unknown): boolean {
  return source instanceof ReadStream || (source instanceof IncomingMessage && source.statusCode !== null)
}

/** @param type the field `Content-Type`, which an app may set as an array */
function isEventStream(type: unknown): boolean {
  const first: unknown = Array.isArray(type) ? type[0] : type
  return typeof first === 'string' && /^\s*text\/event-stream\b/i.test(first)
}

// Shared by all responses: no closure is made for one.

function meteredClose(this: ServerResponse): void {
  Meter.on(this)?.closed()
}

function meteredPipe(this: ServerResponse, source: unknown): void {
  Meter.on(this)?.piped(source)
}

function meteredDrain(this: ServerResponse): void {
  Meter.on(this)?.drainAwaitedNoMore()
}

function meteredNewListener(this: ServerResponse, event: string | symbol): void {
  if (event === 'drain') Meter.on(this)?.drainAwaited()
}

/** One listener for `drain` is the meter's own. */
function meteredRemoveListener(this: ServerResponse, event: string | symbol): void {
  if (event === 'drain' && this.listenerCount('drain') <= 1) Meter.on(this)?.drainAwaitedNoMore()
}
