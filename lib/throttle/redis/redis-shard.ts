import { beatLua, syncLua } from './assets'
import type { RedisConnection } from '../../redis/redis-connection'
import { script } from '../../redis/script'
import type { StoreShard } from '../sync/store'
import type { SyncCommand, SyncReply } from '../sync/sync-protocol'

const SYNC = script(syncLua)
const BEAT = script(beatLua)
/** The canary lives as long as a heartbeat may be late. */
const CANARY_MS = 60_000

/** What all keys of a process have in common. */
export interface Keys {
  /** Begins every key. */
  readonly prefix: string
  /** Names this process. */
  readonly process: string
}

/** A subject's command that is to be sent, and who waits for its reply. */
interface Asked {
  readonly key: string
  readonly figures: readonly number[]
  readonly resolve: (reply: SyncReply) => void
  readonly reject: (err: unknown) => void
}

/** One server, as a connection reaches it: a plain one, or a Cluster's master. */
export abstract class RedisShard implements StoreShard {
  readonly name: string | undefined
  protected readonly redis: RedisConnection
  protected readonly keys: Keys
  /** So many subjects go into a command: a server does nothing else meanwhile. */
  protected mostTogether = 50
  #beats = 0
  #canary = ''
  #beatsHeard = 0
  #asked: Asked[] = []
  #underWay = 0

  constructor(redis: RedisConnection, keys: Keys, name?: string) {
    this.redis = redis
    this.keys = keys
    this.name = name
  }

  sync(window: string, c: SyncCommand): Promise<SyncReply> {
    const key = `${this.keys.prefix}{${c.id}}:${c.number}:${window}`
    const { start, end, seq, spent, hold, running, want, unit, slice, keep, limit, tolerance, leaseMs } = c
    const figures = [start, end, seq, spent, hold, running, want, unit, slice, keep, limit, tolerance, leaseMs]
    for (const n of figures) if (!Number.isSafeInteger(n)) throw new RangeError(`sync: ${n} is not a whole number`)
    return new Promise((resolve, reject) => {
      const waiting = this.#asked.push({ key, figures, resolve, reject })
      if (waiting >= this.mostTogether) this.#send()
      else if (waiting === 1) this.#sendSoon()
    })
  }

  /**
   * What is asked in one turn of the event loop goes together: a command costs more than what is in it. But a turn is
   * long where many requests come at once, so the first does not wait for its end: the answer is under way meanwhile.
   */
  #sendSoon(): void {
    if (this.#underWay === 0) queueMicrotask(() => this.#send())
    else setImmediate(() => this.#send())
  }

  #send(): void {
    const asked = this.#asked
    this.#asked = []
    if (asked.length > 0) this.#ask(asked)
  }

  #ask(batch: readonly Asked[]): void {
    const figures = JSON.stringify(batch.map((one) => one.figures))
    this.#underWay++
    const keys = batch.map(({ key }) => key)
    this.redis
      .run(SYNC, keys, [this.keys.process, figures])
      .then((replies) => batch.forEach(({ resolve }, i) => resolve(replyOf((replies as unknown[][])[i]))))
      .catch((err: unknown) => {
        if (batch.length === 1 || !isCrossSlot(err)) return batch.forEach(({ reject }) => reject(err))
        this.mostTogether = 1
        for (const one of batch) this.#ask([one])
      })
      .finally(() => this.#underWay--)
  }

  async beat(): Promise<{ time: number; whole: boolean }> {
    const beat = ++this.#beats
    const key = this.canaryKey()
    const beating = this.redis.run(BEAT, [key], [beat, CANARY_MS])
    const same = this.isSame() // asked along with it: two round trips would not fit in the deadline where one does
    const [seconds, micros, found] = (await beating) as [string, string, string | null]
    if (key !== this.#canary) this.#beatsHeard = 0
    const whole = (await same) && Number(found) >= this.#beatsHeard
    this.#canary = key
    this.#beatsHeard = Math.max(this.#beatsHeard, beat)
    return { time: Number(seconds) * 1e6 + Number(micros), whole }
  }

  /** Where it is: `host:port`. */
  get place(): string {
    return this.name ?? this.redis.server
  }

  /** A key of this server that this process rewrites. */
  protected abstract canaryKey(): string

  /** Whether the connection leads to the server it led to, as far as it can be known. */
  protected abstract isSame(): Promise<boolean>
}

/** The one server of a plain connection, or the primary that the sentinels name. */
export class SingleShard extends RedisShard {
  #runId = ''

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

/** What looks like one server is several, and shares the keys out among them. */
function isCrossSlot(err: unknown): boolean {
  return err instanceof Error && err.message.startsWith('CROSSSLOT')
}

function replyOf(reply: unknown[] | undefined): SyncReply {
  const [time, othersSpent, othersRunning, granted, more, lone, found] = reply?.map(Number) ?? []
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
