import { randomBytes } from 'node:crypto'
import { optionNames, shown } from '../../http/options'
import { type RedisClient, checkRedis } from '../../redis/own-connection'
import { RedisCluster } from './redis-cluster'
import { type RedisConnection, connect, isCluster } from './redis-client'
import { type Keys, SingleShard } from './redis-shard'
import type { StoreShard, StoreWatcher, ThrottleStore } from '../sync/store'

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /** Begins every key; no braces, at most 64 characters. Default `tollgate:`. */
  readonly prefix?: string
}

/**
 * Shares the throttle's windows between processes through Redis 6.2 or newer, Valkey, a Sentinel group or a Cluster.
 *
 * The client given stays the app's own: the store opens a connection like it, with options that suit a decision that
 * cannot wait, and closes that one with the throttle's `close()`. Nothing personal is stored: keys hold hashes, and
 * every key expires with its window.
 *
 * @example throttle({ store: redisStore('redis://localhost:6379') })
 * @param to a client of ioredis or iovalkey, plain, Sentinel or Cluster; or a URL, `redis://` or `rediss://`
 * @throws {TypeError} where `to` is neither, or an option is wrong
 */
export function redisStore(to: RedisClient | string, options: RedisStoreOptions = {}): ThrottleStore {
  optionNames('redisStore', options, ['prefix'])
  const { prefix = 'tollgate:' } = options
  if (typeof prefix !== 'string' || !/^[^{}]{0,64}$/.test(prefix)) {
    throw new TypeError(`prefix must be a string of at most 64 characters without braces; received ${shown(prefix)}`)
  }
  checkRedis('redisStore', to)
  const redis = connect(to)
  const keys = { prefix, process: randomBytes(6).toString('base64url') }
  return isCluster(redis) ? new RedisCluster(redis, keys) : new SingleRedis(redis, keys)
}

class SingleRedis implements ThrottleStore {
  readonly #redis: RedisConnection
  readonly #shard: SingleShard

  constructor(redis: RedisConnection, keys: Keys) {
    this.#redis = redis
    this.#shard = new SingleShard(redis, keys)
  }

  shardOf(): StoreShard {
    return this.#shard
  }

  watch(watcher: StoreWatcher): void {
    this.#redis.on('ready', () => watcher.ready(this.#shard))
  }

  close(): Promise<void> {
    this.#redis.disconnect()
    return Promise.resolve()
  }
}
