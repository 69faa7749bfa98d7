import { beatLua, syncLua } from './assets'
import type { RedisConnection } from '../../redis/redis-connection'
import { script } from '../../redis/script'
import type { StoreShard } from '../sync/store'
import type { SyncCommand, SyncReply } from '../sync/sync-protocol'
import type { ServerInfo } from './server-advice'
import { ServerWatch } from './server-watch'
import { faultIn, packCommands, readReplies, windowKey } from './window-record'

const SYNC = script(syncLua)
const BEAT = script(beatLua)
/** The canary lives as long as a heartbeat may be late. */
const CANARY_MS = 60_000
/** So many subjects whose requests wait do not wait for the end of a turn. */
const ASKING_TOGETHER = 16
/** While so many commands are under way, what comes goes together in the next: a command costs more than what is in it. */
const UNDER_WAY = 2
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

/** Commands that go together, and their replies in the same order. */
interface Batch {
  readonly keys: string[]
  readonly commands: SyncCommand[]
  readonly replies: Promise<Replies>
  readonly send: () => void
  /** So many requests, at least, wait for it. */
  asking: number
  /** Its turn is over: it goes once fewer commands are under way. */
  isDue: boolean
}

/** A promise stands for one that had to be asked for by itself. */
type Replies = readonly (SyncReply | Promise<SyncReply>)[]

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
  /** The one that is still filled. */
  #batch: Batch | undefined
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
    const fault = faultIn(command) // found here, so that those beside it are sent all the same
    if (fault) return Promise.reject(fault)
    this.#longestUs = Math.max(this.#longestUs, command.ends - command.starts)
    const batch = (this.#batch ??= this.#open())
    const { keys, commands, replies } = batch
    const place = keys.push(windowKey(this.keys.prefix, command.id, command.number, window)) - 1
    commands.push(command)
    if (command.isAwaited) batch.asking++
    const isAskedEnough = batch.asking >= ASKING_TOGETHER && this.#underWay < UNDER_WAY
    if (isAskedEnough || keys.length >= this.mostTogether) batch.send()
    return replies.then((all) => all[place] as SyncReply)
  }

  /**
   * What comes in one turn of the event loop goes together. But a turn is long where many requests come at once: then the
   * server answers the first of them while this process reads the others.
   */
  #open(): Batch {
    const keys: string[] = []
    const commands: SyncCommand[] = []
    let send = (): void => undefined
    const isFilled = new Promise<void>((resolve) => {
      send = () => {
        this.#batch = undefined
        resolve()
      }
    })
    const replies = isFilled.then(() => this.#run(keys, commands))
    const batch = { keys, commands, replies, send, asking: 0, isDue: false }
    setImmediate(() => {
      batch.isDue = true
      this.#sendDue()
    })
    return batch
  }

  #sendDue(): void {
    if (this.#batch?.isDue && this.#underWay < UNDER_WAY) this.#batch.send()
  }

  async #run(keys: readonly string[], commands: readonly SyncCommand[]): Promise<Replies> {
    this.#underWay++
    try {
      return readReplies(keys, await this.redis.runForBytes(SYNC, keys, [packCommands(commands)]))
    } catch (err) {
      if (keys.length === 1 || !isCrossSlot(err)) throw err
      this.mostTogether = 1
      return keys.map((key, i) => this.#run([key], commands.slice(i, i + 1)).then(([reply]) => reply as SyncReply))
    } finally {
      this.#underWay--
      this.#sendDue()
    }
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
