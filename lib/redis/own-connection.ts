import { Redis } from 'ioredis'
import { shown } from '../http/options'

/** What is used of a client: ioredis 5 and 6, iovalkey and their Cluster classes fit. */
export interface RedisClient {
  readonly isCluster?: boolean
  /** Another client like it. */
  duplicate(...args: never[]): unknown
}

/** How long a connection waits, in milliseconds. */
export interface RedisTimeouts {
  /** For one answer. */
  readonly commandTimeout: number
  /** For anything at all to come, before the connection is taken for dead and replaced. */
  readonly socketTimeout: number
}

const retryStrategy = (attempt: number) => Math.min(50 * attempt, 250) + Math.floor(Math.random() * 50)

/**
 * Nothing is queued or sent again, since what a caller has given up must not be done later; a dead connection is
 * noticed soon; and the pauses between attempts stay short and spread.
 */
const OPTIONS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 500,
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
 * What a factory over Redis may be given.
 *
 * @throws {TypeError} where `to` is neither a client nor a URL; a URL is never shown, since it may hold a password
 */
export function checkRedis(factory: string, to: unknown): void {
  const isUrl = typeof to === 'string'
  if (isUrl ? /^rediss?:\/\//.test(to) : typeof (to as RedisClient | null | undefined)?.duplicate === 'function') return
  const received = isUrl ? 'another string' : shown(to)
  throw new TypeError(`${factory} takes an ioredis client or a redis:// URL; received ${received}`)
}

/** A connection of our own to where the client or the URL points; the client given stays as it is. */
export function ownConnection(to: RedisClient | string, timeouts: RedisTimeouts): unknown {
  const options = { ...OPTIONS, ...timeouts }
  const own = typeof to === 'string' ? new Redis(to, options) : duplicated(to, options)
  // Every command says so itself; without a listener ioredis prints each one.
  ;(own as Redis).on('error', () => undefined)
  return own
}

function duplicated(to: RedisClient, options: object): unknown {
  const duplicate = to.duplicate.bind(to) as (...args: unknown[]) => unknown
  return to.isCluster ? duplicate([], { ...CLUSTER_OPTIONS, redisOptions: options }) : duplicate(options)
}
