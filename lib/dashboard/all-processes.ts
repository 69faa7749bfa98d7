import type { RedisClient } from '../redis/redis-client'
import { type RedisWindows, redisWindows } from '../inspect/redis-windows'
import type { Shared } from './snapshot'

/** Windows read from each server at most: more would take too long for a live page. */
const MOST_WINDOWS = 50_000

/** Reads what all processes have published. It is connected while somebody looks. */
export class AllProcesses {
  readonly #to: RedisClient | string
  readonly #prefix: string
  #windows: RedisWindows | undefined

  constructor(to: RedisClient | string, prefix: string) {
    this.#to = to
    this.#prefix = prefix
  }

  async read(): Promise<Shared> {
    try {
      this.#windows ??= await redisWindows(this.#to, this.#prefix)
      const { windows } = await this.#windows.read(MOST_WINDOWS)
      return { windows, more: windows.length >= MOST_WINDOWS, trouble: undefined }
    } catch (err) {
      this.close() // the next look connects again
      return { windows: [], more: false, trouble: (err as Error).message } // names host and port, never a password
    }
  }

  close(): void {
    this.#windows?.close()
    this.#windows = undefined
  }
}
