import type { HoldRecord } from './hold'

/** Sums stay below this many µs, two years, so that numbers and records keep them whole. */
const MOST_US = 2 ** 46
/** A request that runs longer than its price is expected to take half as long again, and this much at least. */
const LONGER_LEAST_US = 1_000

/**
 * What one process's requests have used of a subject's window, and still hold. Sums of starts and ends stand for the
 * running requests, so that a look costs the same for any number of them. Whole microseconds.
 */
export class OwnUsage {
  /** Time that was charged without being measured, less what counts as overshoot without having been measured. */
  addedUs = 0
  /** Requests that have a place, the latest first. */
  first: HoldRecord | undefined = undefined
  live = 0
  /** Requests that stand in another account's line: they hold nothing. */
  aside = 0
  /** Running time that was left out as other requests'. */
  stalledUs = 0
  /** Excused waits for clients: the count and the sum of the starts of those under way; those that are over. */
  waiting = 0
  /** Time of requests that do not run. */
  #settledUs = 0
  /** Running requests: their count; the sums of when each would have started had it never stopped, and of their expected ends. */
  #running = 0
  #startsUs = 0
  #untilUs = 0
  /** Those that have not run longer than their price: their count, and the sum of the ends of their prices. */
  #within = 0
  #endsUs = 0
  /** The first expected end, or earlier; the last one, or later. */
  #soonest = Infinity
  #latest = 0
  /** Held for requests whose time stands still. */
  #parkedUs = 0
  #excusedUs = 0
  #waitStartsUs = 0
  /** When the window began, in µs of the process's clock; -Infinity for the first. */
  #beganAt = -Infinity

  /** Time that requests took, with the elapsed time of running ones. */
  usedUs(now: number): number {
    return this.#settledUs + this.#running * now - this.#startsUs
  }

