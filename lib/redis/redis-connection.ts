import { checkClusterPrefix, keyPrefixOf } from './key-prefix'
import { type NativeCluster, type NativeRedis, type RedisArgument, openRedis, serverOf } from './open-redis'
import type { RedisClient } from './redis-client'
import { RedisUnavailableError, failureOf } from './redis-failure'
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
  /** Commands wait so long, in milliseconds, for the first connection; later ones fail at once. Default 0. */
  readonly firstConnectionMs?: number
}

/**
 * A store's own connection to Redis, Sentinel or a Cluster. It is opened at the first use, and keeps the process alive
 * only while a command with a deadline is under way.
 */
export class RedisConnection {
  readonly #redis: NativeRedis
  readonly #use: RedisUse
  /** Why there is no connection: the client's last error since it was lost. */
  #fault: { readonly server: string; readonly err: unknown } | undefined
  /** SELECT was refused: the client goes on with database 0, but no command may. */
  #isWrongDatabase = false
  #isOpened = false
  #isClosed = false
  #firstConnection: Promise<void> | undefined

  /**
   * To where the client or the URL points; the client given stays as it is.
   *
   * @throws {TypeError} where the `keyPrefix` of a Cluster's client would put all keys into one slot
   */
  constructor(to: RedisClient | string, use: RedisUse) {
    this.#use = use
    this.#redis = openRedis(to, use.silentMs)
    if (this.#redis.isCluster) checkClusterPrefix(keyPrefixOf(this.#redis))
    this.#watch(this.#redis)
  }

  /** What can be asked of it besides where it leads to a Cluster. */
  get cluster(): NativeCluster | undefined {
    return this.#redis.isCluster === true ? (this.#redis as NativeCluster) : undefined
  }

  /** Where it leads: `host:port`. */
  get server(): string {
    return serverOf(this.#redis)
  }

  /** Which data it leads to, as far as it can be known without asking: `host:port/database keyPrefix`. */
  get database(): string {
    return `${this.server}/${this.#redis.options?.db ?? 0} ${keyPrefixOf(this.#redis)}`
  }

  /** Why there is no connection; undefined where there is one, or none was lost yet. */
  get fault(): RedisUnavailableError | undefined {
    return this.#fault && failureOf(this.#fault.server, this.#fault.err, this.#usesTls)
  }

  /** Connects, and again whenever the connection is lost, until closed. */
  open(): void {
    if (this.#isOpened || this.#isClosed) return
    this.#isOpened = true
    this.#redis.connect().catch(() => undefined) // each command says so itself
  }

  /** Calls the listener whenever a connection was made. */
  onReady(listener: () => void): void {
    this.#redis.on('ready', () => {
      if (!this.#isWrongDatabase) listener()
    })
  }

  /**
   * Runs one command.
   *
   * @throws {RedisUnavailableError} where there is no connection, no answer in time, or a right is missing
   * @throws {Error} where Redis refuses the command otherwise
   */
  async call(command: string, ...args: (string | number)[]): Promise<unknown> {
    return this.#answer(() => this.#redis.call(command, ...args))
  }

  /**
   * Runs a script by its hash, and by its text on a server that does not know it, such as one that restarted or failed
   * over.
   *
   * @throws {Error} as {@link call} does
   */
  async run(script: Script, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    return this.#run('call', script, keys, args)
  }

  /** As {@link run}, with the bytes of what would be text. */
  async runForBytes(script: Script, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    return this.#run('callBuffer', script, keys, args)
  }

  async #run(
    call: 'call' | 'callBuffer',
    { sha, text }: Script,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const rest = [keys.length, ...keys, ...args]
    return this.#answer(() =>
      this.#redis[call]('evalsha', sha, ...rest).catch((err: unknown) => {
        if (err instanceof Error && err.message.startsWith('NOSCRIPT')) return this.#redis[call]('eval', text, ...rest)
        throw err
      }),
    )
  }

  /** Ends the connection. Safe to call twice. */
  close(): void {
    this.#isClosed = true
    this.#redis.disconnect()
  }

  #watch(redis: NativeRedis): void {
    redis.on('error', (err) => {
      const { command, lastNodeError } = err as { command?: { name?: string }; lastNodeError?: unknown }
      this.#isWrongDatabase ||= command?.name === 'select'
      if (lastNodeError === undefined) this.#fault = { server: this.server, err }
    })
    redis.on('node error', (err, server) => (this.#fault = { server: String(server), err }))
    redis.on('connect', () => (this.#isWrongDatabase = false))
    redis.on('close', () => (this.#fault ??= { server: this.server, err: new Error('closed') }))
    redis.on('ready', () => {
      if (!this.#isWrongDatabase) this.#fault = undefined
    })
  }

  async #answer(ask: () => Promise<unknown>): Promise<unknown> {
    const { deadlineMs } = this.#use
    this.open()
    try {
      if (this.#redis.status !== 'ready') await this.#connectedOnce()
      if (this.#isWrongDatabase) throw new Error('another database')
      return await (deadlineMs === undefined ? ask() : within(deadlineMs, ask()))
    } catch (err) {
      throw this.#explained(err)
    }
  }

  /** A process that has just started waits for its connection; one that has lost it fails at once. */
  #connectedOnce(): Promise<void> | undefined {
    const { firstConnectionMs } = this.#use
    if (firstConnectionMs === undefined) return undefined
    return (this.#firstConnection ??= new Promise((resolve) => {
      const timer = setTimeout(resolve, firstConnectionMs)
      this.#redis.once('ready', () => {
        clearTimeout(timer)
        resolve()
      })
    }))
  }

  #explained(err: unknown): Error {
    if (!(err instanceof Error)) return new Error(String(err))
    if (/NOPERM|ACL failure|can't run this command/.test(err.message)) return this.#denied(err)
    if (err.name === 'ReplyError') return err
    if (err instanceof TooLateError) return new RedisUnavailableError(this.server, err.code, err.message)
    return this.fault ?? failureOf(this.server, err, this.#usesTls)
  }

  get #usesTls(): boolean {
    return this.#redis.options?.tls !== undefined
  }

  /** Says what to do where the user lacks a right: Redis itself does not say which. */
  #denied({ message }: Error): Error {
    const { prefix, rights } = this.#use
    return new RedisUnavailableError(
      this.server,
      'NOPERM',
      `denies its user a right (${message}): allow the user ~${keyPrefixOf(this.#redis)}${prefix}* ${rights}`,
    )
  }
}

/** The connection may be there, but the answer was not in time. */
class TooLateError extends Error {
  readonly code = 'ETIMEDOUT'
}

/** Rejects where the answer takes longer. What came while the event loop was blocked is read first. */
function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const tooLate = () => setImmediate(() => reject(new TooLateError(`does not answer in ${ms} ms`)))
    const timer = setTimeout(tooLate, ms)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
