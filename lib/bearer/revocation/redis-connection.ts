import { Redis } from 'ioredis'

/** What is used of a client: ioredis 5 and 6, iovalkey and their Cluster classes fit. */
export interface RevocationClient {
  readonly isCluster?: boolean
  duplicate(...args: never[]): unknown
}

/** What is used of a connection of our own. */
export interface RedisConnection {
  eval(script: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  on(event: 'error', listener: (err: Error) => void): unknown
  disconnect(): void
}

/** Nothing is queued, retried or sent late; a dead connection is noticed within a second and replaced. */
const OPTIONS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 1_000,
  connectTimeout: 500,
  socketTimeout: 1_500,
  enableAutoPipelining: false,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, 250) + Math.floor(Math.random() * 50),
}

/** A connection of our own to where the client or the URL points. */
export function connect(to: RevocationClient | string): RedisConnection {
  if (typeof to === 'string') return new Redis(to, OPTIONS)
  const duplicate = to.duplicate.bind(to) as (...args: unknown[]) => unknown
  const cluster = { enableOfflineQueue: false, clusterRetryStrategy: OPTIONS.retryStrategy, redisOptions: OPTIONS }
  return (to.isCluster ? duplicate([], cluster) : duplicate(OPTIONS)) as RedisConnection
}
