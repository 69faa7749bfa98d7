/** Buckets per factor of two: each is 9 % wide. */
const PER_OCTAVE = 8
/** Bucket 0 has everything below this. */
const LEAST_US = 1_000

/** What one bucket holds. In one process's part of a sum both may be below zero. */
export interface Bucket {
  /** Subject-windows. */
  readonly count: number
  /** The sum of their totals, in microseconds. */
  readonly us: number
}

/**
 * How much time subjects used per window: a histogram of subject-windows by their totals, in logarithmic buckets.
 *
 * Totals grow report by report, so a subject-window moves from bucket to bucket. Each move is written down by the process
 * whose report caused it. The moves telescope: added up over all processes, each subject-window is counted once, in the
 * bucket of its last total.
 */
export class Histogram {
  /** Non-zero buckets by index. At most about 400: totals are below 2^53 µs. */
  readonly #buckets = new Map<number, { count: number; us: number }>()

  /** The buckets from the lowest up. */
  get buckets(): [index: number, bucket: Bucket][] {
    return [...this.#buckets].sort(([a], [b]) => a - b)
  }

  get isEmpty(): boolean {
    return this.#buckets.size === 0
  }

  /**
   * A subject-window's total changed. Totals of 0 and below, as after a reset, are not counted.
   *
   * @param beforeUs microseconds
   * @param afterUs microseconds
   */
  move(beforeUs: number, afterUs: number): void {
    const [from, to] = [bucketOf(beforeUs), bucketOf(afterUs)]
    if (from === to && to !== undefined) return this.add(to, 0, afterUs - beforeUs)
    if (from !== undefined) this.add(from, -1, -beforeUs)
    if (to !== undefined) this.add(to, 1, afterUs)
  }

  /** Adds to one bucket, by its index. */
  add(index: number, count: number, us: number): void {
    const bucket = this.#buckets.get(index)
    if (bucket === undefined) {
      if (count !== 0 || us !== 0) this.#buckets.set(index, { count, us })
      return
    }
    bucket.count += count
    bucket.us += us
    if (bucket.count === 0 && bucket.us === 0) this.#buckets.delete(index)
  }

  addAll(other: Histogram): void {
    for (const [index, { count, us }] of other.#buckets) this.add(index, count, us)
  }

  clear(): void {
    this.#buckets.clear()
  }
}

/** The bucket of a total in microseconds; undefined for none. */
function bucketOf(us: number): number | undefined {
  if (!(us > 0)) return undefined
  return us < LEAST_US ? 0 : Math.floor(PER_OCTAVE * Math.log2(us / LEAST_US)) + 1
}

/** Where a bucket begins, in microseconds. It ends where the next one begins. */
export function bucketStartUs(index: number): number {
  return index === 0 ? 0 : LEAST_US * 2 ** ((index - 1) / PER_OCTAVE)
}
