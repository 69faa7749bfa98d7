import { createHash } from 'node:crypto'
import { beatLua, syncLua } from './assets'
import type { Command, Reply } from './exchange'
import type { RedisConnection } from './redis-client'
import type { StoreShard } from './store'

const sha = (script: string) => createHash('sha1').update(script).digest('hex')
const SYNC_SHA = sha(syncLua)
const BEAT_SHA = sha(beatLua)
/** What a Redis user has to be allowed; INFO, too, where it can be. */
const RIGHTS = '+evalsha +eval +time +hgetall +hset +pexpireat'
/** The canary lives as long as a heartbeat may be late. */
const CANARY_MS = 60_000

/** What all keys of a process have in common. */
export interface Keys {
  /** Begins every key. */
  readonly prefix: string
  /** Names this process. */
  readonly process: string
}

/** One server, as a connection reaches it: a plain one, or a Cluster's master. */
export abstract class RedisShard implements StoreShard {
  readonly name: string | undefined
  protected readonly redis: RedisConnection
  protected readonly keys: Keys
  #beats = 0
  #canary = ''
  #beatsHeard = 0

  constructor(redis: RedisConnection, keys: Keys, name?: string) {
    this.redis = redis
    this.keys = keys
    this.name = name
  }

  sync(window: string, c: Command): Promise<Reply> {
    const key = `${this.keys.prefix}{${c.id}}:${c.number}:${window}`
    const figures = [c.start, c.end, c.seq, c.spent, c.hold, c.running, c.want, c.unit, c.slice, c.keep, c.limit]
    for (const n of figures) if (!Number.isSafeInteger(n)) throw new RangeError(`sync: ${n} is not a whole number`)
    return this.evaluate([key, this.keys.process, ...figures, c.tolerance, c.leaseMs]).then(replyOf)
  }

  async beat(): Promise<{ time: number; whole: boolean }> {
    const beat = ++this.#beats
    const key = this.canaryKey()
    const args = [key, beat, CANARY_MS]
    const beating = this.redis.evalsha(BEAT_SHA, 1, ...args).catch((err: unknown) => this.loaded(err, args, beatLua))
    const same = this.isSame() // asked along with it: two round trips would not fit in the deadline where one does
    const [seconds, micros, found] = (await beating) as [string, string, string | null]
    if (key !== this.#canary) this.#beatsHeard = 0
    const whole = (await same) && Number(found) >= this.#beatsHeard
    this.#canary = key
    this.#beatsHeard = Math.max(this.#beatsHeard, beat)
    return { time: Number(seconds) * 1e6 + Number(micros), whole }
  }

  /** A key of this server that this process rewrites. */
  protected abstract canaryKey(): string

  /** Whether the connection leads to the server it led to, as far as it can be known. */
  protected abstract isSame(): Promise<boolean>

  /** Runs the script. */
  protected evaluate(args: (string | number)[]): Promise<unknown> {
    return this.redis.evalsha(SYNC_SHA, 1, ...args).catch((err: unknown) => this.loaded(err, args))
  }

  /** A server that restarted or failed over does not know the script: the command brings it along. */
  protected loaded(err: unknown, args: (string | number)[], script = syncLua): Promise<unknown> {
    const denied = (why: unknown) => Promise.reject(this.#denied(why))
    if (err instanceof Error && err.message.startsWith('NOSCRIPT')) {
      return this.redis.eval(script, 1, ...args).catch(denied)
    }
    return denied(err)
  }

  /** Says what to do where the user lacks a right: Redis itself does not say which. */
  #denied(err: unknown): Error {
    if (!(err instanceof Error)) return new Error(String(err))
    if (!/NOPERM|ACL failure|can't run this command/.test(err.message)) return err
    return new Error(`allow the Redis user ~${this.keys.prefix}* ${RIGHTS}: ${err.message}`, { cause: err })
  }
}

/** The one server of a plain connection, or the primary that the sentinels name. */
export class SingleShard extends RedisShard {
  #batch: [args: (string | number)[], resolve: (reply: Promise<unknown>) => void][] = []
  #runId = ''

  /** What is asked in one turn is sent in one write. */
  protected override evaluate(args: (string | number)[]): Promise<unknown> {
    return new Promise((resolve) => {
      if (this.#batch.length === 0) queueMicrotask(() => this.#flush())
      this.#batch.push([args, resolve])
    })
  }

  #flush(): void {
    const batch = this.#batch
    this.#batch = []
    if (batch.length === 1) {
      for (const [args, resolve] of batch) resolve(super.evaluate(args))
      return
    }
    const pipeline = this.redis.pipeline()
    for (const [args] of batch) pipeline.evalsha(SYNC_SHA, 1, ...args)
    const all = pipeline.exec()
    batch.forEach(([args, resolve], i) => {
      resolve(all.then((replies) => settled(replies?.[i])).catch((err: unknown) => this.loaded(err, args)))
    })
  }

  protected canaryKey(): string {
    return `${this.keys.prefix}alive:${this.keys.process}`
  }

  /** Behind a proxy another server may answer though the connection stayed. A user may be denied INFO. */
  protected async isSame(): Promise<boolean> {
    const info = await this.redis.call('INFO', 'server').catch(() => '')
    const runId = /run_id:(\w+)/.exec(String(info))?.[1] ?? ''
    const same = this.#runId === '' || this.#runId === runId
    this.#runId = runId
    return same
  }
}

function settled(result: [Error | null, unknown] | undefined): Promise<unknown> {
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
