import type { Cluster, Redis } from 'ioredis'
import { ioredis } from '../redis/ioredis'
import { keyPrefixOf } from '../redis/key-prefix'
import { type NativeRedis, serverOf } from '../redis/open-redis'
import type { RedisClient } from '../redis/redis-client'
import { codeOf, failureOf } from '../redis/redis-failure'
import { HourRecord } from '../advisor/hourly'
import type { OverloadMessage } from '../throttle/events'
import type { RefusalsMessage } from '../throttle/refusals'
import { FIRST_TAG, LIVING_MS, ONLY_TAG, livingKey, windowKey, windowKeyPattern } from '../throttle/redis/record'
import { parseRefusals } from '../throttle/redis/refusals-record'
import { parseUsageKey, usageKeyPattern } from '../throttle/redis/redis-usage'
import { type PublishedWindow, parsePublishedWindow } from './published-window'
import { knownUrl } from '../http/url'

/** Windows that a look at the top spenders of a server brings, at most. */
const TOP = 1_000
/** Windows that it reads to find others, and calls of SCAN: a server may have many other keys. */
const READ_AT_A_LOOK = 5_000
const SCANS_AT_A_LOOK = 250
/** Keys looked at by one SCAN: small, so that no request of the throttle waits behind it. */
const AT_ONCE = 200
/** Redis counts as away without an answer for this long. */
const PATIENCE_MS = 3_000
const ONCE = {
  lazyConnect: true,
  maxRetriesPerRequest: 0,
  connectTimeout: PATIENCE_MS,
  commandTimeout: PATIENCE_MS,
  enableReadyCheck: false, // by INFO, which a hosted server may not have
}

/** A connection that begins without HELLO. */
const RESP2 = { protocol: 2, replyMapping: 'legacy' } as const

/** What processes have published. */
export interface Published {
  /** Who has spent most first. */
  readonly windows: readonly PublishedWindow[]
  /** Requests that all processes refused in the last minute, by reason. */
  readonly refused: Readonly<Record<string, number>>
  /** Of each process that sheds load. */
  readonly overloads: readonly OverloadMessage[]
  /** How many live; undefined where the user may not count them (`+zcount`). */
  readonly processes?: number | undefined
  /** Why processes that run cannot report, where none lives and the server says so: `Redis at … has no memory left`. */
  readonly trouble?: string | undefined
}

/** Reads the windows that are open in a Redis or a Cluster, and writes nothing. */
export interface RedisWindows {
  /** All of them. */
  read(): Promise<Published>
  /**
   * Those of each server who have spent most, up to 1,000; who has spent most first. To find them it reads on where the
   * last call ended, up to 5,000 windows a call: of more than that it knows the top after several calls.
   *
   * @param names of the windows that count
   */
  top(names: ReadonlySet<string>): Promise<TopSpenders>
  /** Windows of certain subjects, whatever they have spent. */
  of(subjects: readonly string[], policies: readonly { name: string; windowMs: number }[]): Promise<PublishedWindow[]>
  /** What processes counted for `advise()`, by the window's name, of windows that end in this hour since 1970 or later. */
  usage(first: number): Promise<Map<string, HourRecord>>
  close(): void
}

/** Who has spent most. */
export interface TopSpenders {
  readonly windows: PublishedWindow[]
  /** There are others, or may be. */
  readonly more: boolean
}

/**
 * Connects to one server, or to the whole Cluster that the server belongs to, or to where a client is connected.
 *
 * @param prefix that of redisStore()
 * @throws {Error} where it does not answer or refuses; its message names host and port, never a password
 */
