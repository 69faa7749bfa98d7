import { randomBytes } from 'node:crypto'
import { optionNames, optionRange, optionType } from '../../http/options'
import { KEY_PREFIX, checkKeyPrefix } from '../../redis/key-prefix'
import { type RedisClient, checkRedis } from '../../redis/redis-client'
import { RedisConnection } from '../../redis/redis-connection'
import { type AccountStore, type StoreServer, type StoreWatcher, type ThrottleStore, opaqueStore } from '../store/store'
import { type SubjectDigest, keyedDigest } from '../budget/subjects'
import { RedisCluster } from './redis-cluster'
import { type Keys, OnlyRedisServer } from './redis-server'
import { addUsage, readUsage, usageKey } from './redis-usage'

/** What a Redis user has to be allowed; INFO, too, where it can be. */
const RIGHTS =
  '+evalsha +eval +time +hgetall +hmget +hset +hincrby +zadd +zremrangebyscore +zcard +get +set +del +pexpireat'
/** The client connects anew to a server that is silent for this long. A decision's deadline is shorter. */
const SILENT_MS = 800

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /** Begins every key; ends in a colon, no braces, at most 64 characters. Default `tollgate:`. */
  readonly prefix?: string | undefined
  /**
   * Keeps each subject's text beside its hash, as long as the record, so that the dashboard and `top` show names of
   * all processes' subjects. At most 64 bytes: a longer subject loses its middle. Whoever can read this Redis then reads
   * who the users are. Default false.
   */
  readonly keepSubjects?: boolean | undefined
  /**
   * Makes the hashes in keys keyed (HMAC-SHA-256): a text or bytes, 32 bytes or more, the same in all processes. Without it
   * whoever can read this Redis can find a subject by trying: all IPv4 addresses in hours. A new key begins new windows.
   * Default: SHA-256 without a key.
   */
  readonly hashKey?: string | Uint8Array | undefined
  /**
   * How long a request waits for Redis, in milliseconds: whole, 10 to 500. Then the process decides alone about it. Default
   * 70. For a Redis that is far away, give twice the time that its slow answers take.
   */
  readonly deadlineMs?: number | undefined
}

const NAMES = ['prefix', 'keepSubjects', 'hashKey', 'deadlineMs']

/**
 * Shares the throttle's windows between processes through Redis 6.2 or newer, Valkey, a Sentinel group or a Cluster.
 *
 * The client given stays the app's own: the store opens a connection like it, with options that suit a decision that
 * cannot wait, and closes that one with the throttle's `close()`. Keys hold pseudonyms: hashes of subjects, keyed with
 * `hashKey`. Every key expires. A record expires with its window. After overshoot, or while a request runs, it stays for
 * up to 32 windows more, at most 7 days. Counts for `advise()` stay for a week, other keys for a minute.
 *
 * @example throttle({ store: redisStore('redis://localhost:6379') })
 * @param to a client of ioredis or iovalkey, plain, Sentinel or Cluster; or a URL, `redis://` or `rediss://`
 * @throws {TypeError} where `to` is neither, or an option is wrong
 */
export function redisStore(to: RedisClient | string, options: RedisStoreOptions = {}): ThrottleStore {
  optionNames('redisStore', options, NAMES, { keyPrefix: "write prefix: 'myapp:'" })
  const { prefix = KEY_PREFIX, keepSubjects = false, hashKey, deadlineMs = 70 } = options
  const digest = hashKey === undefined ? undefined : keyedDigest(hashKey)
  checkKeyPrefix(prefix)
  optionType('keepSubjects', keepSubjects, 'boolean')
  optionRange('deadlineMs', deadlineMs, 10, 500)
  checkRedis('redisStore', to)
  const redis = new RedisConnection(to, { prefix, rights: RIGHTS, silentMs: SILENT_MS })
  const keys = { prefix, process: randomBytes(6).toString('base64url'), keepSubjects, deadlineMs }
  const { cluster } = redis
  return opaqueStore(cluster ? new RedisCluster(redis, cluster, keys, digest) : new SingleRedis(redis, keys, digest))
}

class SingleRedis implements AccountStore {
  readonly keeps: string
  readonly deadlineMs: number
  readonly #redis: RedisConnection
  readonly #server: OnlyRedisServer
  readonly #prefix: string

  constructor(
    redis: RedisConnection,
    keys: Keys,
    readonly digest: SubjectDigest | undefined,
  ) {
    this.keeps = `${redis.database} ${keys.prefix}${digest?.('') ?? ''}`
    this.deadlineMs = keys.deadlineMs
    this.#redis = redis
    this.#prefix = keys.prefix
    this.#server = new OnlyRedisServer(redis, keys, undefined)
  }

  serverOf(): StoreServer {
    return this.#server
  }

  watch(watcher: StoreWatcher): void {
    this.#redis.onReady(() => watcher.ready(this.#server))
    this.#redis.open()
  }

  addUsage(policy: string, hour: number, counts: ReadonlyMap<string, number>): Promise<void> {
    return addUsage(this.#redis, usageKey(this.#prefix, policy, hour), hour, counts)
  }

  readUsage(policy: string, hours: readonly number[]): Promise<Record<string, string>[]> {
    return readUsage(
      this.#redis,
      hours.map((hour) => usageKey(this.#prefix, policy, hour)),
    )
  }

  close(): Promise<void> {
    this.#redis.close()
    return Promise.resolve()
  }
}
