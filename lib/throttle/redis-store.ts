import { createHash, randomBytes } from 'node:crypto'
import { optionNames, shown } from '../http/options'
import { type RedisClient, checkRedis } from '../redis/own-connection'
import { syncLua } from './assets'
import type { Command, Reply } from './exchange'
import { type RedisConnection, connect } from './redis-client'
import type { ThrottleStore } from './store'

const SYNC_SHA = createHash('sha1').update(syncLua).digest('hex')
/** The canary lives as long as a heartbeat may be late. */
const CANARY_MS = 60_000

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
  return new RedisStore(connect(to), prefix)
}

class RedisStore implements ThrottleStore {
  readonly #redis: RedisConnection
  readonly #prefix: string
  readonly #process = randomBytes(6).toString('base64url')
  #batch: [args: (string | number)[], resolve: (reply: Promise<unknown>) => void][] = []
  #beats = 0
  #beatsHeard = 0
  #runIds = ''

  constructor(redis: RedisConnection, prefix: string) {
    this.#redis = redis
    this.#prefix = prefix
  }

  sync(window: string, c: Command): Promise<Reply> {
    const key = `${this.#prefix}{${c.id}}:${c.number}:${window}`
    const figures = [c.start, c.end, c.seq, c.spent, c.hold, c.running, c.want, c.unit, c.slice, c.keep, c.limit]
    for (const n of figures) if (!Number.isSafeInteger(n)) throw new RangeError(`sync: ${n} is not a whole number`)
    const args = [key, this.#process, ...figures, c.tolerance, c.leaseMs]
    return new Promise((resolve, reject) => {
      if (this.#batch.length === 0) queueMicrotask(() => this.#flush())
      this.#batch.push([args, (reply) => void reply.then((r) => resolve(replyOf(r))).catch(reject)])
    })
  }

  /** What is asked in one turn is sent in one write; on a Cluster each command finds its own way. */
  #flush(): void {
    const batch = this.#batch
    this.#batch = []
    if (batch.length === 1 || this.#redis.nodes) {
      for (const [args, resolve] of batch) resolve(this.#evaluate(args))
      return
    }
    const pipeline = this.#redis.pipeline()
    for (const [args] of batch) pipeline.evalsha(SYNC_SHA, 1, ...args)
    const all = pipeline.exec()
    batch.forEach(([args, resolve], i) => {
      resolve(all.then((replies) => settled(replies?.[i])).catch((err: unknown) => this.#loaded(err, args)))
    })
  }

  #evaluate(args: (string | number)[]): Promise<unknown> {
    return this.#redis.evalsha(SYNC_SHA, 1, ...args).catch((err: unknown) => this.#loaded(err, args))
  }

  /** A server that restarted or failed over does not know the script: the command brings it along. */
  #loaded(err: unknown, args: (string | number)[]): Promise<unknown> {
    if (err instanceof Error && err.message.startsWith('NOSCRIPT')) return this.#redis.eval(syncLua, 1, ...args)
    return Promise.reject(err instanceof Error ? err : new Error(String(err)))
  }

  async beat(): Promise<{ time: number; whole: boolean }> {
    const beat = ++this.#beats
    const nodes = this.#redis.nodes?.('master') ?? [this.#redis]
    const reports = await Promise.all(nodes.map((node) => this.#beatOne(node, beat)))
    const runIds = reports
      .map(({ runId }) => runId)
      .sort()
      .join(' ')
    const found = Math.min(...reports.map((report) => report.found))
    const whole = found >= this.#beatsHeard && (this.#runIds === '' || this.#runIds === runIds)
    this.#beatsHeard = Math.max(this.#beatsHeard, beat)
    this.#runIds = runIds
    return { time: Math.max(...reports.map(({ time }) => time)), whole }
  }

  /** A small key that this process rewrites: gone or older than it was, the server has lost writes. */
  async #beatOne(node: RedisConnection, beat: number): Promise<{ time: number; runId: string; found: number }> {
    const pipeline = node.pipeline()
    const alone = node === this.#redis // a Cluster's node takes only keys of its own slots
    pipeline.call('TIME')
    pipeline.call('INFO', 'server')
    if (alone) pipeline.call('SET', `${this.#prefix}alive:${this.#process}`, beat, 'PX', CANARY_MS, 'GET')
    const [time, info, canary] = (await pipeline.exec()) ?? []
    const [seconds, micros] = (await settled(time)) as [string, string]
    const runId = /run_id:(\w+)/.exec(String(info?.[1]))?.[1] ?? ''
    const found = alone ? Number(await settled(canary)) : Infinity
    return { time: Number(seconds) * 1e6 + Number(micros), runId, found }
  }

  onReady(listener: () => void): void {
    this.#redis.on('ready', listener)
  }

  close(): Promise<void> {
    this.#redis.disconnect()
    return Promise.resolve()
  }
}

type Settled = [Error | null, unknown]

function settled(result: Settled | undefined): Promise<unknown> {
  const [err, value] = result ?? [new Error('no reply')]
  return err ? Promise.reject(err) : Promise.resolve(value)
}

function replyOf(reply: unknown): Reply {
  const [time, othersSpent, othersRunning, granted, more, lone, found] = (reply as unknown[]).map(Number)
  if (time === undefined || Number.isNaN(time)) throw new Error('sync.lua answered nothing')
  if (found === undefined) return { time }
  return {
    time,
    written: {
      othersSpent: othersSpent as number,
      othersRunning: othersRunning as number,
      granted: granted as number,
      more: more as number,
      lone: lone === 1,
      found,
    },
  }
}