export async function redisWindows(to: RedisClient | string, prefix: string): Promise<RedisWindows> {
  const server = typeof to === 'string' ? knownUrl(to).host : serverOf(to as unknown as NativeRedis)
  const opened: (Redis | Cluster)[] = []
  const open = async <T extends Redis | Cluster>(one: T): Promise<T> => {
    opened.push(one)
    let why: unknown
    one.on('error', (err) => void (why = err))
    await one.connect().catch((err: unknown) => {
      throw why ?? err
    })
    return one
  }
  const usesTls = () => opened.some(({ options }) => (options as { tls?: object }).tls !== undefined)
  const explained = async <T>(reading: () => Promise<T>): Promise<T> => {
    try {
      return await reading()
    } catch (err) {
      throw failureOf(server, err, usesTls())
    }
  }
  const close = () => opened.forEach((one) => one.disconnect())
  let masters: () => Redis[] = () => []
  let all: Redis | Cluster
  const searches = new WeakMap<Redis, Search>()
  let fullPrefix = prefix
  /** What it says to HELLO, with which the processes' connections begin. */
  let refusedHello: unknown
  const connect = async () => {
    const first = await open(connectionOf(to)).catch((err: unknown) => {
      if (codeOf(err) !== 'REFUSED') throw err
      refusedHello = err
      return open(connectionOf(to, RESP2))
    })
    fullPrefix = keyPrefixOf(first) + prefix
    const cluster = first.isCluster ? (first as Cluster) : await clusterOf(first as Redis)
    if (cluster && cluster !== first) await open(cluster)
    masters = cluster ? () => cluster.nodes('master') : () => [first as Redis]
    all = cluster ?? first
    all.options.keyPrefix = '' // SCAN says and takes whole keys: so do the other commands
  }
  await explained(connect).catch((err: unknown) => {
    close()
    throw err
  })

  async function read(): Promise<Published> {
    const byProcess: RefusalsByProcess = new Map()
    const found = await Promise.all(masters().map((node) => windowsOf(node, fullPrefix, byProcess)))
    const refusals = [...byProcess.values()]
    const windows = withRefusals(found.flat(), refusals).sort(bySpent)
    const overloads = refusals.flatMap(({ overload }) => overload ?? [])
    const processes = await livingIn(all, fullPrefix)
    const trouble = processes === 0 ? await troubleOfProcesses() : undefined
    return { windows, refused: byReason(refusals), overloads, processes, trouble }
  }

  async function troubleOfProcesses(): Promise<string | undefined> {
    const memory = await Promise.all(masters().map((node) => node.info('memory').catch(refusedInfo)))
    const cause = refusedHello ?? (memory.some(isFull) ? new Error('OOM') : undefined)
    return cause && failureOf(server, cause, usesTls()).message
  }

  async function top(names: ReadonlySet<string>): Promise<TopSpenders> {
    const found = await Promise.all(
      masters().map((node) => {
        const search = searches.get(node) ?? { cursor: '0', known: [] }
        searches.set(node, search)
        return topOf(node, fullPrefix, names, search)
      }),
    )
    const windows = found.flatMap(({ windows }) => windows).sort(bySpent)
    return { windows, more: found.some(({ more }) => more) }
  }

  async function of(subjects: readonly string[], policies: readonly { name: string; windowMs: number }[]) {
    const keys = subjects.flatMap((id) =>
      policies.map(({ name, windowMs }) => windowKey(fullPrefix, id, windowMs * 1_000, name)),
    )
    if (keys.length === 0) return []
    const now = await timeOf(all)
    const hashes = await Promise.all(keys.map((key) => all.hgetallBuffer(key)))
    return hashes.flatMap((fields, i) => parsePublishedWindow(fullPrefix, keys[i] as string, fields, now) ?? [])
  }

  async function usage(first: number): Promise<Map<string, HourRecord>> {
    const sums = new Map<string, HourRecord>()
    for (const node of masters()) await addUsageOf(node, prefix, first, sums)
    return sums
  }

  return {
    read: () => explained(read),
    top: (names) => explained(() => top(names)),
    of: (subjects, policies) => explained(() => of(subjects, policies)),
    usage: (first) => explained(() => usage(first)),
    close,
  }
}

function byReason(refusals: readonly RefusalsMessage[]): Record<string, number> {
  const sums = new Map<string, number>()
  for (const { reasons } of refusals)
    for (const [reason, count] of Object.entries(reasons)) sums.set(reason, (sums.get(reason) ?? 0) + count)
  return Object.fromEntries(sums)
}

/** Each window with how long its subject has been refused, by the process that refused first. */
function withRefusals(windows: readonly PublishedWindow[], refusals: readonly RefusalsMessage[]): PublishedWindow[] {
  const longest = new Map<string, number>()
  for (const { subject, window, sinceMs } of refusals.flatMap(({ subjects }) => subjects)) {
    const key = `${subject} ${window}`
    longest.set(key, Math.max(sinceMs, longest.get(key) ?? 0))
  }
  return windows.map((each) => ({ ...each, refusedForMs: longest.get(`${each.subject} ${each.window}`) ?? null }))
}

function bySpent(a: PublishedWindow, b: PublishedWindow): number {
  return b.spentMs - a.spentMs || (a.subject < b.subject ? -1 : 1)
}

/** A connection of our own that does not reconnect: a viewer hears at once that Redis is away. */
function connectionOf(to: RedisClient | string, protocol?: typeof RESP2): Redis | Cluster {
  const once = { ...ONCE, ...protocol }
  if (typeof to === 'string') return new (ioredis().Redis)(to, { ...once, retryStrategy: () => null })
  const duplicate = to.duplicate.bind(to) as (...args: unknown[]) => Redis | Cluster
  if (to.isCluster) return duplicate([], { redisOptions: once, lazyConnect: true, clusterRetryStrategy: () => null })
  return duplicate({ ...once, retryStrategy: () => null, sentinelRetryStrategy: () => null })
}

