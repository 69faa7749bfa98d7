import { setTimeout as sleep } from 'node:timers/promises'
import { type RedisWindows, redisWindows } from '../inspect/redis-windows'

/** How often a look that was cut off is begun again, and after which pause. */
const [ATTEMPTS, PAUSE_MS] = [5, 1_000]

/** Redis, connected again after each look that failed: it restarts, fails over, or hangs. */
export class ReopenedRedis {
  readonly #url: string
  readonly #prefix: string
  #windows: RedisWindows | undefined

  constructor(url: string, prefix: string) {
    this.#url = url
    this.#prefix = prefix
  }

  async open(): Promise<RedisWindows> {
    return (this.#windows ??= await redisWindows(this.#url, this.#prefix))
  }

  async look<T>(reading: (windows: RedisWindows) => Promise<T>): Promise<T> {
    try {
      return await reading(await this.open())
    } catch (err) {
      this.close()
      throw err
    }
  }

  /** The same, begun again a few times. */
  async lookPatiently<T>(reading: (windows: RedisWindows) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.look(reading)
      } catch (err) {
        if (attempt === ATTEMPTS) throw err
        await sleep(PAUSE_MS)
      }
    }
  }

  close(): void {
    this.#windows?.close()
    this.#windows = undefined
  }
}
