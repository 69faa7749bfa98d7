import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers'
import { unref } from '../http/clock'
import { ioredis } from './ioredis'
import type { RedisClient } from './redis-client'
import { codeOf, isRefusal } from './redis-failure'
import { endIfSilent } from './silence'

/** Argument of a command. */
export type RedisArgument = string | number | Buffer

/** The parts of its own client that the package uses. ioredis 5 and 6 and iovalkey have them. */
export interface NativeRedis {
  readonly status: string
  readonly options?: {
    readonly host?: string
    readonly port?: number
    readonly path?: string
    readonly db?: number
    readonly password?: string
    readonly tls?: unknown
    /** Begins every key, before the package's own prefix. */
    keyPrefix?: string
    enableReadyCheck?: boolean
    readonly sentinels?: unknown
    /** What sentinels call the primary. */
    readonly name?: string
    /** Options of each node's client, where it is a Cluster's. */
    readonly redisOptions?: object
  }
  readonly stream?: Socket
  /** The pause before it connects again. Not public; without it a process does not end while Redis is down. */
  readonly reconnectTimeout?: NodeJS.Timeout | null
  readonly isCluster?: boolean
  connect(): Promise<unknown>
  call(command: string, ...args: RedisArgument[]): Promise<unknown>
  callBuffer(command: string, ...args: RedisArgument[]): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  once(event: string, listener: (...args: unknown[]) => void): unknown
  emit(event: string, ...args: unknown[]): unknown
  disconnect(): void
}

/** The same for a client of a Cluster. */
export interface NativeCluster extends NativeRedis {
  readonly isCluster: true
  nodes(): readonly NativeRedis[]
  /** Not public; its options are a copy, which would keep an old password. */
  readonly connectionPool: { readonly redisOptions: object }
  /** Addresses of each slot, the master first. */
  readonly slots: readonly (readonly string[])[]
}

/** Deadline of a sentinel; then the next one is tried. */
const SENTINEL_MS = 500
/** Pauses between attempts to connect: the first is short, since a proxy may have closed an old connection. */
const FIRST_PAUSE_MS = 5
const PAUSE_MS = 50
const MOST_PAUSE_MS = 250
/** A server that refuses the client is tried again ever more rarely. */
const REFUSED_PAUSE_MS = 250
const MOST_REFUSED_PAUSE_MS = 5_000

/**
 * Options that suit a decision which cannot wait. All others are the client's own, such as host, password and TLS.
 *
 * Nothing is queued or sent twice: a command must not run after its caller has given up. ioredis' own timeouts are off:
 * see {@link endIfSilent}. Replies come as the scripts return them, from the server that may write.
 */
function optionsWith(pauses: Pauses) {
  return {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: 0,
    commandTimeout: undefined,
    socketTimeout: undefined,
    blockingTimeout: undefined,
    disconnectTimeout: 200,
    maxLoadingRetryTime: 100, // else as long as Redis estimates for loading
    autoResubscribe: false,
    enableAutoPipelining: false, // on a Cluster its routing never heals after a slot has moved
    stringNumbers: false,
    replyMapping: 'legacy',
    readOnly: false,
    monitor: false,
    role: 'master', // of sentinels
    retryStrategy: (attempt: number) => pauses.beforeAttempt(attempt),
    reconnectOnError(err: Error) {
      pauses.note(err)
      return codeOf(err) === 'READONLY' ? 1 : false // 2 would send it again for ever
    },
  }
}

function clusterOptionsWith(pauses: Pauses) {
  return {
    enableOfflineQueue: false,
    maxRedirections: 4,
    slotsRefreshTimeout: 500,
    clusterRetryStrategy: (attempt: number) => pauses.beforeAttempt(attempt),
    enableAutoPipelining: false,
    scaleReads: 'master',
    lazyConnect: true,
  }
}

/** Says how long a client waits before it connects again. Pauses are random, so that processes do not come all at once. */
class Pauses {
  /** The server refused the client since the last attempt; how many attempts in a row it has refused. */
  #isRefused = false
  #refusals = 0

  /** Notes an error. */
  note(err: unknown): void {
    this.#isRefused ||= isRefusal(err)
  }

