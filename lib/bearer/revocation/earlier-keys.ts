import type { RedisConnection } from '../../redis/redis-connection'

/**
 * Reads what version 0.1.0 revoked: its keys began with a hash tag, outside of the prefix. Delete this file when nobody
 * upgrades from 0.1.0 any more.
 */
export class EarlierKeys {
  readonly #redis: RedisConnection
  /** By key, the number up to which it was read. 0.1.0 took a prefix with or without its colon. */
  readonly #read: Map<string, string>

  constructor(redis: RedisConnection, prefix: string) {
    this.#redis = redis
    this.#read = new Map([prefix.slice(0, -1), prefix].map((name) => [`{${name}:revoked}:log`, '-inf']))
  }

  /**
   * The revocations that were written since the last time.
   *
   * @throws {Error} where Redis does not answer
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

  /** A Redis user who may not read these keys could not write them either. */
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
