import type { Clock } from '../../http/clock'
import { ShardHealth, type ShardListener } from './shard-health'
import type { StoreShard, ThrottleStore } from './store'

/** Watches one store for all windows over it, each of its servers by itself: one that is down does not concern the others. */
export class StoreHealth {
  static readonly #ofStore = new WeakMap<ThrottleStore, StoreHealth>()

  readonly #listeners = new Set<ShardListener>()
  readonly #shards = new Map<StoreShard, ShardHealth>()
  #isClosed = false

  private constructor(
    readonly store: ThrottleStore,
    readonly clock: Clock,
  ) {
    store.watch({
      ready: (shard) => this.#healthOf(shard).ready(),
      gone: (shard) => {
        this.#shards.get(shard)?.close()
        this.#shards.delete(shard)
      },
    })
    this.shardOf('')
  }

  /**
   * The health of this store; throttles over one store share it.
   *
   * @throws {TypeError} where the store was closed
   */
  static of(store: ThrottleStore, clock: Clock): StoreHealth {
    let health = this.#ofStore.get(store)
    if (health !== undefined && health.#isClosed)
      throw new TypeError('store: it was closed with the last throttle that used it; give a new one')
    if (health === undefined) this.#ofStore.set(store, (health = new StoreHealth(store, clock)))
    return health
  }

  /** The server that keeps the windows of the subject with this id now. */
  shardOf(id: string): ShardHealth {
    return this.#healthOf(this.store.shardOf(id))
  }

  /** Its servers that do not answer; undefined stands for the one that needs no name. */
  get down(): (string | undefined)[] {
    return [...this.#shards.values()].filter(({ isDown }) => isDown).map(({ server }) => server.name)
  }

  /** Tells the listener from now on what becomes of the servers, and now which ones answer. */
  join(listener: ShardListener): void {
    this.#listeners.add(listener)
    for (const shard of this.#shards.values()) if (!shard.isDown) listener.up(shard)
  }

  /** The last listener that leaves closes the store. */
  async leave(listener: ShardListener): Promise<void> {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0 || this.#isClosed) return
    this.#isClosed = true
    for (const shard of this.#shards.values()) shard.close()
    await this.store.close()
  }

  #healthOf(server: StoreShard): ShardHealth {
    let health = this.#shards.get(server)
    if (health === undefined) {
      health = new ShardHealth(server, this.store, this.clock, {
        down: (shard) => this.#listeners.forEach((each) => each.down(shard)),
        up: (shard) => this.#listeners.forEach((each) => each.up(shard)),
      })
      this.#shards.set(server, health)
      if (this.#isClosed) health.close()
    }
    return health
  }
}
