import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, nowUs, systemClock } from './clock'
import { shareHiddenClasses } from './hidden-classes'
import { watchLateSigns } from './late-signs'
import { forgetQueued, watchQueued } from './queued-responses'
import { type ResponseHooks, type ResponseMethod, hookResponse, hooksOf } from './response-hooks'
import { READER, SENDER, Stopwatch } from './stopwatch'
import { type UploadObserver, watchUpload } from './upload-wait'

/** What is told about one request's time. All times are `nowUs()` of the meter's clock. */
export interface MeterObserver {
  /**
   * The handler waits for a slow client: time stands still until `resumed`.
   *
   * @param keepsHold it waits for the request's body, so that its work is still to come
   */
  paused(now: number, keepsHold: boolean): void
  resumed(now: number): void
  /** `res.end()` was called, or the response will take no more of the user's time. Called once. */
  ended(now: number): void
  /** Time that is to be charged and was not seen while it passed, in microseconds. Also called after `ended`. */
  late(us: number): void
  /** The client went away before the response was ended. Called before `ended`, except for an event stream. */
  aborted(): void
  /** The handler whose client had gone has ended its response: nothing late comes any more. Called once, if at all. */
  finished(now: number): void
  /** The last moment at which response header fields can be set. */
  headers(res: ServerResponse, now: number): void
}

/** A handler that is seen at work after its client has gone is charged for so long after, at most. */
const LATE_MOST_US = 60_000_000
/**
 * Measures the processing time of one response and sets `X-PROCESSING-TIME`. The first middleware of this package that
 * a request meets starts it.
 *
 * Time ends when `res.end()` is called, not when the client has read the last byte. It stands still while the response
 * waits for a slow reader, and while the handler waits for a slow upload. An event stream or an upgraded connection is
 * measured until its header.
 *
 * When the client goes away, time ends too: most handlers stop there, unseen. One that touches the response later was at
 * work until then, and that is told as late time.
 */
export class Meter extends Stopwatch implements ResponseHooks, UploadObserver {
  own = false
  #closed = false
  /** The client went away: time from here on is charged as far as the handler is seen at work. */
  #lateFrom: number | undefined
  #lateUntil = 0
  /** When the response was ended, or destroyed by its handler: nothing after that is processing. */
  #endedAt: number | undefined
  #queued = false
  #observer: MeterObserver | undefined

