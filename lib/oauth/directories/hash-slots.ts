import { availableParallelism } from 'node:os'
import { DirectoryBusyError } from './directory-busy-error'

/** libuv's default thread count. */
const DEFAULT_THREADS = 4
/** A login queue this long per slot takes about four seconds at the default cost. */
const QUEUE_PER_SLOT = 12
/** The weight of the newest hash in the average time of one. */
const NEWEST_WEIGHT = 0.2

/**
 * How many passwords may be hashed at once: at most half of libuv's threads, which also sign tokens with RSA keys, and one
 * less than the processors, so that requests keep one. At least one.
 *
 * @param poolSize `UV_THREADPOOL_SIZE`
 */
export function hashSlotCount(poolSize: string | undefined, processors: number): number {
  const threads = Number(poolSize ?? DEFAULT_THREADS) || DEFAULT_THREADS
  return Math.max(1, Math.min(Math.floor(threads / 2), processors - 1))
}

/** Limits the hashes under way, and those that wait for their turn. */
export class HashSlots {
  readonly #slots: number
  readonly #logins: (() => void)[] = []
  readonly #registrations: (() => void)[] = []
  #running = 0
  #averageMs = 300

  constructor(slots: number) {
    this.#slots = slots
  }

  /** Runs a login's hash once a slot is free. @throws {DirectoryBusyError} at once if the queue is full */
  login<T>(hash: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#slots && this.#logins.length >= QUEUE_PER_SLOT * this.#slots) {
      const drainMs = ((this.#logins.length + 1) * this.#averageMs) / this.#slots
      return Promise.reject(new DirectoryBusyError(Math.max(1, Math.ceil(drainMs / 1_000))))
    }
    return this.#run(hash, this.#logins)
  }

  /** Runs another hash once a slot is free and no login waits. Its queue has no bound: the app itself asks for these. */
  registration<T>(hash: () => Promise<T>): Promise<T> {
    return this.#run(hash, this.#registrations)
  }

  async #run<T>(hash: () => Promise<T>, queue: (() => void)[]): Promise<T> {
    if (this.#running < this.#slots) this.#running++
    else await new Promise<void>((resolve) => queue.push(resolve)) // is handed the slot of the hash before
    const startedAt = performance.now()
    try {
      return await hash()
    } finally {
      this.#averageMs += NEWEST_WEIGHT * (performance.now() - startedAt - this.#averageMs)
      const next = this.#logins.shift() ?? this.#registrations.shift()
      if (next) next()
      else this.#running--
    }
  }
}

/** The slots of this process. They are shared by all directories, as libuv's threads are. */
export const hashSlots = new HashSlots(hashSlotCount(process.env.UV_THREADPOOL_SIZE, availableParallelism()))
