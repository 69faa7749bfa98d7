import { availableParallelism } from 'node:os'
import { systemClock } from '../../http/clock'
import { Places, THE_APP } from '../../http/places'
import { UNKNOWN_NETWORK } from '../../http/request/network'
import { requestNetwork } from '../request-network'

/**
 * Rejects a login at once because a directory has too many to check already. `userDirectory()` throws it, and so may your
 * own directory. The server answers 503 with Retry-After and does not count the login as failed.
 *
 * @example throw new DirectoryBusyError(2)
 */
export class DirectoryBusyError extends Error {
  /** @param retryAfterSec whole seconds after which the client should try again, at least 1 */
  constructor(readonly retryAfterSec: number) {
    super(`The directory is busy. Try again in ${retryAfterSec} s.`)
    this.name = 'DirectoryBusyError'
  }
}

/** libuv's default thread count. */
const DEFAULT_THREADS = 4
/**
 * Time that a full queue of logins takes, by what hashes took last. A busy machine does not make the queue shorter than a
 * number for each slot: a queue without room would refuse everybody.
 */
const [QUEUE_MS, QUEUE_PER_SLOT, LONGEST_QUEUE] = [4_000, 12, 500]
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

/**
 * Limits the hashes under way, and those that wait for their turn, by fair shares: a login from a network with fewer of
 * them takes the place of one of the network with most.
 */
export class HashSlots {
  readonly #slots: number
  readonly #queue: Places
  #averageMs = 330

  constructor(slots: number) {
    this.#slots = slots
    const mostWaiting = () =>
      Math.max(QUEUE_PER_SLOT * slots, Math.min(LONGEST_QUEUE, Math.floor((slots * QUEUE_MS) / this.#averageMs)))
    const bounds = {
      places: slots,
      get mostWaiting() {
        return mostWaiting()
      },
    }
    this.#queue = new Places(bounds, systemClock)
  }

  /** Runs a login's hash once a slot is free. @throws {DirectoryBusyError} if it gets no place in the queue, or loses it */
  login<T>(hash: () => Promise<T>): Promise<T> {
    return this.#run(requestNetwork.getStore() ?? UNKNOWN_NETWORK, hash)
  }

  /** Runs another hash once a slot is free and no login waits. Its queue has no bound: the app itself asks for these. */
  registration<T>(hash: () => Promise<T>): Promise<T> {
    return this.#run(THE_APP, hash)
  }

  /** Whether a hash of the current request's network, or one that the app itself asked for, waits or runs. */
  get isBusy(): boolean {
    return [requestNetwork.getStore() ?? UNKNOWN_NETWORK, THE_APP].some((owner) => this.#queue.isBusyFor(owner))
  }

  async #run<T>(owner: string, hash: () => Promise<T>): Promise<T> {
    const done = await this.#queue.run(owner, async () => ({ result: await this.#timed(hash) }))
    if (!done) throw this.#full()
    return done.result
  }

  async #timed<T>(hash: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    try {
      return await hash()
    } finally {
      this.#averageMs += NEWEST_WEIGHT * (performance.now() - startedAt - this.#averageMs)
    }
  }

  #full(): DirectoryBusyError {
    const drainMs = ((this.#queue.waiting + 1) * this.#averageMs) / this.#slots
    return new DirectoryBusyError(Math.max(1, Math.ceil(drainMs / 1_000)))
  }
}

/** The slots of this process. They are shared by all directories, as libuv's threads are. */
export const hashSlots = new HashSlots(hashSlotCount(process.env.UV_THREADPOOL_SIZE, availableParallelism()))
