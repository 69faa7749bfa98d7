import { warnOnce } from '../../http/warn-once'

/** One server, to be asked by itself. */
export interface ServerInfo {
  /** Where it is, for messages: `host:port`. */
  readonly server: string
  /** Runs a command on it. May reject. */
  call(command: string, ...args: string[]): Promise<unknown>
}

/** Longer windows should survive a restart of the server. */
const LONG_WINDOW_US = 3_600_000_000

/**
 * Looks once at how the server is set up, and warns of what loses windows: an eviction policy, and no persistence under
 * long windows. A user may be denied INFO and CONFIG; then there is nothing to say.
 */
export class ServerAdvice {
  readonly #redis: ServerInfo
  #isPolicyKnown = false
  #isPersistenceKnown = false

  constructor(redis: ServerInfo) {
    this.#redis = redis
  }

  /** @param windowUs the longest window so far, in microseconds */
  async look(windowUs: number): Promise<void> {
    if (!this.#isPolicyKnown) {
      this.#isPolicyKnown = true // one look at a time
      this.#isPolicyKnown = await this.#lookAtPolicy()
    }
    if (!this.#isPersistenceKnown && windowUs > LONG_WINDOW_US) {
      this.#isPersistenceKnown = true
      this.#isPersistenceKnown = await this.#lookAtPersistence()
    }
  }

  /** Whether it was answered. */
  async #lookAtPolicy(): Promise<boolean> {
    const memory = await this.#info('memory')
    if (memory === '') return false
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'noeviction'
    if (policy === 'noeviction' || /^maxmemory:0\s/m.test(memory)) return true
    warnOnce(
      'TOLLGATE_EVICTION',
      `Redis at ${this.#redis.server} has maxmemory-policy ${policy}, so it may throw windows away, and users get back ` +
        'what they have spent until the processes notice; set noeviction, or give the throttle a server of its own',
    )
    return true
  }

  /** Whether it was answered; CONFIG may be denied. */
  async #lookAtPersistence(): Promise<boolean> {
    const persistence = await this.#info('persistence')
    if (persistence === '') return false
    const save = await this.#redis.call('CONFIG', 'GET', 'save').catch(() => undefined)
    if (/^aof_enabled:1\s/m.test(persistence) || !Array.isArray(save) || save[1] !== '') return true
    warnOnce(
      'TOLLGATE_PERSISTENCE',
      `Redis at ${this.#redis.server} keeps nothing on disk, and a window is longer than an hour: what ended processes ` +
        'have charged is lost with the server; set appendonly or save',
    )
    return true
  }

  async #info(section: string): Promise<string> {
    return String(await this.#redis.call('INFO', section).catch(() => ''))
  }
}
