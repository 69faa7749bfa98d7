import type { Clock } from '../../http/clock'
import type { ShardListener } from '../sync/shard-health'
import type { ThrottleStore } from '../sync/store'
import type { StoreHealth } from '../sync/store-health'
import type { RouteTable } from './route-table'

/** How often at most a process says what it learned, and asks what others did. */
const EVERY_MS = 5_000

/**
 * Shares the prices of a window's routes with other processes, and with later ones: a process that starts anew knows
 * what requests take. No request waits for it, and a store that fails changes nothing: each process then learns alone.
 */
export class PriceSharing implements ShardListener {
  readonly #window: string
  readonly #routes: RouteTable
  readonly #health: StoreHealth
  readonly #clock: Clock
  /** Prices that were said before this process came are known. */
  #isLoaded = false
  #underWay: Promise<void> | undefined
  #cancel: () => void

  /** @param window the window's name */
  constructor(window: string, routes: RouteTable, health: StoreHealth, clock: Clock) {
    this.#window = window
    this.#routes = routes
    this.#health = health
    this.#clock = clock
    this.#cancel = this.#again()
    health.join(this)
  }

  /** Says what is not said yet, and lets go of the store. */
  async close(): Promise<void> {
    this.#cancel()
    await this.#underWay
    if (this.#health.downServers.length === 0) await this.#exchange()
    await this.#health.leave(this)
  }

  // --- ShardListener

  shardUp(): void {
    if (!this.#isLoaded) void this.#exchange()
  }

  shardDown(): void {
    // The prices known so far stay.
  }

  #again(): () => void {
    return this.#clock.after(EVERY_MS, () => {
      this.#cancel = this.#again()
      void this.#exchange()
    })
  }

  /** One exchange at a time, and none where there is nothing to say or to ask. */
  #exchange(): Promise<void> {
    return (this.#underWay ??= this.#ask().finally(() => (this.#underWay = undefined)))
  }

  async #ask(): Promise<void> {
    const news = this.#routes.news()
    if (this.#isLoaded && news.size === 0 && !this.#routes.hasUnknown) return
    try {
      const known = await (this.#health.store as Required<ThrottleStore>).sharePrices(this.#window, news)
      this.#routes.import(known)
      this.#isLoaded = true
    } catch {
      // What was learned is said when more is.
    }
  }
}
