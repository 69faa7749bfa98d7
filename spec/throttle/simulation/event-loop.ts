interface Event {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

/** Turns of the microtask queue that a chain of `await`s in the code under test may take. */
const MICROTASKS = 12

/** Simulated time in whole microseconds: runs events in order of time, then of scheduling. */
export class EventLoop {
  now = 0
  /** Something waits for promises: microtasks run before the next event. */
  hasPromises = false
  readonly #heap: Event[] = []
  #scheduled = 0

  after(us: number, run: () => void): void {
    this.at(this.now + us, run)
  }

  at(time: number, run: () => void): void {
    const at = Math.max(this.now, Math.round(time))
    const order = this.#scheduled++
    const heap = this.#heap
    let i = heap.length
    while (i > 0) {
      const parent = (i - 1) >> 1
      const event = heap[parent] as Event
      if (event.at <= at) break
      heap[i] = event
      i = parent
    }
    heap[i] = { at, order, run }
  }

  /** Runs all events up to a time, those included that they schedule. */
  async run(until: number): Promise<void> {
    for (let first = this.#heap[0]; first && first.at <= until; first = this.#heap[0]) {
      this.#removeFirst()
      this.now = first.at
      first.run()
      if (this.hasPromises) for (let i = 0; i < MICROTASKS; i++) await Promise.resolve()
    }
    this.now = until
  }

  #removeFirst(): void {
    const heap = this.#heap
    const last = heap.pop() as Event
    const { length } = heap
    if (length === 0) return
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= length) break
      if (child + 1 < length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child++
      if (isBefore(last, heap[child] as Event)) break
      heap[i] = heap[child] as Event
      i = child
    }
    heap[i] = last
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
