import { type NativeCluster, type NativeRedis, openRedis } from './open-redis'
import type { RedisClient } from './redis-client'
import type { Script } from './script'

/** How a store uses its connection. */
export interface RedisUse {
  /** Begins every key: `tollgate:`. */
  readonly prefix: string
  /** The commands that the store's Redis user must be allowed, for the message where one is not: `+evalsha +eval`. */
  readonly rights: string
  /** A server that answers nothing for so long, in milliseconds, is taken for dead, and connected to anew. */
  readonly silentMs: number
  /** An answer that takes longer, in milliseconds, is given up. Default: none, the store has a deadline of its own. */
  readonly deadlineMs?: number
}

/** A store's own connection to Redis, Sentinel or a Cluster. */
export class RedisConnection {
  readonly #redis: NativeRedis
  readonly #use: RedisUse

  /** Opens it to where the client or the URL points; the client given stays as it is. */
  constructor(to: RedisClient | string, use: RedisUse) {
    this.#use = use
    this.#redis = openRedis(to, use.silentMs)
  }

  /** What can be asked of it besides where it leads to a Cluster. */
  get cluster(): NativeCluster | undefined {
    return this.#redis.isCluster === true ? (this.#redis as NativeCluster) : undefined
  }

  /** Whether a command can be sent now. */
  get isReady(): boolean {
    return this.#redis.status === 'ready'
  }

  /** Calls the listener whenever a connection was made. */
  onReady(listener: () => void): void {
    this.#redis.on('ready', listener)
  }

  /**
   * Runs one command.
   *
   * @throws {Error} where Redis refuses it, with the rights to allow where that is the cause, or does not answer
   */
  async call(command: string, ...args: (string | number)[]): Promise<unknown> {
    return this.#answered(this.#redis.call(command, ...args))
  }

  /**
   * Runs a script by its hash, and by its text on a server that does not know it, such as one that restarted or failed
   * over.
   *
   * @throws {Error} as {@link call} does
   */
  async run({ sha, text }: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const rest = [keys.length, ...keys, ...args]
    return this.#answered(
      this.#redis.call('evalsha', sha, ...rest).catch((err: unknown) => {
        if (err instanceof Error && err.message.startsWith('NOSCRIPT')) return this.#redis.call('eval', text, ...rest)
        throw err
      }),
    )
  }

  /** Ends the connection. Safe to call twice. */
  close(): void {
    this.#redis.disconnect()
  }

  async #answered(answer: Promise<unknown>): Promise<unknown> {
    const { deadlineMs } = this.#use
    try {
      return await (deadlineMs === undefined ? answer : within(deadlineMs, answer))
    } catch (err) {
      throw this.#explained(err)
    }
  }

  /** Says what to do where the user lacks a right: Redis itself does not say which. */
  #explained(err: unknown): Error {
    if (!(err instanceof Error)) return new Error(String(err))
    if (!/NOPERM|ACL failure|can't run this command/.test(err.message)) return err
    const { prefix, rights } = this.#use
    return new Error(`allow the Redis user ~${prefix}* ${rights}: ${err.message}`, { cause: err })
  }
}

/** Rejects where the answer takes longer. What came while the event loop was blocked is read first. */
function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const tooLate = () => setImmediate(() => reject(new Error(`no answer in ${ms} ms`)))
    const timer = setTimeout(tooLate, ms)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