  /** What running requests are expected to take still. For this process's own decisions. */
  heldUs(now: number): number {
    if (now >= this.#soonest) this.#reprice(now)
    return this.#untilUs - this.#running * now + this.#parkedUs
  }

  /** What is left of their prices. The store is told no more: it counts as used if the process is not heard again. */
  pricedUs(now: number): number {
    if (now >= this.#soonest) this.#reprice(now)
    return this.#endsUs - this.#within * now + this.#parkedUs
  }

  /** Waits for clients that are excused. */
  excusedUs(now: number): number {
    return this.#excusedUs + this.waiting * now - this.#waitStartsUs
  }

  /** When the first running request should have ended; Infinity where none runs. */
  soonestEnd(now: number): number {
    if (now >= this.#soonest) this.#reprice(now)
    return this.#running > 0 ? this.#soonest : Infinity
  }

  /** When the last running request should have ended. Infinity where the time of one stands still, -Infinity where none runs. */
  get lastEnd(): number {
    if (this.#running < this.live) return Infinity
    return this.#running > 0 ? this.#latest : -Infinity
  }

  /** Takes a request in. Its time stands still until {@link start}. */
  begin(hold: HoldRecord): void {
    hold.leftUs = hold.priceUs
    hold.state = 'parked'
    hold.following = this.first
    if (this.first !== undefined) this.first.previous = hold
    this.first = hold
    this.live++
    this.#parkedUs += hold.leftUs
  }

  /** The time of a request begins, or goes on, at a time that may have passed. */
  start(hold: HoldRecord, at: number): void {
    if (hold.state === 'awaitingClient') this.#endWait(hold, at)
    else if (hold.state === 'aside') this.#takeBack(hold)
    if (hold.state !== 'parked') return
    if (hold.beforeUs < 0) hold.beforeUs = hold.baseUs = hold.owner.time.countedUs(at)
    const usedUs = hold.usedUs(at)
    this.#parkedUs -= hold.leftUs
    hold.state = 'running'
    hold.until = at + hold.leftUs
    hold.isBeyondPrice = false
    this.#within++
    this.#endsUs += hold.until
    this.#running++
    this.#settledUs -= usedUs
    this.#startsUs += at - usedUs
    this.#untilUs += hold.until
    this.#soonest = Math.min(this.#soonest, hold.until)
    this.#latest = this.#running === 1 ? hold.until : Math.max(this.#latest, hold.until)
  }

  /** The time of a request stands still; it keeps what is left of its price. */
  park(hold: HoldRecord, now: number): void {
    if (hold.state === 'awaitingClient') this.#endWait(hold, now)
    if (hold.state !== 'running') return
    const usedUs = hold.usedUs(now)
    this.#settledUs += usedUs
    hold.leftUs = hold.isBeyondPrice ? 0 : Math.max(0, hold.until - now)
    if (!hold.isBeyondPrice) this.#leavePrice(hold)
    hold.state = 'parked'
    this.#running--
    this.#startsUs -= now - usedUs
    this.#untilUs -= hold.until
    this.#parkedUs += hold.leftUs
  }

  /** A request gives back its place and what is left of its price, until it goes on. */
  setAside(hold: HoldRecord, now: number): void {
    this.park(hold, now)
    if (hold.state !== 'parked') return
    hold.state = 'aside'
    this.live--
    this.aside++
    this.#parkedUs -= hold.leftUs
  }

  #takeBack(hold: HoldRecord): void {
    hold.state = 'parked'
    this.live++
    this.aside--
    this.#parkedUs += hold.leftUs
  }

  /** The app waits for the request's client: its time stands still, excused up to a cap. */
  wait(hold: HoldRecord, now: number): void {
    this.park(hold, now)
    if (hold.state !== 'parked') return
    hold.state = 'awaitingClient'
    this.waiting++
    this.#waitStartsUs += now
  }

  #endWait(hold: HoldRecord, at: number): void {
    const from = Math.max(hold.owner.time.since, this.#beganAt)
    this.waiting--
    this.#waitStartsUs -= from
    this.#excusedUs += at - from
    hold.state = 'parked'
  }

  /**
   * Waits for clients count again from when the cap was reached.
   *
   * @param account says how much of a cap is this process's
   */
  boundWaits(now: number, account: { excusedMostUs(capUs: number): number }): void {
    for (let hold = this.first; hold !== undefined; hold = hold.following) {
      if (hold.state !== 'awaitingClient') continue
      const beyondUs = this.excusedUs(now) - account.excusedMostUs(hold.clientWaitUs)
      if (beyondUs <= 0) continue
      const from = Math.max(hold.owner.time.since, this.#beganAt)
      const at = Math.max(from, now - Math.ceil(beyondUs / this.waiting))
      this.start(hold, at)
      hold.owner.waitCounts(at)
    }
  }

  /** A request has ended. */
  end(hold: HoldRecord, now: number): void {
    if (hold.state === 'aside') this.#takeBack(hold)
    this.park(hold, now)
    hold.state = 'ended'
    const { previous, following } = hold
    if (previous === undefined) this.first = following
    else previous.following = following
    if (following !== undefined) following.previous = previous
    hold.previous = hold.following = undefined
    this.live--
    this.#parkedUs -= hold.leftUs
  }

  /** Adds time, or takes it back. @param isMeasured a request took it */
  charge(us: number, isMeasured: boolean): void {
    this.#settledUs = Math.min(this.#settledUs + us, MOST_US)
    if (!isMeasured) this.addedUs = Math.min(this.addedUs + us, MOST_US)
  }

  /** Leaves out some of the running time of a request, as its meter has done. */
  leaveOut(hold: HoldRecord, us: number, now: number): void {
    if (hold.state !== 'running') return
    const most = Math.max(0, Math.min(us, hold.usedUs(now) + us)) // what was before the window is not counted here
    hold.baseUs -= us - most
    this.#startsUs += most
    hold.until += us
    this.#untilUs += us
    this.#latest = Math.max(this.#latest, hold.until)
    if (!hold.isBeyondPrice) this.#endsUs += us
  }

  /** A window begins. What runs across the boundary is counted from it. */
  enter(boundary: number): void {
    this.#beganAt = boundary
    this.#settledUs = this.#excusedUs = this.addedUs = this.stalledUs = 0
    this.#startsUs = this.#waitStartsUs = 0
    for (let hold = this.first; hold !== undefined; hold = hold.following) {
      const { time } = hold.owner
      const from = Math.max(time.since, boundary)
      hold.baseUs = time.countedUs(from)
      if (hold.state === 'running') this.#startsUs += from
      else if (hold.state === 'awaitingClient') this.#waitStartsUs += from
    }
  }

  #reprice(now: number): void {
    this.#soonest = Infinity
    for (let hold = this.first; hold !== undefined; hold = hold.following) {
      if (hold.state !== 'running') continue
      if (hold.until <= now) {
        if (!hold.isBeyondPrice) this.#leavePrice(hold)
        const workedUs = hold.takenUs(now) - hold.owner.time.countedWaitsUs(now)
        const until = now + Math.max(LONGER_LEAST_US, Math.ceil(workedUs / 2))
        this.#untilUs += until - hold.until
        hold.until = until
        this.#latest = Math.max(this.#latest, until)
      }
      this.#soonest = Math.min(this.#soonest, hold.until)
    }
  }

  #leavePrice(hold: HoldRecord): void {
    hold.isBeyondPrice = true
    this.#within--
    this.#endsUs -= hold.until
  }
}
