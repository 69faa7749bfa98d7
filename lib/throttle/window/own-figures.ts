/** A request in flight, as its subject's figures know it. */
export interface InFlight {
  /** Time set aside for it. */
  readonly cost: number
  start: number
  /** The window it was admitted in. */
  readonly number: number
}

/**
 * What this process has charged to one subject in the open window, and what it has set aside there. Whole microseconds
 * of the process's monotonic clock. The time accrued by n requests in flight is n·now − Σ starts, so it costs the same
 * for one request and for thousands.
 */
export class OwnFigures {
  #number: number
  #openedAt: number
  #spent: number
  #running = 0
  #starts = 0
  #hold = 0
  /** What was left of the holds when the window began, for each request then in flight. */
  #carried = 0
  /** All time ever set aside here: what was granted since a command left is the difference. */
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

  /** Time set aside for the requests in flight, whatever they have used of it. */
  get hold(): number {
    return this.#hold
  }

  get granted(): number {
    return this.#granted
  }

  /** Time that the requests in flight have taken in this window. */
  accrued(now: number): number {
    return this.#running * now - this.#starts
  }

  /** What the requests in flight are still expected to take. */
  held(now: number): number {
    return Math.max(0, this.#hold - this.accrued(now))
  }

  /** Charged, with what the requests in flight have taken. */
  total(now: number): number {
    return this.#spent + this.accrued(now)
  }

  /** Puts a request in flight. */
  begin(cost: number, now: number): void {
    this.#running++
    this.#starts += now
    this.#hold += cost
    this.#granted += cost
  }

  /** Takes a request out of flight, charged or not. Returns what it took in this window: the rest is charged already. */
  end(request: InFlight, now: number): number {
    const crossed = request.number !== this.#number
    const start = crossed ? this.#openedAt : request.start
    this.#running--
    this.#starts -= start
    this.#hold = this.#running === 0 ? 0 : Math.max(0, this.#hold - (crossed ? this.#carried : request.cost))
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
  }

  /** The store's clock was set back: these are the figures of window `number` now. */
  renumber(number: number): void {
    this.#number = number
  }

  /** Begins window `number`. Requests in flight start anew at the boundary, each with its share of the hold left. */
  next(number: number, boundary: number): void {
    this.#carried = this.#running > 0 ? Math.floor(this.held(boundary) / this.#running) : 0
    this.#hold = this.#carried * this.#running
    this.#starts = boundary * this.#running
    this.#openedAt = boundary
    this.#spent = 0
    this.#number = number
  }
}
