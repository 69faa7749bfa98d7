import { EventEmitter } from 'node:events'
import { ReadStream } from 'node:fs'
import { IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { forgetQueued, hasFailed, isOver, needsDrain, watchQueued } from './client-gone'
import { type Clock, nowUs, systemClock } from '../clock'
import type { MeterObserver } from './meter-observer'
import { type EventStreams, endsWithHeader } from './event-stream'
import { GivenFields } from './given-fields'
import { usageError } from '../help'
import { type ResponseHooks, hookResponse, hooksOf } from './response-hooks'
import { type LeftOut, READER, SENDER, Stopwatch } from './stopwatch'
import { watchTakeover } from './upgrade-takeover'
import { type UploadObserver, watchUpload } from './upload-wait'

/** Longest time that is charged after a write-off, where the handler ends the response after all. */
const LATE_MOST_US = 60_000_000

/**
 * Measures the processing time of one response and sets `X-PROCESSING-TIME`. The first middleware of this package that
 * needs it starts it.
 *
 * Time ends when `res.end()` is called or the app destroys the request, not when the client has read the last byte. It
 * stands still while the app itself waits for its client, as far as the observer allows, and while the request waits for
 * a throttle. A connection that was upgraded is measured until somebody takes it over.
 *
 * When the client goes away, a response to which a file or another server's response is piped ends with it. Any other
 * handler or stream may work on, and its time goes on until it ends the response, for as long as the observer says.
 */
export class Meter extends Stopwatch implements ResponseHooks, UploadObserver {
  own: ResponseHooks['own'] = undefined
  /** Undefined: a GET, which is what `EventSource` sends, is measured to its header, and all of any other request. */
  eventStreams: EventStreams | undefined = undefined
  /** Its handlers stop when the client has gone: then the request ends. */
  endsWithClient: boolean | undefined = undefined
  /** The response has no `X-PROCESSING-TIME`. */
  isTimeHidden = false
  /** The connection of HTTP/1. It tells that the client has gone; each look at a response takes time on Node 20 and 22. */
  readonly #socket: Socket | undefined
  #isBegun = false
  #isQueued = false
  /** A file, or another server's response, is piped to the response. */
  #isPassive = false
  #isDrainWatched = false
  /** At most one. Before it calls {@link begin}, only its `headers` is called. */
  observer: MeterObserver | undefined = undefined

  private constructor(
    readonly res: ServerResponse,
    public clock: Clock,
    now: number,
  ) {
    super(now)
    hookResponse(res, this)
    const req = res.req as IncomingMessage | undefined
    const socket: unknown = req?.socket
    this.#socket = socket instanceof Socket && req?.httpVersionMajor === 1 ? socket : undefined
    if (req !== undefined) watchUpload(req, this)
    if (res.writableEnded) this.enter('ended', now)
    else if (!isOver(res)) this.#watchClient(req)
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
    if (this.observer) throw usageError('clock: a throttle before this one goes by another; give both the same')
    this.shift(nowUs(clock) - nowUs(this.clock))
    this.clock = clock
  }

  override get isOver(): boolean {
    if (this.state === 'ended') return true
    return this.#socket === undefined ? isOver(this.res) : this.#socket.destroyed
  }

  protected override changes(at: number): void {
    if (this.#isBegun) this.observer?.changes(at)
  }

  // --- what the observer asks for

  /** The observer has let the request in: its time begins now. @param leftOut what is left out of it */
  begin(now: number, leftOut?: LeftOut): void {
    if (this.hasStopped) return
    this.restart(now, leftOut)
    this.#isBegun = true
  }

  /** Called by the observer once it is ready. If the client has already left, its `aborted` follows at once. */
  begun(now: number): void {
    if (this.isOver && !this.hasStopped) this.#abandon(now)
  }

  /** The request waits for a throttle. */
  park(now: number): void {
    if (!this.hasStopped) this.enter('parked', now)
  }

  /** The wait for a throttle is over. */
  unpark(now: number): void {
    if (this.state !== 'parked') return
    this.enter('running', now)
    if (this.isOver) this.closed()
    else if (this.waitsFor !== 0) this.#pause(0, now)
  }

  /** Ends the measuring now, as `res.end()` would. */
  settle(): void {
    if (!this.hasStopped) this.#stop(this.state === 'abandoned' ? 'ended' : 'settled', nowUs(this.clock))
  }

  // --- ResponseHooks

  writeHead(...[res, original, args]: Parameters<ResponseHooks['writeHead']>): unknown {
    if (res.headersSent) return Reflect.apply(original, res, args)
    const given = args.length > 1 ? GivenFields.of(res, args) : undefined
    const now = this.state === 'ended' ? this.since : nowUs(this.clock)
    const fields = given ?? res
    this.observer?.headers(fields, now)
    if (!this.isTimeHidden) fields.setHeader('X-PROCESSING-TIME', Math.round(this.countedUs(now) / 1_000))
    const returned = Reflect.apply(original, res, given === undefined ? args : (given.arguments() as typeof args))
    if (!this.hasStopped && endsWithHeader(res, given?.get('content-type'), this.eventStreams)) this.settle()
    return returned
  }

  written(res: ServerResponse, isFlowing: unknown): void {
    // Hosts that are not Node's return undefined: they know no backpressure.
    if (isFlowing === false) this.#fullWrite(res)
  }

  ending(res: ServerResponse): void {
    // Listeners of the request hear that the client has gone before the response does.
    if ((this.#socket ?? res.socket)?.destroyed) this.closed()
    if (this.state === 'ended') return
    const now = nowUs(this.clock)
    const lateUs = this.state === 'writtenOff' ? Math.min(now - this.since, LATE_MOST_US) : undefined
    this.#stop('ended', now)
    if (lateUs !== undefined) this.observer?.late(lateUs, now)
  }

  /** By the app; or by a pipeline whose client has gone. */
  destroying(res: ServerResponse): void {
    if (isOver(res)) return this.closed()
    if (this.state === 'ended') return
    this.#resume(READER | SENDER)
    const now = nowUs(this.clock)
    if (this.#isBegun) this.observer?.aborted(now)
    this.#stop('ended', now)
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

  /** The client has gone. One that waits for a throttle hears of it when it waits no more. */
  closed(): void {
    if (this.state === 'parked' || this.state === 'abandoned' || (this.hasStopped && this.state !== 'settled')) return
    const now = nowUs(this.clock)
    this.#resume(READER | SENDER)
    if (this.#isBegun) this.#abandon(now)
  }

  piped(source: unknown): void {
    if (!isPassive(source)) return
    this.#isPassive = true
    if (this.state === 'abandoned') this.#stop('ended', nowUs(this.clock))
    else this.res.on('unpipe', meteredUnpipe)
  }

  /** Node unpipes what is piped to a response that is closed: that says nothing. */
  unpiped(source: unknown): void {
    if (isPassive(source) && !isOver(this.res)) this.#isPassive = false
  }

  // ---

  #watchClient(req: IncomingMessage | undefined): void {
    const { res } = this
    // What stands in for the response of an upgrade may be none: that of engine.io, for `io.engine.use()`.
    const isEmitter = typeof res.on === 'function'
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
    const waitUs = this.observer?.aborted(now) ?? Infinity
    if (this.hasStopped || this.#isPassive || this.endsWithClient || hasFailed(this.res))
      return this.#stop('ended', now)
    this.enter('abandoned', now)
    if (waitUs < Infinity) this.#writeOff(now + waitUs, now)
  }

  /** A timer may fire early, as Node counts from the beginning of the event loop's turn in which it was set. */
  #writeOff(dueAt: number, now: number): void {
    if (this.state !== 'abandoned') return
    if (now >= dueAt) return this.#stop('writtenOff', now)
    this.clock.after((dueAt - now) / 1_000, () => this.#writeOff(dueAt, nowUs(this.clock)))
  }

  /** Nothing is excused on a response that waits behind others in a pipeline: it has no reader yet. */
  #canWait(whom: number): boolean {
    return !this.hasStopped && !this.isOver && Boolean(this.res.socket) && (this.waitsFor & whom) === 0
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
    if (this.#isBegun) this.observer?.paused(now)
    this.enter(this.#isPassive && this.waitsFor === READER ? 'idle' : 'awaitingClient', now)
  }

  #resume(whom: number): void {
    const now = nowUs(this.clock)
    const isLast = (this.waitsFor & ~whom) === 0
    if (isLast && this.isStill && this.#isBegun) this.observer?.resumed(now)
    this.noteWaitOver(whom)
    if (!isLast) return
    if (this.isStill) this.enter('running', now)
    else this.endCountedWait(now)
  }

  /** Ends the measurement. */
  #stop(state: 'settled' | 'writtenOff' | 'ended', now: number): void {
    if (!this.hasStopped) {
      if (this.#isQueued) forgetQueued(this.res)
      if (this.#isBegun) this.observer?.ended(now, state === 'writtenOff')
    }
    this.enter(state, now)
  }
}

/**
 * Whether a stream does nothing while nobody reads it: a file, or what another server sends. Any other may be in the
 * midst of a step, and neither `unpipe` nor `close` tells when that ends: a generator, a transformation of one, a child
 * process, a `read()` of the app's own. The body of a request, which has no status, is its client's doing.
 */
function isPassive(source: unknown): boolean {
  return source instanceof ReadStream || (source instanceof IncomingMessage && source.statusCode !== null)
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
