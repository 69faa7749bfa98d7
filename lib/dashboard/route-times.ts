import { Distribution } from '../advisor/distribution'
import { Histogram } from '../advisor/histogram'

/** Requests are told apart by the ten minutes in which they ended. */
const PART_MS = 600_000
const PARTS_AN_HOUR = 6

/** How long the requests of a route took. */
export interface Times {
  readonly meanMs: number
  readonly p95Ms: number
}

/** How long the requests of a route take now and took an hour ago, over ten to twenty minutes each. */
export class RouteTimes {
  readonly #parts = new Map<number, Histogram>()

  add(nowMs: number, ms: number): void {
    const part = Math.floor(nowMs / PART_MS)
    let histogram = this.#parts.get(part)
    if (histogram === undefined) {
      for (const old of this.#parts.keys()) if (old < part - PARTS_AN_HOUR - 1) this.#parts.delete(old)
      this.#parts.set(part, (histogram = new Histogram()))
    }
    histogram.move(0, ms * 1_000)
  }

  /** Undefined without a request. */
  at(nowMs: number, hoursAgo: 0 | 1): Times | undefined {
    const part = Math.floor(nowMs / PART_MS) - PARTS_AN_HOUR * hoursAgo
    const sum = new Histogram()
    for (const each of [part - 1, part]) sum.addAll(this.#parts.get(each) ?? new Histogram())
    const times = new Distribution(sum)
    if (times.count === 0) return undefined
    return { meanMs: times.us / times.count / 1_000, p95Ms: times.quantileUs(0.95) / 1_000 }
  }
}