  private constructor(
    readonly res: ServerResponse,
    public clock: Clock,
    now: number,
  ) {
    super(now)
    const { req } = res
    if (req !== undefined) {
      shareHiddenClasses?.(req, res)
      if (hasBody(req)) watchUpload(req, this)
    }
    hookResponse(res, this)
    res.on('close', meteredClose)
    if (res.socket === null && req?.socket) {
      this.#queued = true
      watchQueued(res, this)
    }
    // The stand-in response of an upgraded connection is never ended: its handlers have had their turn by then.
    if ((req as { upgrade?: boolean } | undefined)?.upgrade) clock.after(0, () => this.#finish(nowUs(this.clock)))
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
    if (clock !== systemClock && clock !== meter.clock) meter.#follow(clock)
    return meter
  }

  /** The meter of this response; undefined where there is none yet. */
  static on(res: ServerResponse): Meter | undefined {
    const hooks = hooksOf(res)
    return hooks instanceof Meter ? hooks : undefined
  }

  #follow(clock: Clock): void {
    if (this.#observer) throw new TypeError('clock: a throttle before this one goes by another; give both the same')
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

  /** There is at most one observer. */
  observe(observer: MeterObserver): void {
    this.#observer = observer
  }

  /** The handler did something. Where its client has gone, that shows that it was at work until now. */
  handlerSeen(): void {
    if (this.#lateFrom === undefined || this.#endedAt !== undefined) return
    const until = Math.min(nowUs(this.clock), this.#lateUntil)
    if (until > this.#lateFrom) this.#observer?.late(until - this.#lateFrom)
    this.#lateFrom = until
  }

  // --- ResponseHooks

  writeHead(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown {
    this.handlerSeen()
    if (!res.headersSent) {
      const now = this.#endedAt ?? nowUs(this.clock)
      this.#observer?.headers(res, now)
      res.setHeader('X-PROCESSING-TIME', Math.round(this.countedUs(now) / 1_000))
    }
    Reflect.apply(original, res, args)
    if (this.#endedAt === undefined && endsWithHeader(res)) this.#finish(nowUs(this.clock))
    return res
  }

  write(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown {
    this.handlerSeen()
    const flowing = Reflect.apply(original, res, args)
    if (!flowing && !this.stopped && !this.waits(READER) && res.writableNeedDrain) {
      this.#pause(READER)
      // Not res.on(): compression sends its listeners to its own stream, which drains at another time or never.
      EventEmitter.prototype.on.call(res, 'drain', meteredDrain)
    }
    return flowing
  }

  end(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown {
    this.#last(res)
    return Reflect.apply(original, res, args)
  }

  destroy(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown {
    // A pipeline destroys a response whose client has gone; that says nothing about the handler.
    if (res.destroyed) this.handlerSeen()
    // Nor when Node, from 24.21 on, destroys what waited for its turn on a connection that was closed.
    else if (res.socket === null && res.req?.socket?.destroyed) this.closed(res)
    else this.#last(res)
    return Reflect.apply(original, res, args)
  }

  #last(res: ServerResponse): void {
    // Listeners of the request hear that the client has gone before the response does.
    if (res.socket?.destroyed) this.closed(res)
    if (this.#endedAt !== undefined) return
    this.handlerSeen()
    const now = (this.#endedAt = nowUs(this.clock))
    this.#finish(now)
    if (this.#lateFrom !== undefined) this.#observer?.finished(now)
  }

  // --- UploadObserver

  uploadAwaited(): void {
    if (!this.stopped && !this.waits(SENDER)) this.#pause(SENDER)
  }

  uploadArrived(): void {
    if (!this.stopped && this.waits(SENDER)) this.#resume(SENDER)
  }

  // --- events

  drained(): void {
    this.#resume(READER)
  }

  closed(res: ServerResponse): void {
    if (this.#endedAt !== undefined || this.#closed) return
    this.#closed = true
    this.#observer?.aborted()
    if (this.stopped) return
    const now = nowUs(this.clock)
    this.#lateFrom = now
    this.#lateUntil = now + LATE_MOST_US
    this.#finish(now)
    watchLateSigns(res, () => this.handlerSeen())
  }

  // ---

  #pause(whom: number): void {
    const now = nowUs(this.clock)
    if (this.waitFor(whom, now)) this.#observer?.paused(now, whom === SENDER)
  }

  #resume(whom: number): void {
    const now = nowUs(this.clock)
    if (whom === SENDER) this.#tellLongWait(now)
    if (this.goOn(whom, now)) this.#observer?.resumed(now)
  }

  #tellLongWait(now: number): void {
    const us = this.countLongWait(now)
    if (us > 0) this.#observer?.late(us)
  }

  #finish(now: number): void {
    if (this.stopped) return
    if (this.waits(SENDER)) this.#tellLongWait(now)
    if (this.#queued) forgetQueued(this.res)
    const at = this.stop(now)
    this.#observer?.ended(at)
  }
}

/** RFC 9112 §6.3. */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** Server-sent events and upgrades last as long as the client likes: what is measured is the time to their header. */
function endsWithHeader(res: ServerResponse): boolean {
  if (res.statusCode === 101) return true
  const type = res.getHeader('content-type')
  return typeof type === 'string' && /^text\/event-stream\b/i.test(type)
}

// Shared by all responses: no closure is made for one.

function meteredDrain(this: ServerResponse): void {
  this.removeListener('drain', meteredDrain)
  const hooks = hooksOf(this)
  if (hooks instanceof Meter) hooks.drained()
}

function meteredClose(this: ServerResponse): void {
  const hooks = hooksOf(this)
  if (hooks instanceof Meter) hooks.closed(this)
}
