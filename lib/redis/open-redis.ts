import type { Socket } from 'node:net'
import { ioredis } from './ioredis'
import type { RedisClient } from './redis-client'
import { endIfSilent } from './silence'

/** What a command takes. */
export type RedisArgument = string | number | Buffer

/** What the package uses of a client of its own: ioredis 5 and 6 and iovalkey have it. */
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

/** What it uses besides of a client of a Cluster. */
export interface NativeCluster extends NativeRedis {
  readonly isCluster: true
  nodes(): readonly NativeRedis[]
  /** The addresses that keep each slot, the master first. */
  readonly slots: readonly (readonly string[])[]
}

const retryStrategy = (attempt: number) => Math.min(50 * attempt, 250) + Math.floor(Math.random() * 50)

/** A sentinel that does not answer is passed over after so long. */
const SENTINEL_MS = 500

/**
 * Nothing is queued or sent again, since what a caller has given up must not be done later. Pauses between attempts stay
 * short and spread. ioredis' own timeouts are off: see {@link endIfSilent}.
 */
const OPTIONS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 0,
  commandTimeout: undefined,
  socketTimeout: undefined,
  disconnectTimeout: 200,
  maxLoadingRetryTime: 100, // else for as long as Redis thinks that loading will take
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
 * A client of our own for where the given client or the URL points, not connected yet. It connects again whenever the
 * connection is lost, and does not keep the process alive; the client given stays as it is.
 *
 * @param silentMs a server that answers nothing for so long is taken for dead
 */
export function openRedis(to: RedisClient | string, silentMs: number): NativeRedis {
  const own =
    typeof to === 'string' ? (new (ioredis().Redis)(to, PLAIN_OPTIONS) as unknown as NativeRedis) : duplicated(to)
  own.on('error', () => undefined) // each command says so itself; without a listener ioredis prints each error
  const watch = (each: NativeRedis) => {
    endIfSilent(each, silentMs)
    each.on('connecting', () => setImmediate(() => tame(each.stream))) // by then it is there, but for a sentinel's
    each.on('connect', () => tame(each.stream))
    each.on('error', (err) => connectWithoutInfo(each, err))
  }
  if (own.isCluster) own.on('+node', (node) => watch(node as NativeRedis))
  else watch(own)
  own.on('reconnecting', () => own.reconnectTimeout?.unref())
  return own
}

/**
 * The socket does not keep the process alive, nor end it: ioredis hears its first error only, and one with TLS that is
 * closed during the handshake may have a second.
 */
function tame(stream: Socket | undefined): void {
  stream?.on('error', () => undefined).unref()
}

/** A hosted server may not have INFO, by which ioredis asks whether it has loaded its data; then it connects without. */
function connectWithoutInfo({ options }: NativeRedis, err: unknown): void {
  if (options && (err as { command?: { name?: string } }).command?.name === 'info') options.enableReadyCheck = false
}

/** Where it leads, for messages: `host:port`. */
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
