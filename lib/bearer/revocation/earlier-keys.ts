import type { RedisConnection } from '../../redis/redis-connection'

/**
 * Reads what version 0.1.0 revoked: its keys began with a hash tag, outside of the prefix. Delete this file when nobody
 * upgrades from 0.1.0.
 */
export class EarlierKeys {
  readonly #redis: RedisConnection
  /** Number of the last entry read, by key. Version 0.1.0 accepted a prefix with or without its colon. */
  readonly #read: Map<string, string>

  constructor(redis: RedisConnection, prefix: string) {
    this.#redis = redis
    this.#read = new Map([prefix.slice(0, -1), prefix].map((name) => [`{${name}:revoked}:log`, '-inf']))
  }

  /**
   * Revocations written since the previous call.
   *
   * @throws {Error} if Redis does not answer
   */
  async read(): Promise<readonly string[]> {
    const entries: string[] = []
    for (const [key, from] of this.#read) {
      const numbered = await this.#since(key, from)
      for (let i = 0; i < numbered.length; i += 2) {
        entries.push(String(numbered[i]))
        this.#read.set(key, `(${String(numbered[i + 1])}`)
      }
    }
    return entries
  }

  /** A Redis user without the right to read these keys could not write them either. */
  async #since(key: string, from: string): Promise<unknown[]> {
    try {
      return (await this.#redis.call('zrangebyscore', key, from, '+inf', 'WITHSCORES')) as unknown[]
    } catch (err) {
      if (!/NOPERM/.test(String(err))) throw err
      this.#read.delete(key)
      return []
    }
  }
}
