import { type Held, Holds } from './holds'

/** A request in flight, as its subject's figures know it. */
export interface InFlight extends Held {
  /** Time set aside for it. */
  readonly cost: number
  start: number
  /** The window it was admitted in. */
  readonly number: number
}

/**
 * What this process has charged to one subject in the open window, and what it holds there. Whole microseconds of the
 * process's monotonic clock. The time accrued by n requests in flight is n·now − Σ starts, so it costs the same for one
 * request and for thousands.
 */
export class OwnFigures {
  #number: number
  #openedAt: number
  #spent: number
  #running = 0
  #starts = 0
  readonly #holds = new Holds()
  /** All time ever held here: what was granted since a command left is the difference. */
  #granted = 0

  constructor(number: number, spent: number, now: number) {
    this.#number = number
    this.#spent = spent
    this.#openedAt = now
  }

  /** The window's number. */
  get number(): number {
    return this.#number
  }

  /** Charged, without what is still in flight. */
  get spent(): number {
    return this.#spent
  }

  /** Requests in flight. */
  get running(): number {
    return this.#running
  }

  get granted(): number {
    return this.#granted
  }

  /** Time that the requests in flight have taken in this window. */
  accrued(now: number): number {
    return this.#running * now - this.#starts
  }

  /** What the requests in flight are still expected to take, each by itself. */
  held(now: number): number {
    return this.#holds.at(now)
  }

  /** Microseconds until the first hold ends; undefined where there is none. */
  soonestHoldEndsInUs(now: number): number | undefined {
    const end = this.#holds.soonestEnd(now)
    return end === undefined ? undefined : end - now
  }

  /** Charged, with what the requests in flight have taken. */
  total(now: number): number {
    return this.#spent + this.accrued(now)
  }

  /** Puts a request in flight. */
  begin(request: InFlight): void {
    this.#running++
    this.#starts += request.start
    this.#granted += request.cost
    if (request.cost > 0) this.#holds.add(request)
  }

  /** Takes a request out of flight, charged or not. Returns what it took in this window: the rest is charged already. */
  end(request: InFlight, now: number): number {
    const start = request.number === this.#number ? request.start : this.#openedAt
    this.#running--
    this.#starts -= start
    this.#holds.remove(request)
    return now - start
  }

  charge(us: number): void {
    this.#spent += us
  }

  /** Starts a request later by `us`. One that crossed into this window started at the boundary: it waited before that. */
  postpone(request: InFlight, us: number): void {
    if (request.number !== this.#number) return
    request.start += us
    this.#starts += us
    this.#holds.postpone(request, us)
  }

  /** The store's clock was set back: these are the figures of window `number` now. */
  renumber(number: number): void {
    this.#number = number
  }

  /** Begins window `number`. Requests in flight start anew at the boundary; what is still held for them stays. */
  next(number: number, boundary: number): void {
    this.#starts = boundary * this.#running
    this.#openedAt = boundary
    this.#spent = 0
    this.#number = number
  }
}
