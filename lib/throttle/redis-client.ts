import { Redis } from 'ioredis'

/** What is used of a client: ioredis 5 and 6, iovalkey and their Cluster classes fit. */
export interface RedisClient {
  readonly isCluster?: boolean
  duplicate(...args: never[]): unknown
}

/** What is used of a connection of our own. */
export interface RedisConnection {
  readonly status: string
  evalsha(sha: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  eval(script: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  call(command: string, ...args: (string | number)[]): Promise<unknown>
  pipeline(): RedisPipeline
  nodes?(role: 'master'): RedisConnection[]
  on(event: string, listener: (...args: unknown[]) => void): unknown
  disconnect(): void
}

export interface RedisPipeline {
  evalsha(sha: string, keys: number, ...args: (string | number)[]): unknown
  call(command: string, ...args: (string | number)[]): unknown
  exec(): Promise<[Error | null, unknown][] | null>
}

/**
 * A decision cannot wait for a connection, and an old command must never be sent late: nothing is queued or retried,
 * a dead connection is noticed within a second and replaced, and the pauses between attempts stay short and spread.
 */
const OPTIONS = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 500, // deadlines are the caller's; this one also strikes where the answer came while the process was busy
  connectTimeout: 500,
  socketTimeout: 1_000,
  disconnectTimeout: 200,
  autoResubscribe: false,
  enableAutoPipelining: false, // on a Cluster its routing never heals after a slot has moved
  lazyConnect: false,
  retryStrategy: (attempt: number) => Math.min(50 * attempt, 250) + Math.floor(Math.random() * 50),
  reconnectOnError: (err: Error) => (err.message.startsWith('READONLY') ? 1 : false), // 2 would send it again for ever
}

const CLUSTER_OPTIONS = {
  enableOfflineQueue: false,
  maxRedirections: 4,
  slotsRefreshTimeout: 500,
  clusterRetryStrategy: OPTIONS.retryStrategy,
  enableAutoPipelining: false,
  lazyConnect: false,
}

/** A connection of our own to where the client or the URL points. */
export function connect(to: RedisClient | string): RedisConnection {
  if (typeof to !== 'string') {
    const duplicate = to.duplicate.bind(to) as (...args: unknown[]) => unknown
    const own = to.isCluster ? duplicate([], { ...CLUSTER_OPTIONS, redisOptions: OPTIONS }) : duplicate(OPTIONS)
    return own as RedisConnection
  }
  return new Redis(to, OPTIONS)
}
