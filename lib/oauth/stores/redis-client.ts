import { type RedisClient, ownConnection } from '../../redis/own-connection'

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
 * Longer than the throttle's: a claim whose reply is lost costs its user a fresh login, and the timeout counts the time
 * as well in which this process itself is busy with a thousand other requests.
 */
const TIMEOUTS = { commandTimeout: 2_000, socketTimeout: 2_500 }

/** A connection of the store's own to where the client or the URL points. */
export function connect(to: RedisClient | string): RedisConnection {
  return ownConnection(to, TIMEOUTS) as RedisConnection
}
