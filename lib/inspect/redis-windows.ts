import type { Cluster, Redis } from 'ioredis'
import { ioredis } from '../redis/ioredis'
import { keyPrefixOf } from '../redis/key-prefix'
import type { RedisClient } from '../redis/redis-client'
import { HourRecord } from '../advisor/hourly'
import type { OverloadMessage } from '../throttle/events'
import { parseOverload } from '../throttle/redis/overload-record'
import { windowKeyPattern } from '../throttle/redis/record'
import { parseUsageKey, usageKeyPattern } from '../throttle/redis/redis-usage'
import { type PublishedWindow, parsePublishedWindow } from './published-window'

/** Keys looked at by one SCAN: small, so that no request of the throttle waits behind it. */
const AT_ONCE = 200
/** Redis is taken not to answer after so long. */
const PATIENCE_MS = 3_000
const ONCE = {
  ...{ lazyConnect: true, maxRetriesPerRequest: 0, connectTimeout: PATIENCE_MS, commandTimeout: PATIENCE_MS },
  enableReadyCheck: false, // by INFO, which a hosted server may not have
}

/** What processes have published. */
export interface Published {
  /** Who has spent most first. */
  readonly windows: readonly PublishedWindow[]
  /** Of each process that sheds load. */
  readonly overloads: readonly OverloadMessage[]
}

/** Reads the windows that are open in a Redis or a Cluster, and writes nothing. */
export interface RedisWindows {
  /** @param most ends the reading of a server once it has brought so many windows. Default: none */
  read(most?: number): Promise<Published>
  /** What processes counted for `advise()`, by the window's name, of windows that end in this hour since 1970 or later. */
  usage(first: number): Promise<Map<string, HourRecord>>
  close(): void
}

/**
 * Connects to one server, or to the whole Cluster that the server belongs to, or to where a client is connected.
 *
 * @param prefix that of redisStore()
 * @throws {Error} where it does not answer or refuses; its message names host and port, never a password
 */
export async function redisWindows(to: RedisClient | string, prefix: string): Promise<RedisWindows> {
  const place = typeof to === 'string' ? ` at ${new URL(to).host}` : ''
  let why: Error | undefined
  const heard = (err: Error) => (why = err)
  const said = (err: unknown) => {
    const { message } = why ?? (err as Error)
    return new Error(`Redis${place} does not answer as it should: ${message}`)
  }
  const opened: (Redis | Cluster)[] = []
  const open = async <T extends Redis | Cluster>(one: T): Promise<T> => {
    opened.push(one.on('error', heard))
    await one.connect()
    return one
  }
  const close = () => opened.forEach((one) => one.disconnect())
  let masters: () => Redis[]
  let fullPrefix = prefix
  try {
    const first = await open(connectionOf(to))
    fullPrefix = keyPrefixOf(first) + prefix
    const cluster = first.isCluster ? (first as Cluster) : await clusterOf(first as Redis)
    if (cluster && cluster !== first) await open(cluster)
    masters = cluster ? () => cluster.nodes('master') : () => [first as Redis]
  } catch (err) {
    close()
    throw said(err)
  }
  return {
    async read(most = Infinity) {
      try {
        const overloads = new Map<string, OverloadMessage>()
        const found = await Promise.all(masters().map((node) => windowsOf(node, fullPrefix, most, overloads)))
        const windows = found.flat().sort((a, b) => b.spentMs - a.spentMs || (a.subject < b.subject ? -1 : 1))
        return { windows, overloads: [...overloads.values()] }
      } catch (err) {
        throw said(err)
      }
    },
    async usage(first) {
      const sums = new Map<string, HourRecord>()
      try {
        for (const node of masters()) await addUsageOf(node, prefix, first, sums)
        return sums
      } catch (err) {
        throw said(err)
      }
    },
    close,
  }
}

/** A connection of our own that gives up at once: what is looked at is there now, or it is said that it is not. */
function connectionOf(to: RedisClient | string): Redis | Cluster {
  if (typeof to === 'string') return new (ioredis().Redis)(to, { ...ONCE, retryStrategy: () => null })
  const duplicate = to.duplicate.bind(to) as (...args: unknown[]) => Redis | Cluster
  if (to.isCluster) return duplicate([], { redisOptions: ONCE, lazyConnect: true, clusterRetryStrategy: () => null })
  return duplicate({ ...ONCE, retryStrategy: () => null, sentinelRetryStrategy: () => null })
}

/** The Cluster that a server belongs to, not connected yet. */
async function clusterOf(redis: Redis): Promise<Cluster | undefined> {
  const cluster = await redis.info('cluster').catch(refusedInfo)
  if (!/cluster_enabled:1/.test(cluster)) return undefined
  const { host = 'localhost', port = 6379, username, password, tls } = redis.options
  const redisOptions = { ...ONCE, ...(username && { username }), ...(password && { password }), ...(tls && { tls }) }
  return new (ioredis().Cluster)([{ host, port }], {
    redisOptions,
    lazyConnect: true,
    clusterRetryStrategy: () => null,
  })
}

/** A server that refuses INFO is read by itself; one that does not answer is not read. */
function refusedInfo(err: Error): string {
  if (err.name === 'ReplyError') return ''
  throw err
}

/** @param overloads takes what is found of processes that shed load: they say so to each master */
async function windowsOf(
  node: Redis,
  prefix: string,
  most: number,
  overloads: Map<string, OverloadMessage>,
): Promise<PublishedWindow[]> {
  node.options.keyPrefix = '' // SCAN says and takes whole keys: so do the other commands
  const match = windowKeyPattern(prefix)
  const found = new Map<string, PublishedWindow>() // SCAN may name a key twice
  const [seconds, micros] = (await node.time()).map(Number) as [number, number] // its own: windows end by it
  const now = seconds * 1_000_000 + micros
  let cursor = '0'
  do {
    const [next, keys] = await node.scan(cursor, 'MATCH', match, 'COUNT', AT_ONCE, 'TYPE', 'hash')
    cursor = next
    const pipeline = node.pipeline()
    for (const key of keys) pipeline.hgetallBuffer(key)
    const replies = (await pipeline.exec()) ?? []
    keys.forEach((key, i) => {
      const [err, fields] = replies[i] ?? [new Error('no reply')]
      if (err) throw err
      const window = parsePublishedWindow(prefix, key, fields as Record<string, Buffer>, now)
      const said = window ? undefined : parseOverload(prefix, key, fields as Record<string, Buffer>, now)
      for (const [process, overload] of said ?? []) overloads.set(process, overload)
      if (window) found.set(key, window)
    })
  } while (cursor !== '0' && found.size < most)
  return [...found.values()]
}

async function addUsageOf(node: Redis, prefix: string, first: number, sums: Map<string, HourRecord>): Promise<void> {
  const seen = new Set<string>() // SCAN may name a key twice
  let cursor = '0'
  do {
    const [next, keys] = await node.scan(cursor, 'MATCH', usageKeyPattern(prefix), 'COUNT', AT_ONCE, 'TYPE', 'hash')
    cursor = next
    for (const key of keys) {
      const named = parseUsageKey(prefix, key)
      if (named === undefined || named.hour < first || seen.has(key)) continue
      seen.add(key)
      const sum = sums.get(named.policy) ?? new HourRecord()
      sum.addFields(await node.hgetall(key))
      sums.set(named.policy, sum)
    }
  } while (cursor !== '0')
}
