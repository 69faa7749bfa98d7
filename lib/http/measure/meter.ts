import { EventEmitter } from 'node:events'
import { ReadStream } from 'node:fs'
import { IncomingMessage, type ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import { AbandonedRequest } from './abandoned-request'
import { forgetQueued, isOver, needsDrain, watchQueued } from './client-gone'
import { type Clock, nowUs, systemClock } from '../clock'
import { GivenFields, type HeaderFields } from './given-fields'
import { usageError } from '../help'
import { type ResponseHooks, hookResponse, hooksOf } from './response-hooks'
import { READER, SENDER, Stopwatch } from './stopwatch'
import { watchTakeover } from './upgrade-takeover'
import { type UploadObserver, watchUpload } from './upload-wait'

/**
 * Hears of one request's time, once it has begun it. It is told before the meter changes, and may read the meter. All
 * times are `nowUs()` of the meter's clock.
 *
 * | Order of calls | The request |
 * |---|---|
 * | `paused` `resumed` … `ended` | was answered |
 * | `aborted` `ended` | was destroyed by its app; or lost its client while a file was piped to it; or was ended all the same |
 * | `aborted` `ended` (`late`)* | lost its client, and its handler was not seen for some time: it was written off |
 * | `ended` `aborted` | was over for the meter (an event stream, `settle()`) when its client went |
 */
export interface MeterObserver {
  /** The app waits for its client: for more of the body, or for `drain`. Time stands still, see {@link Meter.countWait}. */
  paused(now: number): void
  /** The wait is over. Not called where {@link Meter.countWait} has ended the pause before. */
  resumed(now: number): void
  /**
   * Once: the response was ended or destroyed, the client of a piped file has gone, or it takes no more time.
   *
   * @param isWrittenOff there was no sign of the handler for as long as `aborted()` said
   */
  ended(now: number, isWrittenOff: boolean): void
  /**
   * Once, before the response was ended: the connection was closed, and the handler may work on. Returns how long the
   * meter waits for a sign of the handler before it writes the request off, in microseconds from now; `Infinity` where
   * nothing of it runs. Where its app closed the connection, or a file is piped to the response, `ended` follows at once.
   */
  aborted(now: number): number
  /**
   * After a write-off: time in which a handler turned out to have worked, in microseconds. At most a minute in all.
   *
   * @param isOver the handler has ended the response: the real time is known now
   */
  late(us: number, now: number, isOver: boolean): void
  /** The last moment at which response header fields can be set. */
  headers(res: HeaderFields, now: number): void
}

/** How much of an event stream is measured: all of it, or the time to its header. */
export type EventStreams = 'whole' | 'header'

/**
 * Measures the processing time of one response and sets `X-PROCESSING-TIME`. The first middleware of this package that
 * needs it starts it.
 *
 * Time ends when `res.end()` is called or the app destroys the request, not when the client has read the last byte. It
 * stands still while the app itself waits for its client, as far as the observer allows, and while the request waits for
 * a throttle. A connection that was upgraded is measured until somebody takes it over.
 *
 * When the client goes away, a response to which a file or another server's response is piped ends with it. Any other
 * handler or stream may work on, and its time goes on until it ends the response, or until there was no sign of it for as
 * long as the observer says.
 */
export class Meter extends Stopwatch implements ResponseHooks, UploadObserver {
  own: ResponseHooks['own'] = undefined
  /** Undefined: a GET, which is what `EventSource` sends, is measured to its header, and all of any other request. */
  eventStreams: EventStreams | undefined = undefined
  /** The response has no `X-PROCESSING-TIME`. */
  isTimeHidden = false
  #isBegun = false
  #isGone = false
  #isQueued = false
  /** A file, or another server's response, is piped to the response. */
  #isPassive = false
  #isDrainWatched = false
  /** When the response was ended, or destroyed by its app: nothing after that is processing. */
  #endedAt: number | undefined = undefined
  #abandoned: AbandonedRequest | undefined = undefined
  #observer: MeterObserver | undefined = undefined

  private constructor(
    readonly res: ServerResponse,
    public clock: Clock,
    now: number,
  ) {
    super(now)
    hookResponse(res, this)
    const req = res.req as IncomingMessage | undefined
    if (req !== undefined && hasBody(req)) watchUpload(req, this)
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

  get isEnded(): boolean {
    return this.state === 'ended'
  }

  get observer(): MeterObserver | undefined {
    return this.#observer
  }

  /** There is at most one observer. It hears nothing before it calls {@link begin}, but for `headers`. */
  observe(observer: MeterObserver): void {
    this.#observer = observer
  }

  // --- what the observer asks for

  /** The observer has let the request in: its time begins now. */
  begin(now: number): void {
    if (this.state === 'ended') return
    this.restart(now)
    this.#isBegun = true
  }

  /** To be called when the observer is ready to hear: where the client has gone before, it is told so at once. */
  begun(now: number): void {
    if (this.#isGone && this.state !== 'ended') this.#abandon(now)
  }

  /** The request waits for a throttle. */
  park(now: number): void {
    if (this.state !== 'ended') this.enter('parked', now)
  }

  /** It waits no more. */
  unpark(now: number): void {
    if (this.state !== 'parked') return
    this.enter('running', now)
    if (this.waitsFor !== 0) this.#pause(0, now)
  }

  /** The present wait for the client is excused no longer: its time counts from `at` on, which may have passed. */
  countWait(at: number): void {
    if (this.state === 'awaitingClient') this.enter('running', at)
  }

  /** A wait for the client that counted is excused again, from `at` on. Returns whether there was one. */
  excuseWait(at: number): boolean {
    if (this.waitsFor === 0 || this.state !== 'running') return false
    this.enter('awaitingClient', at)
    return true
  }

  /** Leaves out time that another request blocked the event loop for. Returns how much, in microseconds. */
  exclude(us: number, now: number): number {
    return this.leaveOut(us, now)
  }

  /** Ends the measuring now, as `res.end()` would. */
  settle(): void {
    this.#finish(nowUs(this.clock))
  }

  /** The handler did something. Where its client has gone, that shows that it was at work until now. */
  handlerSeen(): void {
    if (this.#abandoned === undefined || this.#endedAt !== undefined) return
    const now = nowUs(this.clock)
    const us = this.#abandoned.seen(now)
    if (us > 0) this.#observer?.late(us, now, false)
  }

  // --- ResponseHooks

  writeHead(...[res, original, args]: Parameters<ResponseHooks['writeHead']>): unknown {
    if (res.headersSent) return Reflect.apply(original, res, args)
    const given = args.length > 1 ? GivenFields.of(res, args) : undefined
    const now = this.#endedAt ?? nowUs(this.clock)
    const fields = given ?? res
    this.#observer?.headers(fields, now)
    if (!this.isTimeHidden) fields.setHeader('X-PROCESSING-TIME', Math.round(this.countedUs(now) / 1_000))
    const returned = Reflect.apply(original, res, given === undefined ? args : (given.arguments() as typeof args))
    if (this.state !== 'ended' && endsWithHeader(res, given, this.eventStreams)) this.#finish(nowUs(this.clock))
    return returned
  }

  written(res: ServerResponse, isFlowing: unknown): void {
    // Hosts that are not Node's return undefined: they know no backpressure.
    if (isFlowing === false) this.#fullWrite(res)
  }

  ending(res: ServerResponse): void {
    if (this.#endedAt !== undefined) return
    // Listeners of the request hear that the client has gone before the response does.
    if (res.socket?.destroyed) this.closed()
    if (this.#endedAt !== undefined) return
    const now = (this.#endedAt = nowUs(this.clock))
    const lateUs = this.#abandoned?.seen(now) ?? 0
    this.#finish(now)
    if (this.#abandoned?.isWrittenOff) this.#observer?.late(lateUs, now, true)
  }

  /** By the app; or by a pipeline whose client has gone. */
  destroying(res: ServerResponse): void {
    if (this.#endedAt !== undefined || this.#isGone) return
    if (isOver(res)) return this.closed()
    this.#resume(READER | SENDER)
    const now = (this.#endedAt = nowUs(this.clock))
    if (this.#isBegun) this.#observer?.aborted(now)
    this.#finish(now)
  }

  // --- UploadObserver

  uploadAwaited(): void {
    if (this.#canWait(SENDER)) this.#pause(SENDER, nowUs(this.clock))
  }

  uploadArrived(): void {
    if ((this.waitsFor & SENDER) !== 0) this.#resume(SENDER)
  }

  // --- events

  /** The app listens for `drain` from now on, or a pipe does. */
  drainAwaited(): void {
    if (needsDrain(this.res) && this.#canWait(READER)) this.#pause(READER, nowUs(this.clock))
  }

  /** The reader goes on, or nobody listens for `drain` any more. */
  drainAwaitedNoMore(): void {
    if ((this.waitsFor & READER) !== 0) this.#resume(READER)
  }

  closed(): void {
    if (this.#endedAt !== undefined || this.#isGone) return
    const now = nowUs(this.clock)
    this.#resume(READER | SENDER)
    this.#isGone = true
    if (this.#isBegun) this.#abandon(now)
  }

  piped(source: unknown): void {
    if (!isPassive(source)) return
    this.#isPassive = true
    if (this.#abandoned !== undefined) this.#finish(nowUs(this.clock))
    else this.res.on('unpipe', meteredUnpipe)
  }

  /** Node unpipes what is piped to a response that is closed: that says nothing. */
  unpiped(source: unknown): void {
    if (isPassive(source) && !isOver(this.res)) this.#isPassive = false
  }

  // ---

  /** The response is over already: it was ended, or its client has gone. */
  #begunLate(now: number): void {
    this.#isGone = true
    if (!this.res.writableEnded) return
    this.#endedAt = now
    this.enter('ended', now)
  }

  #watchClient(req: IncomingMessage | undefined): void {
    const { res } = this
    const isEmitter = hasEvents(res)
    if (isEmitter) {
      res.on('close', meteredClose)
      res.on('pipe', meteredPipe)
    }
    if ((isEmitter && res.socket !== null) || !req?.socket) return
    this.#isQueued = true
    watchQueued(res, this)
  }

  /** The client has gone while the handler may work on. */
  #abandon(now: number): void {
    const waitUs = this.#observer?.aborted(now) ?? Infinity
    if (this.state === 'ended') return
    if (this.#isPassive) return this.#finish(now)
    this.#abandoned = new AbandonedRequest(this.clock, now, waitUs, (at) => this.#finish(at, true))
  }

  /** Nothing is excused on a response that waits behind others in a pipeline: it has no reader yet. */
  #canWait(whom: number): boolean {
    return this.state !== 'ended' && !this.#isGone && Boolean(this.res.socket) && (this.waitsFor & whom) === 0
  }

  #fullWrite(res: ServerResponse): void {
    if (!needsDrain(res) || !this.#canWait(READER)) return
    if (res.listenerCount('drain') > (this.#isDrainWatched ? 1 : 0)) this.#pause(READER, nowUs(this.clock))
    if (this.#isDrainWatched) return
    this.#isDrainWatched = true
    // Not res.on(): compression sends its listeners to its own stream, which drains at another time or never.
    EventEmitter.prototype.prependListener.call(res, 'drain', meteredDrain)
    EventEmitter.prototype.on.call(res, 'newListener', meteredNewListener)
    EventEmitter.prototype.on.call(res, 'removeListener', meteredRemoveListener)
  }

  #pause(whom: number, now: number): void {
    this.noteWait(whom)
    if (this.state !== 'running') return
    this.endCountedWait(now)
    if (this.#isBegun) this.#observer?.paused(now)
    this.enter(this.#isPassive && this.waitsFor === READER ? 'idle' : 'awaitingClient', now)
  }

  #resume(whom: number): void {
    const now = nowUs(this.clock)
    const isLast = (this.waitsFor & ~whom) === 0
    if (isLast && this.isStill && this.#isBegun) this.#observer?.resumed(now)
    this.noteWaitOver(whom)
    if (!isLast) return
    if (this.isStill) this.enter('running', now)
    else this.endCountedWait(now)
  }

  #finish(now: number, isWrittenOff = false): void {
    if (this.state === 'ended') return
    if (this.#isQueued) forgetQueued(this.res)
    this.#abandoned?.settle()
    if (this.#isBegun) this.#observer?.ended(now, isWrittenOff)
    this.enter('ended', now)
  }
}

/** Upgraded connections, and event streams where the app wants it so, last as long as the client likes. */
function endsWithHeader(
  res: ServerResponse,
  given: GivenFields | undefined,
  eventStreams: EventStreams | undefined,
): boolean {
  if (res.statusCode === 101) return true
  if (!isEventStream(given?.get('content-type') ?? res.getHeader('content-type'))) return false
  return (eventStreams ?? (res.req.method === 'GET' ? 'header' : 'whole')) === 'header'
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

function meteredUnpipe(this: ServerResponse, source: unknown): void {
  Meter.on(this)?.unpiped(source)
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
