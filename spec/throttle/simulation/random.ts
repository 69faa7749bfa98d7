/** Pseudo-random numbers by a seed (mulberry32): a seed that fails once fails each time. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761) >>> 0 || 1
  }

  /** From 0 up to, but not including, 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  /** As `chance()`, but takes no number where nothing can happen. */
  happens(probability = 0): boolean {
    return probability > 0 && this.fraction() < probability
  }

  /** Exponentially distributed: the time to the next of events that come independently of each other. */
  exponential(mean: number): number {
    return -Math.log(1 - this.fraction()) * mean
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.fraction() * values.length)] as T
  }
}