/** The Cluster that a server belongs to, not connected yet. */
async function clusterOf(redis: Redis): Promise<Cluster | undefined> {
  const cluster = await redis.info('cluster').catch(refusedInfo)
  if (!/cluster_enabled:1/.test(cluster)) return undefined
  const { host = 'localhost', port = 6379, username, password, tls, protocol } = redis.options
  const redisOptions = {
    ...ONCE,
    ...(protocol === 2 && RESP2),
    ...(username && { username }),
    ...(password && { password }),
    ...(tls && { tls }),
  }
  return new (ioredis().Cluster)([{ host, port }], {
    redisOptions,
    lazyConnect: true,
    clusterRetryStrategy: () => null,
  })
}

/** A server that refuses INFO, or a count, is read without it; one that does not answer is not read. */
function refusedInfo(err: Error): string {
  if (err.name === 'ReplyError') return ''
  throw err
}

/** Whether a server has reached its `maxmemory`, by its INFO: it may refuse writes then. */
function isFull(info: string): boolean {
  const [used = 0, most = 0] = ['used_memory', 'maxmemory'].map((name) =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]),
  )
  return most > 0 && used >= most
}

/** By the server's own clock, in µs since 1970: windows end by it. */
async function timeOf(node: Redis | Cluster): Promise<number> {
  const [seconds, micros] = (await node.time()).map(Number) as [number, number]
  return seconds * 1_000_000 + micros
}

/** Each process sends heartbeats to each server, so one server's count is that of all. */
async function livingIn(redis: Redis | Cluster, prefix: string): Promise<number | undefined> {
  const since = Math.floor((await timeOf(redis)) / 1_000) - LIVING_MS
  try {
    return await redis.zcount(livingKey(prefix, redis.isCluster ? FIRST_TAG : ONLY_TAG), since, '+inf')
  } catch (err) {
    refusedInfo(err as Error)
    return undefined
  }
}

/** Keys may be named twice by SCAN: what was found is kept by key. */
type Found = Map<string, PublishedWindow>

/** Refusals by the process's name. Each process reports them to each master. */
type RefusalsByProcess = Map<string, RefusalsMessage>

async function windowsOf(node: Redis, prefix: string, byProcess: RefusalsByProcess): Promise<PublishedWindow[]> {
  const now = await timeOf(node)
  const found: Found = new Map()
  let cursor = '0'
  do cursor = await scan(node, prefix, cursor, now, found, byProcess)
  while (cursor !== '0')
  return [...found.values()]
}

/** How far the search for the top spenders of a server has come. */
interface Search {
  cursor: string
  /** Keys of those found so far. */
  known: readonly string[]
}

async function topOf(node: Redis, prefix: string, names: ReadonlySet<string>, search: Search): Promise<TopSpenders> {
  const now = await timeOf(node)
  const found: Found = new Map()
  let { cursor } = search
  const isFromTheStart = cursor === '0'
  let scans = 0
  do cursor = await scan(node, prefix, cursor, now, found)
  while (cursor !== '0' && found.size < READ_AT_A_LOOK && ++scans < SCANS_AT_A_LOOK)
  search.cursor = cursor
  const isAll = isFromTheStart && cursor === '0'
  const known = search.known.filter((key) => !found.has(key))
  const hashes = await hashesOf(node, known)
  for (const [i, key] of known.entries()) {
    const window = parsePublishedWindow(prefix, key, hashes[i] ?? {}, now)
    if (window) found.set(key, window)
  }
  const ours = [...found].filter(([, { window }]) => names.has(window)).sort(([, a], [, b]) => bySpent(a, b))
  const top = ours.slice(0, TOP)
  search.known = top.map(([key]) => key)
  return { windows: top.map(([, window]) => window), more: !isAll || ours.length > TOP }
}

/** Returns where the next call goes on; `0`: at the start. */
async function scan(
  node: Redis,
  prefix: string,
  cursor: string,
  now: number,
  found: Found,
  byProcess?: RefusalsByProcess,
): Promise<string> {
  node.options.keyPrefix = '' // a node of a Cluster has that of the Cluster's client
  const match = windowKeyPattern(prefix)
  const [next, keys] = await node.scan(cursor, 'MATCH', match, 'COUNT', AT_ONCE, 'TYPE', 'hash')
  const hashes = await hashesOf(node, keys)
  for (const [i, key] of keys.entries()) {
    const fields = hashes[i] ?? {}
    const window = parsePublishedWindow(prefix, key, fields, now)
    if (window) found.set(key, window)
    else
      for (const [process, refusals] of parseRefusals(prefix, key, fields, now) ?? []) byProcess?.set(process, refusals)
  }
  return next
}

async function hashesOf(node: Redis, keys: readonly string[]): Promise<Record<string, Buffer>[]> {
  if (keys.length === 0) return []
  const pipeline = node.pipeline()
  for (const key of keys) pipeline.hgetallBuffer(key)
  const replies = (await pipeline.exec()) ?? []
  return keys.map((_key, i) => {
    const [err, fields] = replies[i] ?? [new Error('no reply')]
    if (err) throw err
    return fields as Record<string, Buffer>
  })
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
