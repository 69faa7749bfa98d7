/** A request whose price is held until the time it is expected to end at. */
export interface Held {
  /** When the price is used up: start + price. Microseconds. */
  heldUntil: number
  /** Whether it still counts. */
  isHeld: boolean
}

/**
 * What the requests in flight are still expected to take: Σ max(0, heldUntil − now), each request by itself, so that one
 * that takes longer than its price does not use up what is held for the others. Sorted by `heldUntil`; requests come
 * nearly in that order, so adding one costs little, and the sum costs as much as there are requests whose price has
 * been used up since the last time.
 */
export class Holds {
  #sorted: Held[] = []
  #first = 0
  #count = 0
  #sum = 0

  /** What is still expected, in microseconds. */
  at(now: number): number {
    this.#expire(now)
    return this.#sum - this.#count * now
  }

  /** When the next price is used up; undefined where nothing is held. */
  soonestEnd(now: number): number | undefined {
    this.#expire(now)
    return this.#sorted[this.#first]?.heldUntil
  }

  add(request: Held): void {
    const sorted = this.#sorted
    request.isHeld = true
    this.#count++
    this.#sum += request.heldUntil
    let at = sorted.length
    while (at > this.#first && (sorted[at - 1] as Held).heldUntil > request.heldUntil) at--
    if (at === sorted.length) sorted.push(request)
    else sorted.splice(at, 0, request)
  }

  /** Ends a hold, used up or not. */
  remove(request: Held): void {
    if (!request.isHeld) return
    request.isHeld = false
    this.#count--
    this.#sum -= request.heldUntil
    if (this.#count === 0) this.#clear()
    else if (this.#sorted.length > 2 * this.#count + 16) this.#compact()
  }

  /** Lets a hold end later by `us`. */
  postpone(request: Held, us: number): void {
    if (!request.isHeld) return
    const at = this.#sorted.indexOf(request, this.#first)
    this.#sorted.splice(at, 1)
    this.#count--
    this.#sum -= request.heldUntil
    request.heldUntil += us
    this.add(request)
  }

  #expire(now: number): void {
    for (; this.#first < this.#sorted.length; this.#first++) {
      const request = this.#sorted[this.#first] as Held
      if (request.isHeld && request.heldUntil > now) break
      if (!request.isHeld) continue
      request.isHeld = false
      this.#count--
      this.#sum -= request.heldUntil
    }
    if (this.#count === 0) this.#clear()
  }

  #clear(): void {
    if (this.#sorted.length > 0) this.#sorted.length = 0
    this.#first = 0
  }

  #compact(): void {
    this.#sorted = this.#sorted.filter(({ isHeld }) => isHeld)
    this.#first = 0
  }
}
