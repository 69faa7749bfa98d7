import type { Socket } from 'node:net'
import { Redis } from 'ioredis'
import type { RedisClient } from './redis-client'
import { endIfSilent } from './silence'

/** What the package uses of a client of its own: ioredis 5 and 6 and iovalkey have it. */
export interface NativeRedis {
  readonly status: string
  readonly stream?: Socket
  readonly isCluster?: boolean
  call(command: string, ...args: (string | number)[]): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  once(event: string, listener: (...args: unknown[]) => void): unknown
  disconnect(): void
}

/** What it uses besides of a client of a Cluster. */
export interface NativeCluster extends NativeRedis {
  readonly isCluster: true
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
  lazyConnect: false,
  retryStrategy,
  reconnectOnError: (err: Error) => (err.message.startsWith('READONLY') ? 1 : false), // 2 would send it again for ever
}

const CLUSTER_OPTIONS = {
  enableOfflineQueue: false,
  maxRedirections: 4,
  slotsRefreshTimeout: 500,
  clusterRetryStrategy: retryStrategy,
  enableAutoPipelining: false,
  lazyConnect: false,
}

/**
 * Opens a connection to where the client or the URL points, which connects again whenever it is lost; the client given
 * stays as it is.
 *
 * @param silentMs a server that answers nothing for so long is taken for dead
 */
export function openRedis(to: RedisClient | string, silentMs: number): NativeRedis {
  const own = typeof to === 'string' ? (new Redis(to, OPTIONS) as NativeRedis) : duplicated(to)
  own.on('error', () => undefined) // each command says so itself; without a listener ioredis prints each error
  if (own.isCluster) own.on('+node', (node) => endIfSilent(node as NativeRedis, silentMs))
  else endIfSilent(own, silentMs)
  return own
}

function duplicated(to: RedisClient): NativeRedis {
  const duplicate = to.duplicate.bind(to) as (...args: unknown[]) => NativeRedis
  if (to.isCluster) return duplicate([], { ...CLUSTER_OPTIONS, redisOptions: OPTIONS })
  const { sentinels } = (to as { options?: { sentinels?: unknown } }).options ?? {}
  return duplicate(sentinels ? { ...OPTIONS, connectTimeout: SENTINEL_MS } : OPTIONS)
}
