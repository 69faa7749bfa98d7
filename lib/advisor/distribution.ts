import { type Histogram, bucketStartUs } from './histogram'

interface Part {
  readonly fromUs: number
  readonly toUs: number
  readonly count: number
  readonly us: number
}

/** What a histogram says of the totals. Within a bucket the totals are taken to be spread evenly by their logarithm. */
export class Distribution {
  /** Subject-windows that used any time. */
  readonly count: number
  /** Their totals added up, in microseconds. */
  readonly us: number
  readonly #parts: readonly Part[]

  /** @param histogram the sum over all processes; a bucket is below zero where a killed process lost its moves: it counts as 0 */
  constructor(histogram: Histogram) {
    this.#parts = histogram.buckets
      .filter(([, { count }]) => count > 0)
      .map(([index, { count, us }]) => ({ fromUs: bucketStartUs(index), toUs: bucketStartUs(index + 1), count, us }))
    this.count = this.#parts.reduce((sum, { count }) => sum + count, 0)
    this.us = this.#parts.reduce((sum, { us }) => sum + us, 0)
  }

  /** From the lowest total to the highest, without empty ones. */
  get bars() {
    return this.#parts.map(({ fromUs, toUs, count }) => ({
      fromMs: fromUs / 1_000,
      toMs: toUs / 1_000,
      subjectWindows: count,
    }))
  }

  /** The total, in microseconds, that the share `q` of the subject-windows does not exceed; `q` is 0 to 1. 0 without any. */
  quantileUs(q: number): number {
    let below = 0
    for (const { fromUs, toUs, count, us } of this.#parts) {
      if (below + count >= q * this.count) {
        if (count === 1) return us // then the sum is the total itself
        return between(fromUs, toUs, (q * this.count - below) / count)
      }
      below += count
    }
    return 0
  }

  /**
   * How many subject-windows would have been refused with this limit, and how much of their time lies above it.
   *
   * @param limitUs microseconds
   */
  above(limitUs: number): { readonly count: number; readonly us: number } {
    let [above, aboveUs] = [0, 0]
    for (const { fromUs, toUs, count, us } of this.#parts) {
      if (toUs <= limitUs) continue
      if (fromUs >= limitUs) {
        above += count
        aboveUs += us - count * limitUs
        continue
      }
      const mean = us / count
      const part = count === 1 ? Number(mean >= limitUs) : 1 - placeIn(fromUs, toUs, limitUs)
      above += part * count
      aboveUs += part * count * Math.max(0, (count === 1 ? mean : between(limitUs, toUs, 0.5)) - limitUs)
    }
    return { count: above, us: aboveUs }
  }
}

/** The value at this part of the way from one bound to the other. */
function between(fromUs: number, toUs: number, part: number): number {
  return fromUs === 0 ? toUs * part : fromUs * (toUs / fromUs) ** part
}

/** The part of the way at which the value lies. */
function placeIn(fromUs: number, toUs: number, us: number): number {
  return fromUs === 0 ? us / toUs : Math.log(us / fromUs) / Math.log(toUs / fromUs)
}
