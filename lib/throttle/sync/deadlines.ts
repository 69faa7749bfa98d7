import type { Clock } from '../../http/clock'

/** A timer that fires later than this was held up by the event loop. */
const LATE_MS = 5
/** What was due meanwhile has this part of the length longer: it may not have been sent before the process went on. */
const GRACE_PART = 1 / 2

/**
 * Many deadlines of one length, by one timer: they come due in the order in which they were set. While all of them are
 * kept the timer goes off once in that length, however many there are.
 */
export class Deadlines<T> {
  readonly #clock: Clock
  readonly #ms: number
  readonly #isOpen: (what: T) => boolean
  readonly #missed: (what: T) => void
  #queue: { readonly at: number; readonly what: T }[] = []
  #armed = false

  /**
   * @param isOpen whether it still matters
   * @param missed called once for what is still open when its deadline is over
   */
  constructor(clock: Clock, ms: number, isOpen: (what: T) => boolean, missed: (what: T) => void) {
    this.#clock = clock
    this.#ms = ms
    this.#isOpen = isOpen
    this.#missed = missed
  }

  add(what: T): void {
    this.#dropKept()
    this.#queue.push({ at: this.#clock.now() + this.#ms, what })
    this.#arm(this.#ms)
  }

  /**
   * The first ones, as a rule all. What thousands a second left here until the timer goes off would outlive quick
   * collections, and V8 then makes its like where only a full collection frees them.
   */
  #dropKept(): void {
    for (let first = this.#queue[0]; first !== undefined && !this.#isOpen(first.what); first = this.#queue[0]) {
      this.#queue.shift()
    }
  }

  #arm(ms: number): void {
    if (this.#armed) return
    this.#armed = true
    this.#clock.after(ms, () => this.#fire())
  }

  #fire(): void {
    this.#armed = false
    const now = this.#clock.now()
    const waiting = this.#queue.findIndex(({ at, what }) => at > now && this.#isOpen(what))
    const over = this.#queue.splice(0, waiting === -1 ? this.#queue.length : waiting)
    const first = this.#queue[0]
    if (first) this.#arm(Math.max(1, first.at - now))
    const late = over.filter(({ at, what }) => at <= now && this.#isOpen(what))
    if (late.length === 0) return
    const judge = () => {
      for (const { what } of late) if (this.#isOpen(what)) this.#missed(what)
    }
    // Timers come before what the network brought: an answer that came while this process was busy is read first.
    const read = () => this.#clock.after(0, judge)
    // A late timer proves nothing: the process was busy.
    const wasBusy = late.some(({ at }) => now - at > LATE_MS)
    if (wasBusy) this.#clock.after(this.#ms * GRACE_PART, read)
    else read()
  }
}
