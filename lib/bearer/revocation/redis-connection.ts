import { type RedisClient, ownConnection } from '../../redis/own-connection'

/** What is used of a connection of our own. */
export interface RedisConnection {
  eval(script: string, keys: number, ...args: (string | number)[]): Promise<unknown>
  on(event: 'error', listener: (err: Error) => void): unknown
  disconnect(): void
}

const TIMEOUTS = { commandTimeout: 1_000, socketTimeout: 1_500 }

/** A connection of our own to where the client or the URL points. */
export function connect(to: RedisClient | string): RedisConnection {
  return ownConnection(to, TIMEOUTS) as RedisConnection
}
