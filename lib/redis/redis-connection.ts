import { systemClock } from '../http/clock'
import { TimeoutError, within } from '../http/deadline'
import { stayAlive } from '../http/stay-alive'
import { checkClusterPrefix, keyPrefixOf } from './key-prefix'
import { type NativeCluster, type NativeRedis, type RedisArgument, openRedis, serverOf } from './open-redis'
import type { RedisClient } from './redis-client'
import { RedisUnavailableError, codeOf, failureOf, isLoss, isRefusal, isUnusable } from './redis-failure'
import type { Script } from './script'

/** How a store uses its connection. */
export interface RedisUse {
  /** Begins every key: `tollgate:`. */
  readonly prefix: string
  /** Rights that the store's Redis user needs, for error messages: `+evalsha +eval`. */
  readonly rights: string
  /** Silence after which a connection counts as dead and is opened again, in milliseconds. */
  readonly silentMs: number
  /** Deadline of an answer, in milliseconds. Default: none, because the store has its own. */
  readonly deadlineMs?: number
  /** Wait of commands for the first connection, in milliseconds. After a lost connection they fail at once. Default 0. */
  readonly firstConnectionMs?: number
}

/**
 * A store's own connection to Redis, Sentinel or a Cluster. It opens at the first use. It keeps the process alive only
 * during a command with a deadline.
 */
export class RedisConnection {
  readonly #redis: NativeRedis
  readonly #use: RedisUse
  /** Why there is no connection: the client's last error since it was lost. */
  #fault: { readonly server: string; readonly err: unknown } | undefined
  /** SELECT was refused. The client then uses database 0, so no command may be sent. */
  #isWrongDatabase = false
  /** It leads to one node of a Cluster, which sends commands elsewhere. None is sent any more. */
  #isClusterNode = false
  #isOpened = false
  #isClosed = false
  #firstConnection: Promise<void> | undefined

  /**
   * Connects to the same server as the given client or URL. The given client is not used.
   *
   * @throws {TypeError} if the `keyPrefix` of a Cluster's client would put all keys into one slot
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

  /** Identity of the data, as far as known without a command: `host:port/database keyPrefix`. */
  get database(): string {
    return `${this.server}/${this.#redis.options?.db ?? 0} ${keyPrefixOf(this.#redis)}`
  }

  /** Cause of the missing connection; undefined if connected, or before the first failure. */
  get fault(): RedisUnavailableError | undefined {
    return this.#fault && failureOf(this.#fault.server, this.#fault.err, this.#usesTls)
  }

  /** Connects, and again whenever the connection is lost, until closed. */
  open(): void {
    if (this.#isOpened || this.#isClosed) return
    this.#isOpened = true
    this.#redis.connect().catch(() => undefined) // each command says so itself
  }

  /** Calls the listener after each connect. */
  onReady(listener: () => void): void {
    this.#redis.on('ready', () => {
      if (!this.#isWrongDatabase) listener()
    })
  }

  /**
   * Runs one command.
   *
   * @throws {RedisUnavailableError} without a connection, an answer in time, or the right
   * @throws {Error} if Redis refuses the command for another reason
   */
  async call(command: string, ...args: (string | number)[]): Promise<unknown> {
    return this.#answer(() => this.#redis.call(command, ...args))
  }

  /**
   * Runs a script by its hash. If the server does not know the hash (after a restart or failover), sends the text.
   *
   * @throws {Error} as {@link call} does
   */
  async run(script: Script, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    return this.#run('call', script, keys, args)
  }

  /** As {@link run}, but returns bytes instead of text. */
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
      if (lastNodeError === undefined) this.#failed(this.server, err)
    })
    redis.on('node error', (err, server) => this.#failed(String(server), err))
    redis.on('connect', () => (this.#isWrongDatabase = false))
    redis.on('close', () => (this.#fault ??= { server: this.server, err: new Error('closed') }))
    redis.on('ready', () => {
      this.#isClusterNode = false
      if (!this.#isWrongDatabase) this.#fault = undefined
    })
  }

  /** A server that turns the client away then closes the connection: the cause is kept. */
  #failed(server: string, err: unknown): void {
    const { password = '' } = this.#redis.options ?? {}
    if (password !== '' && err instanceof Error && err.message.includes(password)) err = new Error('closed')
    if (this.#fault === undefined || !isLoss(err) || !isRefusal(this.#fault.err)) this.#fault = { server, err }
  }

  async #answer(ask: () => Promise<unknown>): Promise<unknown> {
    const { deadlineMs } = this.#use
    this.open()
    try {
      if (this.#redis.status !== 'ready') await this.#connectedOnce()
      if (this.#isWrongDatabase) throw new Error('another database')
      if (this.#isClusterNode) throw this.fault ?? new Error('closed')
      return await (deadlineMs === undefined ? ask() : stayAlive(within(deadlineMs, systemClock, ask)))
    } catch (err) {
      throw this.#explained(err)
    }
  }

  /** Waits for the first connection of the process. A lost connection fails at once. */
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
    if (codeOf(err) === 'MOVED' && !this.cluster) this.#isClusterNode = true
    if (isRefusal(err)) this.#failed(this.server, err)
    if (err.name === 'ReplyError') return isUnusable(err) ? failureOf(this.server, err, this.#usesTls) : err
    if (err instanceof TimeoutError)
      // the connection may work
      return new RedisUnavailableError(this.server, 'ETIMEDOUT', `does not answer in ${this.#use.deadlineMs} ms`)
    return this.fault ?? failureOf(this.server, err, this.#usesTls)
  }

  get #usesTls(): boolean {
    return this.#redis.options?.tls !== undefined
  }

  /** Error of a missing right, with the rights to give. Redis does not name them. */
  #denied({ message }: Error): Error {
    const { prefix, rights } = this.#use
    return new RedisUnavailableError(
      this.server,
      'NOPERM',
      `denies its user a right (${message}): allow the user ~${keyPrefixOf(this.#redis)}${prefix}* ${rights}`,
    )
  }
}
