import { optionNames } from '../../http/options'
import { KEY_PREFIX, checkKeyPrefix } from '../../redis/key-prefix'
import { type RedisClient, checkRedis } from '../../redis/redis-client'
import { RedisConnection } from '../../redis/redis-connection'
import { script } from '../../redis/script'
import { claimLua, countLua } from './assets'
import type { ClosableOAuthStore, OAuthStoreClaim, OAuthStoreCount } from './store'

const CLAIM = script(claimLua)
const COUNT = script(countLua)
/** Commands that the Redis user must be allowed. */
const RIGHTS = '+evalsha +eval +time +get +getex +set +del +exists +incrby +pttl +pexpire'
/** Longer than the throttle's: a claim whose reply is lost costs its user a fresh login. */
const DEADLINE_MS = 2_000
const SILENT_MS = 2_000
const FIRST_CONNECTION_MS = 1_000

/** Options of {@link redisOAuthStore}. */
export interface RedisOAuthStoreOptions {
  /** Begins every key; ends in a colon, no braces, at most 64 characters. Default `tollgate:oauth:`. */
  readonly prefix?: string | undefined
}

/**
 * Shares the authorization server's state between processes through Redis 6.2 or newer, Valkey, Sentinel or a Cluster.
 * Every claim is one script on one key. Every key expires.
 *
 * The store opens its own connection with the options of the given client, but with its own timeouts, no offline queue and
 * no resending. `close()` closes that connection only. Set Redis's `maxmemory-policy` to `noeviction`: an evicted key could
 * be a revocation or a lock-out.
 *
 * @example authorizationServer({ store: redisOAuthStore('redis://localhost:6379'), … })
 * @param to a client of ioredis or iovalkey, plain, Sentinel or Cluster; or a URL, `redis://` or `rediss://`
 * @throws {TypeError} if `to` is neither, or an option is invalid
 */
export function redisOAuthStore(to: RedisClient | string, options: RedisOAuthStoreOptions = {}): ClosableOAuthStore {
  optionNames('redisOAuthStore', options, ['prefix'])
  const { prefix = `${KEY_PREFIX}oauth:` } = options
  checkKeyPrefix(prefix)
  checkRedis('redisOAuthStore', to)
  const redis = new RedisConnection(to, {
    prefix,
    rights: RIGHTS,
    silentMs: SILENT_MS,
    deadlineMs: DEADLINE_MS,
    firstConnectionMs: FIRST_CONNECTION_MS,
  })

  const close = () => Promise.resolve(redis.close())

  return {
    async set(key, value, ttlMs) {
      await redis.call('set', prefix + key, `0:${value}`, 'PX', whole(ttlMs))
    },
    async get(key, idleMs) {
      const kept = (await (idleMs === undefined
        ? redis.call('get', prefix + key)
        : redis.call('getex', prefix + key, 'PX', whole(idleMs)))) as string | null
      return kept === null ? undefined : kept.slice(kept.indexOf(':') + 1)
    },
    async claim(key, keepMs): Promise<OAuthStoreClaim | undefined> {
      const reply = (await redis.run(CLAIM, [prefix + key], [whole(keepMs, 0)])) as [string, number, number] | null
      return reply ? { value: reply[0], first: reply[1] === 1, agoMs: reply[2] } : undefined
    },
    async count(key, by, windowMs): Promise<OAuthStoreCount> {
      const [total, endsInMs] = (await redis.run(COUNT, [prefix + key], [by, whole(windowMs)])) as [number, number]
      return { total, endsInMs }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function whole(ms: number, least = 1): number {
  return Math.max(least, Math.round(ms))
}
