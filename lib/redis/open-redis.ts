import type { Socket } from 'node:net'
import { ioredis } from './ioredis'
import type { RedisClient } from './redis-client'
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
    readonly tls?: unknown
    /** Begins every key, before the package's own prefix. */
    keyPrefix?: string
    enableReadyCheck?: boolean
    readonly sentinels?: unknown
    /** What sentinels call the primary. */
    readonly name?: string
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
  disconnect(): void
}

/** The same for a client of a Cluster. */
export interface NativeCluster extends NativeRedis {
  readonly isCluster: true
  nodes(): readonly NativeRedis[]
  /** Addresses of each slot, the master first. */
  readonly slots: readonly (readonly string[])[]
}

const retryStrategy = (attempt: number) => Math.min(50 * attempt, 250) + Math.floor(Math.random() * 50)

/** Deadline of a sentinel; then the next one is tried. */
const SENTINEL_MS = 500

/**
 * Nothing is queued or sent twice: a command must not run after its caller has given up. Pauses between attempts are
 * short and random. ioredis' own timeouts are off: see {@link endIfSilent}.
 */
const OPTIONS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 0,
  commandTimeout: undefined,
  socketTimeout: undefined,
  disconnectTimeout: 200,
  maxLoadingRetryTime: 100, // else as long as Redis estimates for loading
  autoResubscribe: false,
  enableAutoPipelining: false, // on a Cluster its routing never heals after a slot has moved
  retryStrategy,
  reconnectOnError: (err: Error) => (err.message.startsWith('READONLY') ? 1 : false), // 2 would send it again for ever
}

const PLAIN_OPTIONS = { ...OPTIONS, lazyConnect: true }

const CLUSTER_OPTIONS = {
  enableOfflineQueue: false,
  maxRedirections: 4,
  slotsRefreshTimeout: 500,
  clusterRetryStrategy: retryStrategy,
  enableAutoPipelining: false,
  lazyConnect: true,
}

/**
 * Our own client for the same server as the given client or URL, not connected yet. It reconnects after each loss and
 * does not keep the process alive. The given client is not used.
 *
 * @param silentMs silence after which a connection counts as dead
 */
export function openRedis(to: RedisClient | string, silentMs: number): NativeRedis {
  const own =
    typeof to === 'string' ? (new (ioredis().Redis)(to, PLAIN_OPTIONS) as unknown as NativeRedis) : duplicated(to)
  own.on('error', () => undefined) // each command reports its error; without a listener ioredis prints all of them
  const watch = (each: NativeRedis) => {
    endIfSilent(each, silentMs)
    each.on('connecting', () => setImmediate(() => tame(each.stream))) // by then the stream exists, except for a sentinel's
    each.on('connect', () => tame(each.stream))
    each.on('error', (err) => connectWithoutInfo(each, err))
  }
  if (own.isCluster) own.on('+node', (node) => watch(node as NativeRedis))
  else watch(own)
  own.on('reconnecting', () => own.reconnectTimeout?.unref())
  return own
}

/**
 * Keeps the socket from holding the process open, and from ending it: ioredis listens to the first error only, and a TLS
 * socket that closes during the handshake may emit a second.
 */
function tame(stream: Socket | undefined): void {
  stream?.on('error', () => undefined).unref()
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

function duplicated(to: RedisClient): NativeRedis {
  const duplicate = to.duplicate.bind(to) as (...args: unknown[]) => NativeRedis
  if (to.isCluster) return duplicate([], { ...CLUSTER_OPTIONS, redisOptions: { ...OPTIONS, lazyConnect: false } })
  const { sentinels } = (to as Partial<NativeRedis>).options ?? {}
  return duplicate(sentinels ? { ...PLAIN_OPTIONS, connectTimeout: SENTINEL_MS } : PLAIN_OPTIONS)
}
