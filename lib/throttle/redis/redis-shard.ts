import { beatLua, syncLua } from './assets'
import type { RedisConnection } from '../../redis/redis-connection'
import { script } from '../../redis/script'
import type { StoreShard } from '../sync/store'
import type { SyncCommand, SyncReply } from '../sync/sync-protocol'
import type { ServerInfo } from './server-advice'
import { ServerWatch } from './server-watch'
import { checkCommand, packCommands, readReplies, windowKey } from './window-record'

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

/** What makes a shard. */
export interface ShardOptions {
  readonly redis: RedisConnection
  readonly keys: Keys
  /** The server asked by itself, wherever the connection leads other commands. */
  readonly info: ServerInfo
  /** Warns where the server may lose windows. */
  readonly warns: boolean
  /** Where there are several servers: `host:port`. */
  readonly name?: string | undefined
}

/** A subject's command that is to be sent, and who waits for its reply. */
interface PendingSync {
  readonly key: string
  readonly command: SyncCommand
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
  #longestUs = 0
  readonly #watch: ServerWatch

  constructor({ redis, keys, info, warns, name }: ShardOptions) {
    this.redis = redis
    this.keys = keys
    this.name = name
    this.#watch = new ServerWatch(info, warns)
  }

  sync(window: string, command: SyncCommand): Promise<SyncReply> {
    const key = windowKey(this.keys.prefix, command.id, command.number, window)
    this.#longestUs = Math.max(this.#longestUs, command.ends - command.starts)
    return new Promise((resolve, reject) => {
      checkCommand(command) // here, so that those beside it are sent all the same
      const waiting = this.#pending.push({ key, command, resolve, reject })
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
    this.#underWay++
    const keys = batch.map(({ key }) => key)
    this.redis
      .runForBytes(SYNC, keys, [packCommands(batch.map(({ command }) => command))])
      .then((reply) => {
        const replies = readReplies(keys, reply)
        batch.forEach(({ resolve }, i) => resolve(replies[i] as SyncReply))
      })
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
    // Asked along with it: two round trips would not fit in the deadline where one does.
    const same = this.#watch.isSame(this.#longestUs)
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
}

/** The one server of a plain connection, or the primary that the sentinels name. */
export class SingleShard extends RedisShard {
  readonly isOnly = true

  protected beatTag(): string {
    return 'beat' // behind one address there may be several servers
  }
}

/** What looks like one server is several, and shares the keys out among them. */
function isCrossSlot(err: unknown): boolean {
  return err instanceof Error && err.message.startsWith('CROSSSLOT')
}
