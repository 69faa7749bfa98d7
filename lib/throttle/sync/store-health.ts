import type { Clock } from '../../http/clock'
import { ShardHealth, type ShardListener } from './shard-health'
import type { StoreShard, ThrottleStore } from './store'

/** Watches one store for all windows over it, each of its servers by itself: one that is down does not concern the others. */
export class StoreHealth {
  static readonly #ofStore = new WeakMap<ThrottleStore, StoreHealth>()

  readonly #listeners = new Set<ShardListener>()
  readonly #shards = new Map<StoreShard, ShardHealth>()
  readonly #onOutage = new Set<'local' | 'closed'>()
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

  /** Notes what a throttle over the store does while it does not answer, for messages. */
  note(onOutage: 'local' | 'closed'): this {
    this.#onOutage.add(onOutage)
    return this
  }

  /** Resolves when every server answers. @throws {Error} where one is reported not to, with the warning's message */
  async ready(): Promise<void> {
    do await Promise.all([...this.#shards.values()].map((shard) => shard.answers()))
    while (!this.#isClosed && this.downServers.length > 0)
  }

  #meanwhile(): string {
    if (!this.#onOutage.has('closed')) return "each process applies the limits by itself (onOutage: 'local')"
    if (!this.#onOutage.has('local')) return "requests get 503 (onOutage: 'closed')"
    return 'each process applies the limits by itself, or answers 503, as the onOutage of each throttle says'
  }

  /** The server that keeps the windows of the subject with this id now. */
  shardOf(id: string): ShardHealth {
    return this.#healthOf(this.store.shardOf(id))
  }

  /** Its servers that do not answer; undefined stands for the one that needs no name. */
  get downServers(): (string | undefined)[] {
    return [...this.#shards.values()].filter(({ isDown }) => isDown).map(({ server }) => server.name)
  }

  /** Tells the listener from now on what becomes of the servers, and now which ones answer. */
  join(listener: ShardListener): void {
    this.#listeners.add(listener)
    for (const shard of this.#shards.values()) if (!shard.isDown) listener.shardUp(shard)
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
      const listener: ShardListener = {
        shardDown: (shard) => this.#listeners.forEach((each) => each.shardDown(shard)),
        shardUp: (shard) => this.#listeners.forEach((each) => each.shardUp(shard)),
      }
      health = new ShardHealth(server, this.store, this.clock, listener, () => this.#meanwhile())
      this.#shards.set(server, health)
      if (this.#isClosed) health.close()
    }
    return health
  }
}
