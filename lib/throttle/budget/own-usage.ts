import type { Hold } from './hold'

/** Sums stay below this many µs, four years, so that numbers and records keep them whole. */
const MOST_US = 2 ** 47
/** A request that runs longer than its price is expected to take half as long again, and this much at least. */
const LONGER_LEAST_US = 1_000

/**
 * What one process's requests have used of a subject's window, and still hold. Nothing is kept of a running request but
 * where its time stood when it began here: all figures are read from the requests' own stopwatches. Whole microseconds.
 */
export class OwnUsage {
  /** Counts as overshoot though it was not used: what nobody saw of requests that were written off, less rehearsals. */
  unseenUs = 0
  /** Requests that were let in and have not ended, the latest first. */
  first: Hold | undefined = undefined
  /** Running time that was left out as other requests': at most one limit a window. */
  #stalledUs = 0
  /** Time of requests that have ended, and their excused waits. */
  #endedUs = 0
  #excusedUs = 0
  /** When the window began, in µs of the process's clock; -Infinity for the first. */
  #beganAt = -Infinity

  /** Requests that have a place. */
  get live(): number {
    let count = 0
    for (let hold = this.first; hold !== undefined; hold = hold.following) count++
    return count
  }

  /** Time that requests took, with the elapsed time of running ones. */
  usedUs(now: number): number {
    let us = this.#endedUs
    for (let hold = this.first; hold !== undefined; hold = hold.following) us += hold.usedUs(now)
    return Math.min(us, MOST_US)
  }

  /** What running requests are expected to take still. For this process's own decisions. */
  heldUs(now: number): number {
    let us = 0
    for (let hold = this.first; hold !== undefined; hold = hold.following) us += restUs(hold, now)
    return us
  }

  /** What is left of their prices. The store is told no more: it counts as used if the process is not heard again. */
  pricedUs(now: number): number {
    let us = 0
    for (let hold = this.first; hold !== undefined; hold = hold.following)
      us += Math.max(0, hold.priceUs - hold.takenUs(now))
    return us
  }

  /** Waits for clients that are excused. */
  excusedUs(now: number): number {
    let us = this.#excusedUs
    for (let hold = this.first; hold !== undefined; hold = hold.following) us += hold.excusedUs(now)
    return us
  }

  /** When the first running request should have ended; Infinity where none runs. */
  soonestEnd(now: number): number {
    let end = Infinity
    for (let hold = this.first; hold !== undefined; hold = hold.following)
      if (hold.isRunning) end = Math.min(end, now + restUs(hold, now))
    return end
  }

  /** When the last one should have ended. Infinity where the time of one stands still, -Infinity where there is none. */
  lastEnd(now: number): number {
    let end = -Infinity
    for (let hold = this.first; hold !== undefined; hold = hold.following)
      end = Math.max(end, hold.isRunning ? now + restUs(hold, now) : Infinity)
    return end
  }

  /** Takes a request in. Its time stands still until {@link start}. */
  begin(hold: Hold): void {
    hold.expectedUs = hold.priceUs
    hold.state = 'live'
    hold.following = this.first
    if (this.first !== undefined) this.first.previous = hold
    this.first = hold
  }

  /** The time of a request begins. */
  start(hold: Hold, now: number): void {
    hold.beforeUs = hold.time.countedUs(now)
    hold.isCountedFrom(now)
  }

  /** A request has ended: it pays for what it took. */
  end(hold: Hold, now: number): void {
    this.charge(hold.usedUs(now))
    this.#excusedUs += hold.excusedUs(now)
    hold.state = 'ended'
    const { previous, following } = hold
    if (previous === undefined) this.first = following
    else previous.following = following
    if (following !== undefined) following.previous = previous
    hold.previous = hold.following = undefined
  }

  endAll(now: number): void {
    while (this.first !== undefined) this.end(this.first, now)
  }

  /** Adds time that no live request took, or takes it back. */
  charge(us: number): void {
    this.#endedUs = Math.min(this.#endedUs + us, MOST_US)
  }

  /** How much running time may be left out still in this window, as other requests'. */
  excusableUs(limitUs: number): number {
    return Math.max(0, limitUs - this.#stalledUs)
  }

  /** So much was left out as other requests'. */
  stalled(us: number): void {
    this.#stalledUs += us
  }

  /** A window begins. What runs across the boundary is counted from it. */
  enter(boundary: number): void {
    this.#beganAt = boundary
    this.#endedUs = this.#excusedUs = this.unseenUs = this.#stalledUs = 0
    for (let hold = this.first; hold !== undefined; hold = hold.following) {
      hold.isCountedFrom(Math.max(hold.time.since, boundary))
    }
  }

  /**
   * Waits for clients count again from when the cap was reached.
   *
   * @param account says how much of a cap is this process's
   */
  boundWaits(now: number, account: { excusedMostUs(capUs: number): number }): void {
    let waiting = 0
    for (let hold = this.first; hold !== undefined; hold = hold.following) if (hold.isExcused) waiting++
    for (let hold = this.first; waiting > 0 && hold !== undefined; hold = hold.following) {
      if (!hold.isExcused) continue
      const beyondUs = this.excusedUs(now) - account.excusedMostUs(hold.clientWaitUs)
      if (beyondUs <= 0) continue
      const from = Math.max(hold.time.since, this.#beganAt)
      hold.time.countWait(Math.max(from, now - Math.ceil(beyondUs / waiting--)))
    }
  }
}

/** What a request is expected to take still. One that runs longer than expected is expected to take half as long again. */
function restUs(hold: Hold, now: number): number {
  const takenUs = hold.takenUs(now)
  if (!hold.isRunning) return Math.max(0, hold.priceUs - takenUs)
  if (takenUs >= hold.expectedUs) {
    const workedUs = takenUs - hold.time.countedWaitsUs(now)
    hold.expectedUs = takenUs + Math.max(LONGER_LEAST_US, Math.ceil(workedUs / 2))
  }
  return hold.expectedUs - takenUs
}