  beforeAttempt(attempt: number): number {
    this.#refusals = this.#isRefused ? this.#refusals + 1 : 0
    this.#isRefused = false
    const random = Math.random()
    if (this.#refusals > 0)
      return Math.min(REFUSED_PAUSE_MS * 2 ** (this.#refusals - 1), MOST_REFUSED_PAUSE_MS) * (1 - random / 4)
    if (attempt === 1) return FIRST_PAUSE_MS * (1 + random)
    return Math.min(PAUSE_MS * attempt, MOST_PAUSE_MS) + PAUSE_MS * random
  }
}

/**
 * Our own client for the same server as the given client or URL, not connected yet. It reconnects after each loss and
 * does not keep the process alive. The given client is not used.
 *
 * @param silentMs silence after which a connection counts as dead
 */
export function openRedis(to: RedisClient | string, silentMs: number): NativeRedis {
  const pauses = new Pauses()
  const own = opened(to, pauses)
  own.on('error', (err) => pauses.note(err)) // without a listener ioredis prints all of them
  // A Cluster makes a client for each node, of which the first command is AUTH, from the pool's copy of the options.
  readCredentials(own.isCluster ? (own as NativeCluster).connectionPool.redisOptions : own.options, to)
  const watch = (each: NativeRedis) => {
    endIfSilent(each, silentMs)
    each.on('connecting', () => setImmediate(() => tame(each.stream))) // by then the stream exists, except for a sentinel's
    each.on('connect', () => tame(each.stream))
    each.on('connect', () => hearRefusal(each))
    each.on('error', (err) => connectWithoutInfo(each, err))
  }
  if (own.isCluster) own.on('+node', (node) => watch(node as NativeRedis))
  else watch(own)
  own.on('reconnecting', () => unref(own.reconnectTimeout))
  return own
}

/**
 * Keeps the socket from holding the process open, and from ending it: ioredis listens to the first error only, and a TLS
 * socket that closes during the handshake may emit a second.
 */
function tame(stream: Socket | undefined): void {
  stream?.on('error', () => undefined).unref()
}

/** A server without a free connection says so and closes. ioredis drops what it said, and reports a closed connection. */
function hearRefusal(redis: NativeRedis): void {
  redis.stream?.once('data', (first: Buffer) => {
    const err = new Error(first.toString('latin1', 0, 100))
    if (isRefusal(err)) redis.emit('error', err)
  })
}

/** ioredis checks with INFO whether the data is loaded. Hosted servers may lack INFO: then it connects without. */
function connectWithoutInfo({ options }: NativeRedis, err: unknown): void {
  if (options && (err as { command?: { name?: string } }).command?.name === 'info') options.enableReadyCheck = false
}

/** Address for messages: `host:port`. */
export function serverOf(redis: NativeRedis): string {
  if (redis.isCluster) return (redis as NativeCluster).nodes().map(serverOf)[0] ?? 'a Cluster'
  const { host = 'localhost', port = 6379, path, sentinels, name = '' } = redis.options ?? {}
  return sentinels ? `"${name}" of its sentinels` : (path ?? `${host}:${port}`)
}

/** What a rotation or a short-lived token changes. */
const CREDENTIALS = ['username', 'password', 'sentinelUsername', 'sentinelPassword'] as const

/**
 * Lets a client of ours read its credentials anew at each connection, from the client that the app keeps up to date:
 * tokens of hosted servers live for minutes to hours.
 */
function readCredentials(options: object | undefined, to: RedisClient | string): void {
  if (options === undefined || typeof to === 'string') return
  const source = () => {
    const given = (to as Partial<NativeRedis>).options
    return (to.isCluster ? given?.redisOptions : given) as Record<string, unknown> | undefined
  }
  for (const name of CREDENTIALS) {
    const get = () => source()?.[name]
    if (get() !== undefined) Object.defineProperty(options, name, { get, enumerable: true, configurable: true })
  }
}

function opened(to: RedisClient | string, pauses: Pauses): NativeRedis {
  const options = optionsWith(pauses)
  if (typeof to === 'string')
    return new (ioredis().Redis)(to, { ...options, lazyConnect: true } as object) as unknown as NativeRedis
  const duplicate = to.duplicate.bind(to) as (...args: unknown[]) => NativeRedis
  const { sentinels, redisOptions } = (to as Partial<NativeRedis>).options ?? {}
  // ioredis 5 and iovalkey would leave out the redisOptions of the client: its password and TLS.
  if (to.isCluster)
    return duplicate([], {
      ...clusterOptionsWith(pauses),
      redisOptions: { ...redisOptions, ...options, lazyConnect: false },
    })
  return duplicate({ ...options, lazyConnect: true, ...(sentinels ? { connectTimeout: SENTINEL_MS } : {}) })
}
