import type { Clock } from '../../http/clock'
import { ShardHealth, type ShardListener } from './shard-health'
import type { Shard } from '../window/subject-window'
import type { StoreShard, ThrottleStore } from './store'

/** Who is to know about the health of the store's servers: each named window over it. */
export type LinkListener = ShardListener

/** Watches one store for all windows over it, each of its servers apart: one that is down is no matter of the others. */
export class StoreHealth {
  readonly #listeners = new Set<LinkListener>()
  readonly #shards = new Map<StoreShard, ShardHealth>()
  #closed = false

  private constructor(
    readonly store: ThrottleStore,
    readonly clock: Clock,
  ) {
    store.watch({
      ready: (shard) => this.#link(shard).ready(),
      gone: (shard) => {
        this.#shards.get(shard)?.close()
        this.#shards.delete(shard)
      },
    })
    this.shardOf('')
  }

  static readonly #links = new WeakMap<ThrottleStore, StoreHealth>()

  /**
   * The link of this store; throttles over one store share it.
   *
   * @throws {TypeError} where the store was closed
   */
  static of(store: ThrottleStore, clock: Clock): StoreHealth {
    let link = this.#links.get(store)
    if (link !== undefined && link.#closed)
      throw new TypeError('store: it was closed with the last throttle that used it; give a new one')
    if (link === undefined) this.#links.set(store, (link = new StoreHealth(store, clock)))
    return link
  }

  /** The server that keeps the windows of the subject with this id now. */
  shardOf(id: string): ShardHealth {
    return this.#link(this.store.shardOf(id))
  }

  /** Its servers that do not answer; undefined stands for the one that needs no name. */
  get down(): (string | undefined)[] {
    return [...this.#shards.values()].filter(({ isDown }) => isDown).map(({ server }) => server.name)
  }

  join(listener: LinkListener): void {
    this.#listeners.add(listener)
    for (const shard of this.#shards.values()) if (!shard.isDown) listener.up(shard)
  }

  /** The last window that leaves closes the store. */
  async leave(listener: LinkListener): Promise<void> {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0 || this.#closed) return
    this.#closed = true
    for (const shard of this.#shards.values()) shard.close()
    await this.store.close()
  }

  #link(shard: StoreShard): ShardHealth {
    let link = this.#shards.get(shard)
    if (link === undefined) {
      link = new ShardHealth(shard, this.store, this.clock, {
        down: (of: Shard) => this.#listeners.forEach((each) => each.down(of)),
        up: (of: Shard) => this.#listeners.forEach((each) => each.up(of)),
      })
      this.#shards.set(shard, link)
      if (this.#closed) link.close()
    }
    return link
  }
}
