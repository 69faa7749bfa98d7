import { createHash } from 'node:crypto'
import { optionNames, shown } from '../../http/options'
import { claimLua, countLua } from './assets'
import { type RedisClient, checkRedis } from '../../redis/own-connection'
import { type RedisConnection, connect } from './redis-client'
import type { Claim, Count, OAuthStore } from './store'

interface Script {
  readonly text: string
  readonly sha: string
}

const CLAIM = script(claimLua)
const COUNT = script(countLua)
/** How long the first commands wait for the first connection. */
const FIRST_CONNECTION_MS = 1_000

/** Options of {@link redisStore}. */
export interface RedisStoreOptions {
  /** Begins every key; at most 64 characters. A `{tag}` in it keeps all keys in one slot. Default `tollgate:oauth:`. */
  readonly prefix?: string
}

/** A store over Redis, which owns its connection. */
export interface RedisStore extends OAuthStore {
  /** Closes the store's own connection; safe to call twice. */
  close(): void
}

/**
 * Shares the authorization server's state between processes through Redis 6.2 or newer, Valkey, a Sentinel group or a
 * Cluster. Every claim is one script on one key; every key expires.
 *
 * The client given stays the app's own: the store opens a connection like it, with its own deadlines and without queue or
 * resending, and closes that one with `close()`. Give Redis a `noeviction` policy: what it evicts is a revocation or a
 * lock forgotten.
 *
 * @example authorizationServer({ store: redisStore('redis://localhost:6379'), … })
 * @param to a client of ioredis or iovalkey, plain, Sentinel or Cluster; or a URL, `redis://` or `rediss://`
 * @throws {TypeError} where `to` is neither, or an option is wrong
 */
export function redisStore(to: RedisClient | string, options: RedisStoreOptions = {}): RedisStore {
  optionNames('redisStore', options, ['prefix'])
  const { prefix = 'tollgate:oauth:' } = options
  if (typeof prefix !== 'string' || prefix.length > 64) {
    throw new TypeError(`prefix must be a string of at most 64 characters; received ${shown(prefix)}`)
  }
  checkRedis('redisStore', to)
  const redis = connect(to)
  const connected = firstConnection(redis)

  return {
    async set(key, value, ttlMs) {
      await connected
      await redis.set(prefix + key, `0:${value}`, 'PX', whole(ttlMs))
    },
    async get(key, idleMs) {
      await connected
      const kept = await (idleMs === undefined
        ? redis.get(prefix + key)
        : redis.getex(prefix + key, 'PX', whole(idleMs)))
      return kept === null ? undefined : kept.slice(kept.indexOf(':') + 1)
    },
    async claim(key, keepMs): Promise<Claim | undefined> {
      await connected
      const reply = (await run(redis, CLAIM, prefix + key, whole(keepMs, 0))) as [string, number, number] | null
      return reply ? { value: reply[0], first: reply[1] === 1, agoMs: reply[2] } : undefined
    },
    async count(key, by, windowMs): Promise<Count> {
      await connected
      const [total, endsInMs] = (await run(redis, COUNT, prefix + key, by, whole(windowMs))) as [number, number]
      return { total, endsInMs }
    },
    close: () => redis.disconnect(),
  }
}

/** A server that restarted or failed over does not know the script: the command brings it along. */
async function run(redis: RedisConnection, { text, sha }: Script, key: string, ...args: number[]): Promise<unknown> {
  try {
    return await redis.evalsha(sha, 1, key, ...args)
  } catch (err) {
    if (err instanceof Error && err.message.startsWith('NOSCRIPT')) return redis.eval(text, 1, key, ...args)
    throw err
  }
}

/** A process that has just started waits for its connection; one that has lost it fails at once. */
function firstConnection(redis: RedisConnection): Promise<void> {
  return new Promise((resolve) => {
    if (redis.status === 'ready') return resolve()
    const timer = setTimeout(resolve, FIRST_CONNECTION_MS).unref()
    redis.once('ready', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function whole(ms: number, least = 1): number {
  return Math.max(least, Math.round(ms))
}

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
