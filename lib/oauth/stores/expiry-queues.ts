/** An entry of {@link ExpiryQueues}. */
export interface Expiring {
  endsAt: number
  /** Set by the queues. */
  place?: Place
}

interface Place {
  readonly queue: Queue
  before: Expiring | undefined
  after: Expiring | undefined
}

interface Queue {
  readonly ttlMs: number
  first: Expiring | undefined
  last: Expiring | undefined
}

/**
 * Keeps entries in the order in which they expire: one queue for each lifetime, since entries of equal lifetime expire in
 * the order in which they came. Each step takes the same time however many entries there are. The server has a dozen
 * lifetimes at most, all of them options.
 */
export class ExpiryQueues<T extends Expiring> {
  readonly #queues = new Map<number, Queue>()
  #turn = this.#queues.values()

  /** Puts the entry at the end of the queue of its lifetime, out of the one that it was in. */
  put(entry: T, now: number, ttlMs: number): void {
    this.remove(entry)
    let queue = this.#queues.get(ttlMs)
    if (!queue) this.#queues.set(ttlMs, (queue = { ttlMs, first: undefined, last: undefined }))
    entry.endsAt = now + ttlMs
    entry.place = { queue, before: queue.last, after: undefined }
    if (queue.last) (queue.last.place as Place).after = entry
    else queue.first = entry
    queue.last = entry
  }

  remove(entry: T): void {
    if (!entry.place) return
    const { queue, before, after } = entry.place
    if (before) (before.place as Place).after = after
    else queue.first = after
    if (after) (after.place as Place).before = before
    else queue.last = before
    delete entry.place
    if (!queue.first) this.#queues.delete(queue.ttlMs)
  }

  /** An expired entry of the queue of that lifetime, if there is one. */
  expiredOf(ttlMs: number, now: number): T | undefined {
    return expiredIn(this.#queues.get(ttlMs), now) as T | undefined
  }

  /** An expired entry of the queue whose turn it is, if it has one. */
  expiredInTurn(now: number): T | undefined {
    let next = this.#turn.next()
    if (next.done) {
      this.#turn = this.#queues.values()
      next = this.#turn.next()
    }
    return expiredIn(next.value, now) as T | undefined
  }

  /** An expired entry of any queue, if there is one. */
  expired(now: number): T | undefined {
    for (const queue of this.#queues.values()) {
      const entry = expiredIn(queue, now)
      if (entry) return entry as T
    }
    return undefined
  }
}

function expiredIn(queue: Queue | undefined, now: number): Expiring | undefined {
  const first = queue?.first
  return first && first.endsAt <= now ? first : undefined
}
