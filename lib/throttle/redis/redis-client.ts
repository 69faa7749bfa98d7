import { type RedisClient, ownConnection } from '../../redis/own-connection'

/** What is used of a connection of our own. */
export interface RedisConnection {
  evalsha(sha: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  eval(script: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  call(command: string, ...args: (string | number)[]): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  disconnect(): void
}

/** What is used besides where the connection is to a Cluster. */
export interface ClusterConnection extends RedisConnection {
  readonly isCluster: true
  /** By slot, the addresses of those who keep it, the master first. */
  readonly slots: readonly (readonly string[])[]
}

/**
 * A decision has a deadline of its own, 70 ms. The connection's is longer: it also strikes where the answer came while
 * the process was busy.
 */
const TIMEOUTS = { commandTimeout: 500, socketTimeout: 1_000 }

/** A connection of our own to where the client or the URL points. */
export function connect(to: RedisClient | string): RedisConnection {
  return ownConnection(to, TIMEOUTS) as RedisConnection
}

export function isCluster(redis: RedisConnection): redis is ClusterConnection {
  return 'isCluster' in redis && redis.isCluster === true
}
