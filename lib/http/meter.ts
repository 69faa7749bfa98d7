import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type Clock, nowUs, systemClock } from './clock'

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

const METER = Symbol('express-tollgate.meter')
type Metered = ServerResponse & { [METER]?: Meter }

/**
 * Measures one response and says so in `X-PROCESSING-TIME`. It starts with whichever middleware of this package comes
 * first and touches the response once, whoever else looks on.
 *
 * Time ends when `res.end()` is called, not when the client has read the last byte; it stands still while the response
 * waits for a slow reader. When the client goes away the handler still works, so the meter runs on; a handler that
 * destroys its response itself is done. An event stream or an upgraded connection is measured until its header.
 */
export class Meter {
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
  readonly #writeHead: ServerResponse['writeHead']
  readonly #write: ServerResponse['write']
  readonly #end: ServerResponse['end']
  readonly #destroy: ServerResponse['destroy']

  private constructor(
    res: Metered,
    public clock: Clock,
  ) {
    this.#startedAt = nowUs(clock)
    // Called with Reflect.apply on the same response.
    /* eslint-disable @typescript-eslint/unbound-method */
    this.#writeHead = res.writeHead
    this.#write = res.write
    this.#end = res.end
    this.#destroy = res.destroy
    /* eslint-enable @typescript-eslint/unbound-method */
    res[METER] = this
    res.writeHead = meteredWriteHead
    res.write = meteredWrite as ServerResponse['write']
    res.end = meteredEnd as ServerResponse['end']
    res.destroy = meteredDestroy
    res.on('close', meteredClose)
  }

  /**
   * The meter of this response, started now if there is none yet. A clock that a test brings replaces the usual one.
   *
   * @throws {TypeError} where somebody already looks on by another clock: times of two clocks make no sense together
   */
  static of(res: ServerResponse, clock: Clock = systemClock): Meter {
    const meter = (res as Metered)[METER]
    if (meter === undefined) return new Meter(res, clock)
    if (clock !== systemClock && clock !== meter.clock) meter.#follow(clock)
    return meter
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

  static writeHead(
    this: void,
    res: Metered,
    meter: Meter,
    args: Parameters<ServerResponse['writeHead']>,
  ): ServerResponse {
    if (!res.headersSent) {
      const now = meter.#endedAt ?? nowUs(meter.clock)
      meter.#observer?.headers(res, now)
      res.setHeader('X-PROCESSING-TIME', Math.round(meter.timeUs(now) / 1_000))
    }
    Reflect.apply(meter.#writeHead, res, args)
    if (!meter.#ending && endsWithHeader(res)) meter.#finish(nowUs(meter.clock))
    return res
  }

  static write(this: void, res: Metered, meter: Meter, args: unknown[]): boolean {
    meter.#lateSign()
    const flowing = Reflect.apply(meter.#write as (...args: unknown[]) => boolean, res, args)
    if (!flowing && meter.#pausedAt === undefined && meter.#endedAt === undefined && res.writableNeedDrain) {
      meter.#pausedAt = nowUs(meter.clock)
      meter.#observer?.paused(meter.#pausedAt)
      // Not res.on(): compression sends its listeners to its own stream, which drains at another time or never.
      EventEmitter.prototype.on.call(res, 'drain', meteredDrain)
    }
    return flowing
  }

  static end(this: void, res: Metered, meter: Meter, args: unknown[]): ServerResponse {
    meter.#lateSign()
    meter.#ending = true
    meter.#finish(nowUs(meter.clock))
    return Reflect.apply(meter.#end as (...args: unknown[]) => ServerResponse, res, args)
  }

  static destroy(this: void, res: Metered, meter: Meter, args: [Error?]): ServerResponse {
    meter.#lateSign()
    meter.#ending = true
    meter.#finish(nowUs(meter.clock))
    return Reflect.apply(meter.#destroy, res, args)
  }

  static drain(this: void, res: Metered, meter: Meter): void {
    res.removeListener('drain', meteredDrain)
    if (meter.#endedAt !== undefined || meter.#pausedAt === undefined) return
    const now = nowUs(meter.clock)
    meter.#excludedUs += now - meter.#pausedAt
    meter.#pausedAt = undefined
    meter.#observer?.resumed(now)
  }

  static close(this: void, res: Metered, meter: Meter): void {
    if (meter.#ending) return
    meter.#observer?.aborted()
    if (meter.#endedAt !== undefined) return
    const now = nowUs(meter.clock)
    // A response that was being streamed mostly stops here, unseen. Should the handler write on, that is a late sign.
    if (res.headersSent) {
      meter.#lateFrom = now
      meter.#orphanUntil = now + ORPHAN_MS * 1_000
      meter.#finish(now)
    } else meter.#cancelOrphan = meter.clock.after(ORPHAN_MS, () => meter.#finish(nowUs(meter.clock)))
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

// The functions put on the response are shared by all responses: no closure is made per request.

function meteredWriteHead(this: Metered, ...args: unknown[]): ServerResponse {
  return Meter.writeHead(this, this[METER] as Meter, args as Parameters<ServerResponse['writeHead']>)
}

function meteredWrite(this: Metered, ...args: unknown[]): boolean {
  return Meter.write(this, this[METER] as Meter, args)
}

function meteredEnd(this: Metered, ...args: unknown[]): ServerResponse {
  return Meter.end(this, this[METER] as Meter, args)
}

function meteredDestroy(this: Metered, ...args: [Error?]): Metered {
  return Meter.destroy(this, this[METER] as Meter, args)
}

function meteredDrain(this: Metered): void {
  Meter.drain(this, this[METER] as Meter)
}

function meteredClose(this: Metered): void {
  Meter.close(this, this[METER] as Meter)
}
