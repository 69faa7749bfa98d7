import type { RedisClient } from '../redis/redis-client'
import { type RedisWindows, redisWindows } from '../inspect/redis-windows'
import type { PublishedWindow } from '../inspect/published-window'
import type { Shared } from './snapshot'

/** A subject's hash, as the page shows it. */
const HASH = /^[\w-]{24}$/

/** Reads what all processes have published. It is connected while somebody looks. */
export class AllProcesses {
  readonly #hashOf: (subject: string) => string
  readonly #to: RedisClient | string
  readonly #prefix: string
  readonly #policies: readonly { name: string; windowMs: number }[]
  readonly #names: ReadonlySet<string>
  #windows: RedisWindows | undefined

  /** @param policies of the throttle: others may keep their windows in the same place */
  constructor(
    to: RedisClient | string,
    prefix: string,
    policies: readonly { name: string; windowMs: number }[],
    hashOf: (subject: string) => string,
  ) {
    this.#hashOf = hashOf
    this.#to = to
    this.#prefix = prefix
    this.#policies = policies
    this.#names = new Set(policies.map(({ name }) => name))
  }

  /**
   * The top spenders, and those who are looked for.
   *
   * @param finds what viewers look for: a subject or a hash is found whatever it has spent
   */
  async read(finds: readonly string[]): Promise<Shared> {
    try {
      const { windows, more } = await (await this.#opened()).top(this.#names)
      const known = new Set(windows.map(keyOf))
      const others = (await this.#of(finds)).filter((window) => !known.has(keyOf(window)))
      return { windows: [...windows, ...others], more, trouble: undefined }
    } catch (err) {
      this.close() // the next look connects again
      return { windows: [], more: false, trouble: (err as Error).message } // names host and port, never a password
    }
  }

  /** The windows of one subject; none where Redis does not answer. */
  async of(id: string): Promise<readonly PublishedWindow[]> {
    return this.#of([id]).catch(() => [])
  }

  async #of(finds: readonly string[]): Promise<PublishedWindow[]> {
    const ids = new Set(finds.map((find) => (HASH.test(find) ? find : this.#hashOf(find))))
    return (await this.#opened()).of([...ids], this.#policies)
  }

  async #opened(): Promise<RedisWindows> {
    return (this.#windows ??= await redisWindows(this.#to, this.#prefix))
  }

  close(): void {
    this.#windows?.close()
    this.#windows = undefined
  }
}

function keyOf({ window, subject }: PublishedWindow): string {
  return `${subject} ${window}`
}
