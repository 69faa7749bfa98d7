interface Event {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

/** Simulated time in microseconds: runs what is due, in order of time and then of scheduling. */
export class EventLoop {
  now = 0
  readonly #heap: Event[] = []
  #scheduled = 0

  after(us: number, run: () => void): void {
    const event = { at: Math.max(this.now + us, this.now), order: this.#scheduled++, run }
    let i = this.#heap.push(event) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!this.#swapIfBefore(i, parent)) break
      i = parent
    }
  }

  /** Runs all events up to a time, those included that they schedule. */
  run(untilUs: number): void {
    for (let first = this.#heap[0]; first && first.at <= untilUs; first = this.#heap[0]) {
      this.#removeFirst()
      this.now = first.at
      first.run()
    }
    this.now = untilUs
  }

  #removeFirst(): void {
    const last = this.#heap.pop()
    if (!last || this.#heap.length === 0) return
    this.#heap[0] = last
    for (let i = 0; ;) {
      const [left, right] = [2 * i + 1, 2 * i + 2]
      const child = this.#isBefore(right, left) ? right : left
      if (!this.#swapIfBefore(child, i)) return
      i = child
    }
  }

  #swapIfBefore(i: number, j: number): boolean {
    if (!this.#isBefore(i, j)) return false
    const [a, b] = [this.#heap[i] as Event, this.#heap[j] as Event]
    this.#heap[i] = b
    this.#heap[j] = a
    return true
  }

  #isBefore(i: number, j: number): boolean {
    const [a, b] = [this.#heap[i], this.#heap[j]]
    return a !== undefined && b !== undefined && (a.at < b.at || (a.at === b.at && a.order < b.order))
  }
}
