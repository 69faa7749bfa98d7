import type { StoreShard, StoreWatcher, ThrottleStore } from '../../../../lib/throttle/sync/store'
import type { SyncCommand, SyncReply } from '../../../../lib/throttle/sync/sync-protocol'
import { send } from './network'
import type { SimulatedProcess, World } from './simulated-process'
import type { Beat } from './simulated-redis'

/** Changes commands and replies on their way: a process that works otherwise. */
export interface StoreChanges {
  readonly command?: (c: SyncCommand) => SyncCommand
  readonly reply?: (r: SyncReply) => SyncReply
}

/** A process's connection to the simulated Redis, as redisStore() has one. */
export class SimulatedStore implements ThrottleStore, StoreShard {
  readonly name = undefined
  /** Names the process in its fields; known from its first command on. */
  field = ''
  /** What ended processes have charged to each window, as the process heard last. */
  readonly endedKnown = new Map<string, { seq: number; ended: number }>()
  /** All that it sent, with when it was answered. */
  readonly sent: { readonly sentUs: number; answeredUs: number }[] = []
  /** When it was answered for the first time. */
  heardFirstUs = Infinity
  readonly #process: SimulatedProcess
  readonly #world: World
  /** A client that repeats a heartbeat hears the second one's answer. */
  readonly #once: World
  #watcher: StoreWatcher | undefined
  #beats = 0
  #beatsHeard = 0
  #runId = 0
  #evicted = 0

  constructor(process: SimulatedProcess, world: World) {
    this.#process = process
    this.#world = world
    this.#once = { ...world, network: { ...world.network, duplicates: 0 } }
  }

  shardOf(): StoreShard {
    return this
  }

  watch(watcher: StoreWatcher): void {
    this.#watcher = watcher
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /** The connection was made anew. */
  reconnected(): void {
    this.#process.receive(() => this.#watcher?.ready(this))
  }

  sync(_window: string, command: SyncCommand): Promise<SyncReply> {
    this.field = command.process
    const { redis, changes } = this.#world
    const c = changes.command?.(command) ?? command
    wholeNumbers(c)
    const answer = this.#call(() => {
      const reply = redis.sync(c)
      return changes.reply?.(reply) ?? reply
    })
    return answer.then((reply) => {
      if (reply.written) this.#heard(c, reply.written.ended)
      return reply
    })
  }

  #heard({ id, number, seq }: SyncCommand, ended: number): void {
    const key = `${id}/${number}`
    const known = this.endedKnown.get(key)
    if (known === undefined) this.endedKnown.set(key, { seq, ended })
    else if (known.seq < seq) {
      known.seq = seq
      known.ended = ended
    }
  }

  /** As RedisShard and SingleShard find out whether the server still has all that it was told. */
  async beat(): Promise<{ time: number; whole: boolean; processes: number }> {
    const beat = ++this.#beats
    const { redis } = this.#world
    const reply: Beat = await this.#call(() => redis.beat(this.#process.id, beat), this.#once)
    this.#world.loop.hasMicrotasks = true
    const isSame = this.#runId === 0 || (this.#runId === reply.runId && reply.evicted <= this.#evicted)
    this.#runId = reply.runId
    this.#evicted = reply.evicted
    const whole = isSame && reply.found >= this.#beatsHeard
    this.#beatsHeard = Math.max(this.#beatsHeard, beat)
    return { time: reply.time, whole, processes: reply.processes }
  }

  #call<T>(execute: () => T, world: World = this.#world): Promise<T> {
    const { loop, redis } = world
    const process = this.#process
    const isCutOff = process.isPartitioned
    const sent = { sentUs: loop.now, answeredUs: Infinity }
    this.sent.push(sent)
    return new Promise<T>((resolve, reject) => {
      send(
        world,
        () => (redis.isUp && !isCutOff ? execute() : undefined),
        (reply) =>
          process.receive(() => {
            loop.hasMicrotasks = true
            if (process.isPartitioned) return reject(CUT_OFF)
            sent.answeredUs = loop.now
            this.heardFirstUs = Math.min(this.heardFirstUs, loop.now)
            resolve(reply)
          }),
        (reason) =>
          process.receive(() => {
            loop.hasMicrotasks = true
            reject(reason)
          }),
      )
    })
  }
}

const CUT_OFF = new Error('the connection was cut')

/** As RedisShard.sync() checks what it is to send. */
function wholeNumbers(c: SyncCommand): void {
  for (const key in c) {
    const value = c[key as keyof SyncCommand]
    if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new RangeError(`${key}: ${value}`)
  }
}
