import { AsyncLocalStorage } from 'node:async_hooks'
import { availableParallelism } from 'node:os'

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

/** A login without a place in this process's queue. Counts as an attempt of its network, or a flood would cost nothing. */
export class QueueFullError extends DirectoryBusyError {}

/** libuv's default thread count. */
const DEFAULT_THREADS = 4
/** A login queue this long per slot takes about four seconds at the default cost. */
const QUEUE_PER_SLOT = 12
/** The weight of the newest hash in the average time of one. */
const NEWEST_WEIGHT = 0.2
/** Networks and blocks whose logins are remembered, and for how long at least. Twice as many and as long at most. */
const MOST_NETWORKS = 10_000
const REMEMBERED_MS = 60_000

/** So many logins of a provider's block count as one of each network in it. */
const BLOCK_WEIGHT = 20

/** The network of the login whose password is being checked: the app's own directory calls in between. */
export const loginNetwork = new AsyncLocalStorage<string>()

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

interface Waiting {
  readonly network: string
  readonly start: () => void
  readonly refuse: (err: Error) => void
}

/**
 * Limits the hashes under way, and those that wait for their turn. A full queue is no wall: a login from a network that
 * tried less of late takes the place of the last one of the network that tried most.
 */
export class HashSlots {
  readonly #slots: number
  readonly #logins: Waiting[] = []
  readonly #registrations: (() => void)[] = []
  /** Logins by network and by its provider's block: those of late, and those before. */
  #tries = new Map<string, number>()
  #triesBefore = new Map<string, number>()
  #turnAt = 0
  #running = 0
  #averageMs = 300

  constructor(slots: number) {
    this.#slots = slots
  }

  /** Runs a login's hash once a slot is free. @throws {QueueFullError} if it gets no place in the queue, or loses it */
  login<T>(hash: () => Promise<T>): Promise<T> {
    const network = loginNetwork.getStore() ?? ''
    this.#note(network)
    if (this.#running < this.#slots) return this.#run(hash)
    if (this.#logins.length >= QUEUE_PER_SLOT * this.#slots) {
      const heaviest = this.#heaviest()
      const loser = this.#logins[heaviest] as Waiting
      if (this.#weight(network) >= this.#weight(loser.network)) return Promise.reject(this.#full())
      this.#logins.splice(heaviest, 1)
      loser.refuse(this.#full())
    }
    return new Promise<void>((start, refuse) => this.#logins.push({ network, start, refuse })).then(() =>
      this.#work(hash),
    )
  }

  /** Runs another hash once a slot is free and no login waits. Its queue has no bound: the app itself asks for these. */
  async registration<T>(hash: () => Promise<T>): Promise<T> {
    if (this.#running < this.#slots) return this.#run(hash)
    await new Promise<void>((resolve) => this.#registrations.push(resolve))
    return this.#work(hash)
  }

  #run<T>(hash: () => Promise<T>): Promise<T> {
    this.#running++
    return this.#work(hash)
  }

  /** Holds a slot, which it hands to the next one. */
  async #work<T>(hash: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    try {
      return await hash()
    } finally {
      this.#averageMs += NEWEST_WEIGHT * (performance.now() - startedAt - this.#averageMs)
      const next = this.#logins.shift()?.start ?? this.#registrations.shift()
      if (next) next()
      else this.#running--
    }
  }

  #full(): QueueFullError {
    const drainMs = ((this.#logins.length + 1) * this.#averageMs) / this.#slots
    return new QueueFullError(Math.max(1, Math.ceil(drainMs / 1_000)))
  }

  #note(network: string): void {
    const now = performance.now()
    if (now >= this.#turnAt || this.#tries.size > MOST_NETWORKS) {
      this.#triesBefore = this.#tries
      this.#tries = new Map()
      this.#turnAt = now + REMEMBERED_MS
    }
    for (const name of [network, blockOf(network)]) this.#tries.set(name, (this.#tries.get(name) ?? 0) + 1)
  }

  /** The network's own logins, and a part of those of its block: a host may have many addresses. */
  #weight(network: string): number {
    const triesOf = (name: string) => (this.#tries.get(name) ?? 0) + (this.#triesBefore.get(name) ?? 0)
    return triesOf(network) + triesOf(blockOf(network)) / BLOCK_WEIGHT
  }

  /** The place of the last login of the heaviest network. */
  #heaviest(): number {
    const weights = this.#logins.map(({ network }) => this.#weight(network))
    return weights.lastIndexOf(Math.max(...weights))
  }
}

/** What a provider hands out together: an IPv4 /16, an IPv6 /32. The space keeps it apart from a network. */
function blockOf(network: string): string {
  return ` ${network.includes(':') ? network.split(':', 2).join(':') : network.split('.', 2).join('.')}`
}

/** The slots of this process. They are shared by all directories, as libuv's threads are. */
export const hashSlots = new HashSlots(hashSlotCount(process.env.UV_THREADPOOL_SIZE, availableParallelism()))
