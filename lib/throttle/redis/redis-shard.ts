import { beatLua, syncLua } from './assets'
import type { RedisConnection } from '../../redis/redis-connection'
import { script } from '../../redis/script'
import type { StoreShard } from '../sync/store'
import type { SyncCommand, SyncReply } from '../sync/sync-protocol'
import { ServerAdvice } from './server-advice'
import { windowKey } from './window-key'
import { packCommand } from './window-record'

const SYNC = script(syncLua)
const BEAT = script(beatLua)
/** The canary lives as long as a heartbeat may be late. */
const CANARY_MS = 60_000
/** A process that three heartbeats are missed of is counted no more. */
const LIVING_MS = 3_000

/** What all keys of a process have in common. */
export interface Keys {
  /** Begins every key. */
  readonly prefix: string
  /** Names this process. */
  readonly process: string
}

/** A subject's command that is to be sent, and who waits for its reply. */
interface PendingSync {
  readonly key: string
  readonly process: string
  readonly packed: Buffer
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
  #pending: PendingSync[] = []
  #underWay = 0

  constructor(redis: RedisConnection, keys: Keys, name?: string) {
    this.redis = redis
    this.keys = keys
    this.name = name
  }

  sync(window: string, c: SyncCommand): Promise<SyncReply> {
    const key = windowKey(this.keys.prefix, c.id, c.number, window)
    const packed = packCommand(c)
    return new Promise((resolve, reject) => {
      const waiting = this.#pending.push({ key, process: c.process, packed, resolve, reject })
      if (waiting >= this.mostTogether) this.#send()
      else if (waiting === 1) this.#sendSoon()
    })
  }

  /**
   * What comes in one turn of the event loop goes together: a command costs more than what is in it. But a turn is long
   * where many requests come at once, so the first does not wait for its end: its answer is under way meanwhile.
   */
  #sendSoon(): void {
    if (this.#underWay === 0) queueMicrotask(() => this.#send())
    else setImmediate(() => this.#send())
  }

  #send(): void {
    const pending = this.#pending
    this.#pending = []
    if (pending.length > 0) this.#run(pending)
  }

  #run(batch: readonly PendingSync[]): void {
    const args = batch.flatMap(({ process, packed }) => [process, packed])
    this.#underWay++
    const keys = batch.map(({ key }) => key)
    this.redis
      .run(SYNC, keys, args)
      .then((replies) => batch.forEach(({ key, resolve }, i) => resolve(replyOf(key, (replies as unknown[][])[i]))))
      .catch((err: unknown) => {
        if (batch.length === 1 || !isCrossSlot(err)) return batch.forEach(({ reject }) => reject(err))
        this.mostTogether = 1
        for (const one of batch) this.#run([one])
      })
      .finally(() => this.#underWay--)
  }

  async beat(): Promise<{ time: number; whole: boolean; processes: number }> {
    const beat = ++this.#beats
    const tag = this.beatTag()
    const key = `${this.keys.prefix}alive:{${tag}}:${this.keys.process}`
    const living = `${this.keys.prefix}living:{${tag}}`
    const beating = this.redis.run(BEAT, [key, living], [this.keys.process, beat, CANARY_MS, LIVING_MS])
    const same = this.isSame() // asked along with it: two round trips would not fit in the deadline where one does
    const [seconds, micros, processes, found] = (await beating) as [string, string, number, string | null]
    if (key !== this.#canary) this.#beatsHeard = 0
    const whole = (await same) && Number(found) >= this.#beatsHeard
    this.#canary = key
    this.#beatsHeard = Math.max(this.#beatsHeard, beat)
    return { time: Number(seconds) * 1e6 + Number(micros), whole, processes }
  }

  /** Where it is: `host:port`. */
  get place(): string {
    return this.name ?? this.redis.server
  }

  /** In the keys of a heartbeat, so that this server keeps them all. */
  protected abstract beatTag(): string

  /** Whether the connection leads to the server it led to, and that has evicted nothing, as far as it can be known. */
  protected abstract isSame(): Promise<boolean>
}

/** The one server of a plain connection, or the primary that the sentinels name. */
export class SingleShard extends RedisShard {
  #runId = ''
  #evicted = 0
  #longestUs = 0
  readonly #advice: ServerAdvice | undefined

  /** @param warns says where the server may lose windows */
  constructor(redis: RedisConnection, keys: Keys, warns: boolean) {
    super(redis, keys)
    this.#advice = warns ? new ServerAdvice(redis) : undefined
  }

  override sync(window: string, command: SyncCommand): Promise<SyncReply> {
    this.#longestUs = Math.max(this.#longestUs, command.ends - command.starts)
    return super.sync(window, command)
  }

  protected beatTag(): string {
    return 'beat' // behind one address there may be several servers
  }

  /**
   * Behind a proxy another server may answer though the connection stayed; and one that evicts keys may have thrown
   * windows away though it kept the canary. A user may be denied INFO.
   */
  protected async isSame(): Promise<boolean> {
    const [server, stats] = await Promise.all(
      ['server', 'stats'].map((section) => this.redis.call('INFO', section).catch(() => '')),
    )
    const runId = /run_id:(\w+)/.exec(String(server))?.[1] ?? ''
    if (runId !== '') void this.#advice?.look(this.#longestUs)
    const evicted = Number(/evicted_keys:(\d+)/.exec(String(stats))?.[1] ?? 0)
    const same = this.#runId === '' || (this.#runId === runId && evicted <= this.#evicted)
    this.#runId = runId
    this.#evicted = evicted
    return same
  }
}

/** What looks like one server is several, and shares the keys out among them. */
function isCrossSlot(err: unknown): boolean {
  return err instanceof Error && err.message.startsWith('CROSSSLOT')
}

function replyOf(key: string, reply: unknown[] | undefined): SyncReply {
  const [time, ...figures] = reply ?? []
  if (typeof time !== 'number') throw new Error('sync.lua answered nothing')
  if (figures.length === 0) return { time }
  if (figures.length === 1) return { time, unreadable: `${key}: ${String(figures[0])}` }
  const [othersSpent, othersRunning, othersHeld, granted, more, lone, found, incarnation, ended] = figures as Figures
  return {
    time,
    written: {
      ...{ othersSpent, othersRunning, othersHeld, granted, more, lone: lone === 1, found },
      ...{ incarnation, ended },
    },
  }
}

type Figures = [number, number, number, number, number, number, number, number, number]
