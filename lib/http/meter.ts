import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type Clock, nowUs, systemClock } from './clock'
import { type Original, type ResponseHooks, hook, hooksOf } from './response-hooks'
import { shareHiddenClasses } from './hidden-classes'

/** Who wants to know how a request's time goes on. All times are `nowUs()` of the meter's clock. */
export interface MeterObserver {
  /** The handler waits for a slow reader: its time stands still until `resumed`. */
  paused(now: number): void
  resumed(now: number): void
  /** `res.end()` was called, or the response will take no more of the user's time. Called once. */
  ended(now: number): void
  /** Time that came after `ended`: the client had gone, and the handler turned out to be still at work. */
  late(us: number): void
  /** The client went away before the response was ended. */
  aborted(): void
  /** The last moment at which header fields can be set. */
  headers(res: ServerResponse, now: number): void
}

/** A handler whose client has gone is counted for this long after, whether it never ends its response or writes on. */
const ORPHAN_MS = 60_000

/**
 * Measures one response and says so in `X-PROCESSING-TIME`. It starts with whichever middleware of this package comes
 * first and touches the response once, whoever else looks on.
 *
 * Time ends when `res.end()` is called, not when the client has read the last byte; it stands still while the response
 * waits for a slow reader. When the client goes away the handler still works, so the meter runs on; a handler that
 * destroys its response itself is done. An event stream or an upgraded connection is measured until its header.
 */
export class Meter implements ResponseHooks {
  own = false
  #startedAt: number
  #excludedUs = 0
  #pausedAt: number | undefined
  #endedAt: number | undefined
  /** The client went away amid the response: time from here is charged where the handler turns out to be at work. */
  #lateFrom: number | undefined
  #orphanUntil = 0
  #ending = false
  #observer: MeterObserver | undefined
  #cancelOrphan: (() => void) | undefined

  private constructor(
    readonly res: ServerResponse,
    public clock: Clock,
  ) {
    this.#startedAt = nowUs(clock)
    if (res.req) shareHiddenClasses(res.req, res)
    hook(res, this)
    res.on('close', meteredClose)
    // The stand-in response of an upgraded connection is never ended: its handlers have had their turn by then.
    if ((res.req as { upgrade?: boolean } | undefined)?.upgrade) clock.after(0, () => this.#finish(nowUs(this.clock)))
  }

  /**
   * The meter of this response, started now if there is none yet. A clock that a test brings replaces the usual one.
   *
   * @throws {TypeError} where somebody already looks on by another clock: times of two clocks make no sense together
   */
  static of(res: ServerResponse, clock: Clock = systemClock): Meter {
    const meter = Meter.#on(res)
    if (meter === undefined) return new Meter(res, clock)
    if (clock !== systemClock && clock !== meter.clock) meter.#follow(clock)
    return meter
  }

  /** The one who looks on as this response is measured. */
  static observer(res: ServerResponse): MeterObserver | undefined {
    const meter = Meter.#on(res)
    return meter === undefined ? undefined : meter.#observer
  }

  static #on(res: ServerResponse): Meter | undefined {
    return hooksOf(res) as Meter | undefined // nobody else hooks responses
  }

  #follow(clock: Clock): void {
    if (this.#observer) throw new TypeError('clock: a throttle before this one goes by another; give both the same')
    this.#startedAt += nowUs(clock) - nowUs(this.clock)
    this.clock = clock
  }

  /** The processing time so far, in microseconds. */
  timeUs(now: number = nowUs(this.clock)): number {
    return (this.#endedAt ?? this.#pausedAt ?? now) - this.#startedAt - this.#excludedUs
  }

  /** Measures from now: what came before was not processing. */
  restart(): void {
    this.#excludedUs += this.timeUs()
  }

  /** Leaves out time that was not the user's, such as waiting for a store. */
  exclude(us: number): void {
    this.#excludedUs += us
  }

  /** At most one: what else wants to look on joins that one. */
  observe(observer: MeterObserver): void {
    this.#observer = observer
  }

  get ended(): boolean {
    return this.#endedAt !== undefined
  }

  // --- ResponseHooks

  writeHead(res: ServerResponse, original: Original, args: unknown[]): unknown {
    if (!res.headersSent) {
      const now = this.#endedAt ?? nowUs(this.clock)
      this.#observer?.headers(res, now)
      res.setHeader('X-PROCESSING-TIME', Math.round(this.timeUs(now) / 1_000))
    }
    Reflect.apply(original, res, args)
    if (!this.#ending && endsWithHeader(res)) this.#finish(nowUs(this.clock))
    return res
  }

  write(res: ServerResponse, original: Original, args: unknown[]): unknown {
    this.#lateSign()
    const flowing = Reflect.apply(original, res, args)
    if (!flowing && this.#pausedAt === undefined && this.#endedAt === undefined && res.writableNeedDrain) {
      this.#pausedAt = nowUs(this.clock)
      this.#observer?.paused(this.#pausedAt)
      // Not res.on(): compression sends its listeners to its own stream, which drains at another time or never.
      EventEmitter.prototype.on.call(res, 'drain', meteredDrain)
    }
    return flowing
  }

  end(res: ServerResponse, original: Original, args: unknown[]): unknown {
    return this.#last(res, original, args)
  }

  destroy(res: ServerResponse, original: Original, args: unknown[]): unknown {
    return this.#last(res, original, args)
  }

  #last(res: ServerResponse, original: Original, args: unknown[]): unknown {
    this.#lateSign()
    this.#ending = true
    this.#finish(nowUs(this.clock))
    return Reflect.apply(original, res, args)
  }

  // --- events

  drained(): void {
    if (this.#endedAt !== undefined || this.#pausedAt === undefined) return
    const now = nowUs(this.clock)
    this.#excludedUs += now - this.#pausedAt
    this.#pausedAt = undefined
    this.#observer?.resumed(now)
  }

  closed(res: ServerResponse): void {
    if (this.#ending) return
    this.#observer?.aborted()
    if (this.#endedAt !== undefined) return
    const now = nowUs(this.clock)
    // A response that was being streamed mostly stops here, unseen. Should the handler write on, that is a late sign.
    if (res.headersSent) {
      this.#lateFrom = now
      this.#orphanUntil = now + ORPHAN_MS * 1_000
      this.#finish(now)
    } else this.#cancelOrphan = this.clock.after(ORPHAN_MS, () => this.#finish(nowUs(this.clock)))
  }

  #finish(now: number): void {
    if (this.#endedAt !== undefined) return
    this.#cancelOrphan?.()
    this.#endedAt = this.#pausedAt ?? now
    this.#observer?.ended(this.#endedAt)
  }

  #lateSign(): void {
    if (this.#lateFrom === undefined || this.#ending) return
    const until = Math.min(nowUs(this.clock), this.#orphanUntil)
    if (until > this.#lateFrom) this.#observer?.late(until - this.#lateFrom)
    this.#lateFrom = until
  }
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
  ;(hooksOf(this) as Meter).drained()
}

function meteredClose(this: ServerResponse): void {
  ;(hooksOf(this) as Meter).closed(this)
}
