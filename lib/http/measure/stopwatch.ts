/** The app waits for a slow reader of its response. */
export const READER = 1
/** The app waits for a slow sender of its request. */
export const SENDER = 2

/**
 * What a request's time does: its life in one table.
 *
 * | State | The request | Its time |
 * |---|---|---|
 * | `parked` | waits for a throttle | stands still |
 * | `running` | is worked on | counts |
 * | `awaitingClient` | waits for its client | stands still, and is excused up to a cap |
 * | `idle` | the same, and nothing works for it: a file is piped to it | stands still |
 * | `abandoned` | has lost its client, and its handler may work on | counts |
 * | `writtenOff` | the same, and its handler has not ended the response for long | is known up to `since` |
 * | `settled` | is measured no more, and its response is still open | is final |
 * | `ended` | its response was ended or destroyed; `since` says when | is final |
 */
export type TimeState =
  'parked' | 'running' | 'awaitingClient' | 'idle' | 'abandoned' | 'writtenOff' | 'settled' | 'ended'

/** Time that is left out of all requests that go by it: it only grows. µs. */
export interface LeftOut {
  readonly leftOutUs: number
}
const NOTHING: LeftOut = { leftOutUs: 0 }

/**
 * Keeps the time of one request, in whole microseconds: its state machine. Nobody else counts it. All times are `nowUs()`
 * of one clock.
 */
export class Stopwatch {
  state: TimeState = 'running'
  /** The request is worked on, and its time counts. */
  isCounting = true
  /** Its time is measured no more. */
  hasStopped = false
  /** When the state began. */
  since: number
  /** Counted before `since`. */
  #countedUs = 0
  #excusedUs = 0
  /** What is left out of time that counts; what of that was before `since`; and what was left out until then. */
  #leftOut = NOTHING
  #leftOutFrom = 0
  #stalledUs = 0
  /** {@link READER}, {@link SENDER}, both (3) or neither (0). */
  #waitsFor = 0
  /** Counted waits for the client: those that are over, and the start of the present one. */
  #countedWaitsUs = 0
  #waitCountsFrom: number | undefined

  constructor(now: number) {
    this.since = now
  }

  /** The response was ended or destroyed. */
  get isOver(): boolean {
    return this.state === 'ended'
  }

  /** The time counted so far, in microseconds. */
  countedUs(now: number): number {
    return this.isCounting
      ? this.#countedUs + Math.max(0, now - this.since - this.#leftOut.leftOutUs + this.#leftOutFrom)
      : this.#countedUs
  }

  /** The time spent in `awaitingClient`, in microseconds. */
  excusedUs(now: number): number {
    return this.state === 'awaitingClient' ? this.#excusedUs + now - this.since : this.#excusedUs
  }

  /** Time that counted though the app only waited for its client: it says nothing of the work. Microseconds. */
  countedWaitsUs(now: number): number {
    return this.#countedWaitsUs + (this.#waitCountsFrom === undefined ? 0 : now - this.#waitCountsFrom)
  }

  /** The present wait for the client is excused no longer: its time counts from `at` on, which may have passed. */
  countWait(at: number): void {
    if (this.state === 'awaitingClient') this.enter('running', at)
  }

  /** A wait for the client that counted is excused again, from `at` on. */
  excuseWait(at: number): void {
    if (this.#waitCountsFrom !== undefined) this.enter('awaitingClient', at)
  }

  /** Time that was left out so far, in microseconds. */
  get stalledUs(): number {
    return this.isCounting ? this.#stalledUs + this.#leftOut.leftOutUs - this.#leftOutFrom : this.#stalledUs
  }

  /** This much of what is left out of others' time is its own. */
  pays(us: number): void {
    this.#leftOutFrom += us
  }

  /** Called before the state changes at a time that may have passed. */
  protected changes(_at: number): void {}

  /** The time stands still for the client. */
  protected get isStill(): boolean {
    return this.state === 'awaitingClient' || this.state === 'idle'
  }

  protected get waitsFor(): number {
    return this.#waitsFor
  }

  protected noteWait(whom: number): void {
    this.#waitsFor |= whom
  }

  protected noteWaitOver(whom: number): void {
    this.#waitsFor &= ~whom
  }

  /** Changes the state at a time that may have passed. A wait for the client that ends in `running` counts from then on. */
  protected enter(state: TimeState, at: number): void {
    this.changes(at)
    this.#countedUs = this.countedUs(at)
    this.#stalledUs = this.stalledUs
    this.#leftOutFrom = this.#leftOut.leftOutUs
    this.#excusedUs = this.excusedUs(at)
    if (this.#waitCountsFrom !== undefined) {
      this.#countedWaitsUs += at - this.#waitCountsFrom
      this.#waitCountsFrom = undefined
    }
    if (state === 'running' && this.#waitsFor !== 0) this.#waitCountsFrom = at
    this.state = state
    this.isCounting = state === 'running' || state === 'abandoned'
    this.hasStopped = state === 'ended' || state === 'settled' || state === 'writtenOff'
    this.since = at
  }

  /** A wait for the client that counted is over; the time goes on. */
  protected endCountedWait(at: number): void {
    if (this.#waitCountsFrom !== undefined) this.enter(this.state, at)
  }

  /** Counts from zero again, less what is left out from now on. */
  protected restart(now: number, leftOut = NOTHING): void {
    this.state = 'running'
    this.isCounting = true
    this.since = now
    this.#leftOut = leftOut
    this.#leftOutFrom = leftOut.leftOutUs
    this.#countedUs = this.#stalledUs = this.#excusedUs = this.#waitsFor = this.#countedWaitsUs = 0
    this.#waitCountsFrom = undefined
  }

  /** Goes by another clock from now on, which is ahead by `us`. */
  protected shift(us: number): void {
    this.since += us
  }
}
