/** A request whose price is held until the time it is expected to end at. */
export interface Held {
  /** When the price is used up: start + price. Microseconds. */
  heldUntil: number
  /** Whether it still counts. */
  isHeld: boolean
  /** Its neighbours among those that count. */
  sooner: Held | undefined
  later: Held | undefined
}

/** A request in flight, as its subject's figures know it. */
export interface InFlight extends Held {
  /** Time set aside for it. */
  readonly cost: number
  /** When it started or was resumed, later by what it has waited since. */
  start: number
  /** From when on its time counts in the window that was opened at `openedAt`. */
  countedFrom: number
  /** When that window was opened here. */
  openedAt: number
  /** Its time stands still, and what is left of its hold stays set aside. */
  isPaused: boolean
  /** What was left of its hold when it was paused. */
  pausedHold: number
}

/**
 * What this process has charged to one subject in the open window, and what it holds there. Whole microseconds of the
 * process's monotonic clock. The time accrued by n requests in flight is n·now − Σ starts, so it costs the same for one
 * request and for thousands.
 */
export class OwnFigures {
  // Numbers from the start, as in a SubjectWindow.
  #number = 0
  #openedAt = 0
  #spent = 0
  #running = 0
  #paused = 0
  /** Held for paused requests. */
  #pausedHold = 0
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

  /** When it was opened here: unlike its number, that stays where the store's clock is set back. */
  get openedAt(): number {
    return this.#openedAt
  }

  /** Charged, without what is still in flight. */
  get spent(): number {
    return this.#spent
  }

  /** Requests in flight, paused ones included. */
  get running(): number {
    return this.#running
  }

  get granted(): number {
    return this.#granted
  }

  /** Time that the requests in flight have taken in this window. */
  accrued(now: number): number {
    return (this.#running - this.#paused) * now - this.#starts
  }

  /** What the requests in flight are still expected to take, each by itself. */
  held(now: number): number {
    return this.#holds.at(now) + this.#pausedHold
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
    this.#starts += request.countedFrom
    this.#granted += request.cost
    if (request.cost > 0) this.#holds.add(request)
  }

  /** Takes a request out of flight, charged or not. Returns what it took in this window: the rest is charged already. */
  end(request: InFlight, now: number): number {
    const us = this.#stop(request, now)
    this.#running--
    if (request.isPaused) {
      this.#paused--
      this.#pausedHold -= request.pausedHold
    } else this.#holds.remove(request)
    return us
  }

  /** Stops a request's time. What is left of its hold stays set aside. Returns what it took, as `end()` does. */
  pause(request: InFlight, now: number): number {
    const us = this.#stop(request, now)
    if (request.isPaused) return 0
    request.isPaused = true
    request.pausedHold = request.isHeld ? Math.max(0, request.heldUntil - now) : 0
    this.#holds.remove(request)
    this.#pausedHold += request.pausedHold
    this.#paused++
    return us
  }

  /** A paused request's time goes on. */
  resume(request: InFlight, now: number): void {
    if (!request.isPaused) return
    this.#carry(request)
    request.isPaused = false
    request.start = request.countedFrom = now
    this.#paused--
    this.#starts += now
    this.#pausedHold -= request.pausedHold
    request.heldUntil = now + request.pausedHold
    if (request.pausedHold > 0) this.#holds.add(request)
  }

  #stop(request: InFlight, now: number): number {
    this.#carry(request)
    if (request.isPaused) return 0
    this.#starts -= request.countedFrom
    return now - request.countedFrom
  }

  /** Of a request that has crossed into this window only what comes after the boundary counts here. */
  #carry(request: InFlight): void {
    if (request.openedAt === this.#openedAt) return
    request.openedAt = this.#openedAt
    request.countedFrom = this.#openedAt
  }

  charge(us: number): void {
    this.#spent += us
  }

  /**
   * Starts a request later by `us`, which it waited until `now`. Where a window has begun meanwhile, that part of the wait
   * which lies in it is left out of it.
   */
  postpone(request: InFlight, us: number, now: number): void {
    if (request.isPaused) return
    this.#carry(request)
    const here = Math.min(us, now - request.countedFrom)
    request.countedFrom += here
    this.#starts += here
    request.start += Math.min(us, now - request.start)
    this.#holds.postpone(request, us)
  }

  /** The store's clock was set back: these are the figures of window `number` now. */
  renumber(number: number): void {
    this.#number = number
  }

  /** Begins window `number`. Requests in flight start anew at the boundary; what is still held for them stays. */
  next(number: number, boundary: number): void {
    this.#starts = boundary * (this.#running - this.#paused)
    this.#openedAt = boundary
    this.#spent = 0
    this.#number = number
  }
}

/**
 * What the requests in flight are still expected to take: Σ max(0, heldUntil − now), each request by itself, so that one
 * that takes longer than its price does not use up what is held for the others. Linked in the order of `heldUntil`;
 * requests come nearly in that order, so adding one costs little, and the sum costs as much as there are requests whose
 * price has been used up since the last time.
 */
export class Holds {
  #soonest: Held | undefined
  #latest: Held | undefined
  #count = 0
  #sum = 0

  /** What is still expected, in microseconds. */
  at(now: number): number {
    this.#expire(now)
    return this.#sum - this.#count * now
  }

  /** When the next price is used up; undefined where nothing is held. */
  soonestEnd(now: number): number | undefined {
    this.#expire(now)
    return this.#soonest?.heldUntil
  }

  add(request: Held): void {
    let sooner = this.#latest
    while (sooner !== undefined && sooner.heldUntil > request.heldUntil) sooner = sooner.sooner
    const later = sooner === undefined ? this.#soonest : sooner.later
    this.#join(sooner, request)
    this.#join(request, later)
    request.isHeld = true
    this.#count++
    this.#sum += request.heldUntil
  }

  /** Ends a hold, used up or not. */
  remove(request: Held): void {
    if (!request.isHeld) return
    this.#join(request.sooner, request.later)
    request.sooner = request.later = undefined
    request.isHeld = false
    this.#count--
    this.#sum -= request.heldUntil
  }

  /** Lets a hold end later by `us`. */
  postpone(request: Held, us: number): void {
    if (!request.isHeld) return
    this.remove(request)
    request.heldUntil += us
    this.add(request)
  }

  #expire(now: number): void {
    while (this.#soonest !== undefined && this.#soonest.heldUntil <= now) this.remove(this.#soonest)
  }

  /** Makes two neighbours; with none, the other is the first or the last. */
  #join(sooner: Held | undefined, later: Held | undefined): void {
    if (sooner === undefined) this.#soonest = later
    else sooner.later = later
    if (later === undefined) this.#latest = sooner
    else later.sooner = sooner
  }
}
