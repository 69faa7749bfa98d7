import { optionNames } from '../../http/options'
import { KEY_PREFIX, checkKeyPrefix } from '../../redis/key-prefix'
import { type RedisClient, checkRedis } from '../../redis/redis-client'
import { RedisConnection } from '../../redis/redis-connection'
import type { SeenProofs } from './seen-proofs'

/** Options of {@link redisProofs}. */
export interface RedisProofsOptions {
  /** Begins every key; ends in a colon, no braces, at most 64 characters. Default `tollgate:`. */
  readonly prefix?: string
}

/** What {@link redisProofs} returns, for `requireBearer({ dpop: { proofs } })`. */
export interface RedisProofs extends SeenProofs {
  /** Ends the connection; safe to call twice. */
  close(): void
}

/** What a Redis user has to be allowed. */
const RIGHTS = '+set'
/** A request waits for the answer. */
const DEADLINE_MS = 500
const SILENT_MS = 800
const FIRST_CONNECTION_MS = 1_000
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
  const { prefix = KEY_PREFIX } = options
  checkKeyPrefix(prefix)
  checkRedis('redisProofs()', to)
  const redis = new RedisConnection(to, {
    ...{ prefix, rights: RIGHTS, silentMs: SILENT_MS },
    ...{ deadlineMs: DEADLINE_MS, firstConnectionMs: FIRST_CONNECTION_MS },
  })

  return {
    async note(name, untilSec, nowSec) {
      const ms = Math.ceil((untilSec - nowSec) * 1_000) + CLOCKS_APART_MS
      return (await redis.call('set', `${prefix}dpop:${name}`, '1', 'PX', ms, 'NX')) === 'OK' ? 'new' : 'replay'
    },
    close: () => redis.close(),
  }
}
