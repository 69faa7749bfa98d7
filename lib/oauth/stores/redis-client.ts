import { Redis } from 'ioredis'

/** What is used of a client: ioredis 5 and 6, iovalkey and their Cluster classes fit. */
export interface RedisClient {
  readonly isCluster?: boolean
  duplicate(...args: never[]): unknown
}

/** What is used of a connection of the store's own. */
export interface RedisConnection {
  readonly status: string
  set(key: string, value: string, px: 'PX', ms: number): Promise<unknown>
  get(key: string): Promise<string | null>
  getex(key: string, px: 'PX', ms: number): Promise<string | null>
  evalsha(sha: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  eval(script: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  once(event: string, listener: (...args: unknown[]) => void): unknown
  disconnect(): void
}

/**
 * A claim must never be sent twice or late: nothing is queued or sent again, and a dead connection is noticed soon. The
 * deadline is longer than the throttle's, because a claim whose reply is lost costs its user a fresh login.
 */
const OPTIONS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 500,
  connectTimeout: 500,
  socketTimeout: 1_500,
  disconnectTimeout: 200,
  autoResubscribe: false,
  enableAutoPipelining: false, // on a Cluster its routing never heals after a slot has moved
  lazyConnect: false,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, 250) + Math.floor(Math.random() * 50),
  reconnectOnError: (err: Error) => (err.message.startsWith('READONLY') ? 1 : false), // 2 would send it again
}

const CLUSTER_OPTIONS = {
  enableOfflineQueue: false,
  maxRedirections: 4,
  slotsRefreshTimeout: 500,
  clusterRetryStrategy: OPTIONS.retryStrategy,
  enableAutoPipelining: false,
  lazyConnect: false,
}

/** A connection of the store's own to where the client or the URL points. */
export function connect(to: RedisClient | string): RedisConnection {
  if (typeof to === 'string') return new Redis(to, OPTIONS)
  const duplicate = to.duplicate.bind(to) as (...args: unknown[]) => unknown
  const own = to.isCluster ? duplicate([], { ...CLUSTER_OPTIONS, redisOptions: OPTIONS }) : duplicate(OPTIONS)
  return own as RedisConnection
}
