import type { ToldWindow } from './response-fields'

/** Others hear of what is left as late as this client does, and slow down: their rate fades over three such delays. */
const FADES_IN_DELAYS = 3
const FADES_AT_LEAST_MS = 20
/** No more of what was left is taken for spent by others until they are seen to have spent it. */
const MOST_GUESSED = 0.75
/** Others' rate is measured over no less. */
const RATE_OVER_MS = 10
/** What others must have spent, beside a tenth of what the client spent, to be taken for others and not for rounding. */
const SHARED_FROM_MS = 20

/**
 * One window as a client knows it: what was left when last told, what others have been spending, and when it ends at
 * the latest. All times are milliseconds of the client's own clock.
 */
export class ClientWindow {
  limitMs = Infinity
  /** Undefined until the service told it. */
  endsBy: number | undefined
  #leftMs = Infinity
  #toldAt = -Infinity
  #windowMs: number | undefined
  /** What this client had spent, and what of the window was used, when the window was first told of. */
  #ownBefore = 0
  #usedBefore = 0
  #othersMs = 0
  #othersAt: number | undefined
  #rate = 0
  #fadesMs = FADES_AT_LEAST_MS
  #shared = false

  /**
   * Takes over what a response says.
   *
   * @param sentAt when its request was sent: what it says is at least that new
   * @param ownMs what this client has spent since the client began, as far as it knows
   */
  tell(told: ToldWindow, sentAt: number, now: number, ownMs: number): void {
    this.roll(now)
    this.#fadesMs = Math.max(FADES_AT_LEAST_MS, FADES_IN_DELAYS * (now - sentAt))
    this.limitMs = told.limitMs
    this.#windowMs = told.windowMs ?? this.#windowMs
    const endsBy = told.endsInMs === undefined ? undefined : now + told.endsInMs
    const usedMs = told.limitMs - told.leftMs
    const begun = this.#toldAt === -Infinity || (told.leftMs > this.#leftMs && sentAt >= this.#toldAt)
    if (begun) {
      this.#ownBefore = ownMs
      this.#usedBefore = usedMs
      this.#othersMs = 0
      this.#othersAt = now
    }
    if (begun || told.leftMs < this.#leftMs) {
      this.#leftMs = told.leftMs
      this.#toldAt = now
      this.#seeOthers(usedMs - this.#usedBefore, ownMs - this.#ownBefore, now)
    }
    if (endsBy !== undefined) this.endsBy = begun ? endsBy : Math.min(endsBy, this.endsBy ?? Infinity)
  }

  /** The service said that nothing is to be had until then. */
  exhaust(until: number, now: number): void {
    this.roll(now)
    this.#leftMs = 0
    this.#toldAt = now
    this.endsBy = until
  }

  /** What is left, less what others are taken to have spent since it was told. */
  leftMs(now: number): number {
    this.roll(now)
    if (this.#leftMs === Infinity) return Infinity
    const since = Math.max(0, now - this.#toldAt)
    const guessMs = this.#rate * this.#fadesMs * (1 - Math.exp(-since / this.#fadesMs))
    return this.#leftMs - Math.min(guessMs, this.#leftMs * MOST_GUESSED)
  }

  /** Milliseconds of processing that others spend a millisecond, which is how many of their requests are in flight. */
  othersRate(now: number): number {
    return this.#rate * Math.exp(-Math.max(0, now - this.#toldAt) / this.#fadesMs)
  }

  /** The service has told its limit. */
  get isTold(): boolean {
    return this.limitMs < Infinity
  }

  /** Nothing is known to be spent of it. */
  isFresh(now: number): boolean {
    return this.leftMs(now) >= this.limitMs
  }

  /** Others have been seen to spend of it: a lone request may be refused. */
  get shared(): boolean {
    return this.#shared
  }

  /** Where the window is over, a new one is open, of which nothing is spent as far as is known. */
  roll(now: number): void {
    if (this.endsBy === undefined || now < this.endsBy) return
    const length = this.#windowMs
    const passed = length === undefined ? 0 : Math.floor((now - this.endsBy) / length) + 1
    this.endsBy = length === undefined ? undefined : this.endsBy + passed * length
    this.#leftMs = this.limitMs
    this.#toldAt = -Infinity
    this.#rate = 0
  }

  /** What others spent is what was used and this client did not use; rounding and delay make it a rough figure. */
  #seeOthers(usedMs: number, ownMs: number, now: number): void {
    const [before, at] = [this.#othersMs, this.#othersAt]
    if (at === undefined || now - at < RATE_OVER_MS) return
    const othersMs = Math.max(before, usedMs - ownMs)
    this.#shared ||= othersMs > Math.max(SHARED_FROM_MS, ownMs / 10)
    const faded = this.#rate * Math.exp(-(now - at) / this.#fadesMs)
    this.#rate = this.#shared ? Math.max((othersMs - before) / (now - at), faded) : 0
    this.#othersMs = othersMs
    this.#othersAt = now
  }
}
