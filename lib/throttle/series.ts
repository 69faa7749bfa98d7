/** Each point of a chart sums up this many milliseconds. */
export const STEP_MS = 5_000
/** Five minutes. */
const POINTS = 60
const A_MINUTE = 60_000 / STEP_MS

/** What happened in the last five minutes, in steps of five seconds. Takes the same memory whatever happens. */
export class Series {
  readonly #sums = Array<number>(POINTS).fill(0)
  #step = 0

  add(nowMs: number, amount: number): void {
    this.#turn(nowMs)
    this.#sums[this.#step % POINTS] = (this.#sums[this.#step % POINTS] ?? 0) + amount
  }

  /** Oldest first; the last one is not over yet. */
  points(nowMs: number): number[] {
    this.#turn(nowMs)
    return Array.from({ length: POINTS }, (_, i) => this.#sums[(this.#step + 1 + i) % POINTS] ?? 0)
  }

  /** The last minute's sum, the step included that is not over yet. */
  aMinute(nowMs: number): number {
    return this.points(nowMs)
      .slice(-A_MINUTE)
      .reduce((sum, point) => sum + point, 0)
  }

  /** The sum of all five minutes. */
  total(nowMs: number): number {
    return this.points(nowMs).reduce((sum, point) => sum + point, 0)
  }

  #turn(nowMs: number): void {
    const step = Math.floor(nowMs / STEP_MS)
    for (let n = Math.max(this.#step + 1, step - POINTS + 1); n <= step; n++) this.#sums[n % POINTS] = 0
    this.#step = Math.max(step, this.#step)
  }
}
