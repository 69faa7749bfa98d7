import { warnOnce } from '../../http/warn-once'
import type { RedisConnection } from '../../redis/redis-connection'

/** Longer windows should survive a restart of the server. */
const LONG_WINDOW_US = 3_600_000_000

/**
 * Looks once at how the server is set up, and warns of what loses windows: an eviction policy, and no persistence under
 * long windows. A user may be denied INFO and CONFIG; then there is nothing to say.
 */
export class ServerAdvice {
  readonly #redis: RedisConnection
  #isPolicyKnown = false
  #isPersistenceKnown = false

  constructor(redis: RedisConnection) {
    this.#redis = redis
  }

  /** @param windowUs the longest window so far, in microseconds */
  async look(windowUs: number): Promise<void> {
    if (!this.#isPolicyKnown) {
      this.#isPolicyKnown = true
      await this.#lookAtPolicy()
    }
    if (!this.#isPersistenceKnown && windowUs > LONG_WINDOW_US) {
      this.#isPersistenceKnown = true
      await this.#lookAtPersistence()
    }
  }

  async #lookAtPolicy(): Promise<void> {
    const memory = await this.#info('memory')
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'noeviction'
    if (policy === 'noeviction' || /^maxmemory:0\s/m.test(memory)) return
    warnOnce(
      'TOLLGATE_EVICTION',
      `Redis at ${this.#redis.server} has maxmemory-policy ${policy}, so it may throw windows away, and users get back ` +
        'what they have spent until the processes notice; set noeviction, or give the throttle a server of its own',
    )
  }

  async #lookAtPersistence(): Promise<void> {
    const isAppending = /^aof_enabled:1\s/m.test(await this.#info('persistence'))
    const save = await this.#redis.call('CONFIG', 'GET', 'save').catch(() => undefined)
    if (isAppending || !Array.isArray(save) || save[1] !== '') return
    warnOnce(
      'TOLLGATE_PERSISTENCE',
      `Redis at ${this.#redis.server} keeps nothing on disk, and a window is longer than an hour: what ended processes ` +
        'have charged is lost with the server; set appendonly or save',
    )
  }

  async #info(section: string): Promise<string> {
    return String(await this.#redis.call('INFO', section).catch(() => ''))
  }
}
