import { optionNames } from '../../http/options'
import { KEY_PREFIX, checkKeyPrefix } from '../../redis/key-prefix'
import { type RedisClient, checkRedis } from '../../redis/redis-client'
import { RedisConnection } from '../../redis/redis-connection'
import type { SeenProofs } from './seen-proofs'

/** Used proofs in Redis, for `requireBearer({ dpop: { proofs } })`. */
export interface RedisProofs {
  /** Closes the connection; safe to call twice. */
  close(): Promise<void>
  /** As `close()`: `await using proofs = redisProofs(url)`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Commands that the Redis user needs. */
const RIGHTS = '+set'
/** Timeout of a command, short because a request waits for it. */
const DEADLINE_MS = 500
const SILENT_MS = 800
const FIRST_CONNECTION_MS = 1_000
/** Largest difference of the processes' clocks; proofs are kept for this much longer. */
const CLOCKS_APART_MS = 30_000
/** New proofs of one owner within a minute, in this process. */
const MOST_OF_OWNER = 20_000

/**
 * Records used DPoP proofs in Redis, so that no proof is used twice in any process. A proof takes one key, a hash, which
 * expires with the proof. One user, or one app without a user, uses at most 20,000 proofs a minute in each process, and
 * gets 503 beyond. While Redis is unavailable, requests with proofs get 503, because replays cannot be detected.
 *
 * @param to an ioredis client or a URL; either way a separate connection is opened
 * @throws {TypeError} naming the option
 */
export function redisProofs(
  to: RedisClient | string,
  options: {
    /** Prefix of every key: ends in a colon, no braces, at most 64 characters. Default `tollgate:`. */
    readonly prefix?: string | undefined
  } = {},
): RedisProofs {
  optionNames('redisProofs()', options, ['prefix'])
  const { prefix = KEY_PREFIX } = options
  checkKeyPrefix(prefix)
  checkRedis('redisProofs()', to)
  const redis = new RedisConnection(to, {
    prefix,
    rights: RIGHTS,
    silentMs: SILENT_MS,
    deadlineMs: DEADLINE_MS,
    firstConnectionMs: FIRST_CONNECTION_MS,
  })

  const close = () => Promise.resolve(redis.close())
  /** Number of new proofs of each owner in the present minute. */
  let used = new Map<string, number>()
  let minute = 0
  const proofs: RedisProofs & SeenProofs = {
    async note(name, untilSec, nowSec, owner) {
      const present = Math.floor(nowSec / 60)
      if (present !== minute) used = new Map()
      minute = present
      if ((used.get(owner) ?? 0) >= MOST_OF_OWNER) return 'full'
      const ms = Math.ceil((untilSec - nowSec) * 1_000) + CLOCKS_APART_MS
      if ((await redis.call('set', `${prefix}dpop:${name}`, '1', 'PX', ms, 'NX')) !== 'OK') return 'replay'
      used.set(owner, (used.get(owner) ?? 0) + 1)
      return 'new'
    },
    close,
    [Symbol.asyncDispose]: close,
  }
  return proofs
}
