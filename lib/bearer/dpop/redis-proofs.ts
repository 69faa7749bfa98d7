import { optionNames, optionType, shown } from '../../http/options'
import { type RedisClient, checkRedis, ownConnection } from '../../redis/own-connection'
import type { SeenProofs } from './seen-proofs'

/** Options of {@link redisProofs}. */
export interface RedisProofsOptions {
  /** Begins the names of the keys. Default `tollgate`. */
  readonly prefix?: string
}

/** What {@link redisProofs} returns, for `requireBearer({ dpop: { proofs } })`. */
export interface RedisProofs extends SeenProofs {
  /** Ends the connection; safe to call twice. */
  close(): void
}

/** What is used of a connection of our own. */
interface Connection {
  set(key: string, value: string, unit: 'PX', ms: number, condition: 'NX'): Promise<'OK' | null>
  disconnect(): void
}

/** A request waits for it. */
const TIMEOUTS = { commandTimeout: 500, socketTimeout: 1_000 }
/** How far the clocks of the processes may be apart: so much longer a proof is remembered. */
const CLOCKS_APART_MS = 30_000

/**
 * Remembers in Redis which DPoP proofs were used, so that none is used twice in whichever process. A proof takes one
 * key, a hash, that expires when the proof does; nothing is remembered in the process. While Redis cannot be reached,
 * requests with proofs are answered with 503: whether they are replays cannot be told.
 *
 * @param to an ioredis client or a URL; the connection is this function's own either way
 * @throws {TypeError} naming the option
 */
export function redisProofs(to: RedisClient | string, options: RedisProofsOptions = {}): RedisProofs {
  optionNames('redisProofs()', options, ['prefix'])
  const { prefix = 'tollgate' } = options
  optionType('prefix', prefix, 'string')
  if (/[{}]/.test(prefix)) throw new TypeError(`prefix must not have braces; received ${shown(prefix)}`)
  checkRedis('redisProofs()', to)
  const redis = ownConnection(to, TIMEOUTS) as Connection

  return {
    async note(name, untilSec, nowSec) {
      const ms = Math.ceil((untilSec - nowSec) * 1_000) + CLOCKS_APART_MS
      return (await redis.set(`${prefix}:dpop:${name}`, '1', 'PX', ms, 'NX')) === 'OK' ? 'new' : 'replay'
    },
    close: () => redis.disconnect(),
  }
}
