import type { Clock } from '../http/clock'

/** Many deadlines of one length, by one timer: they come due in the order in which they were set. */
export class Deadlines {
  #queue: { at: number; due: () => void }[] = []
  #armed = false

  constructor(
    private readonly clock: Clock,
    private readonly ms: number,
  ) {}

  /** Calls `due` once, when the deadline is over. What has been settled by then is for `due` to notice. */
  add(due: () => void): void {
    this.#queue.push({ at: this.clock.now() + this.ms, due })
    this.#arm(this.ms)
  }

  #arm(ms: number): void {
    if (this.#armed) return
    this.#armed = true
    this.clock.after(ms, () => this.#fire())
  }

  #fire(): void {
    this.#armed = false
    const now = this.clock.now()
    const open = this.#queue.findIndex(({ at }) => at > now)
    const over = this.#queue.splice(0, open === -1 ? this.#queue.length : open)
    const first = this.#queue[0]
    if (first) this.#arm(Math.max(1, first.at - now))
    // Timers come before what the network brought: an answer that came while this process was busy is read first.
    this.clock.after(0, () => {
      for (const { due } of over) due()
    })
  }
}
