import type { SyncCommand, SyncReply } from '../../../../lib/throttle/sync/sync-protocol'
import type { EventLoop } from './event-loop'
import { type HashModel, SCRIPT, type ScriptRules, copyHash, syncModel } from './model'

/** Redis's time in microseconds when the simulation begins. */
export const EPOCH_US = 1.7e15

/** A window's hash. */
export interface WindowRecord {
  readonly id: string
  readonly number: number
  readonly startUs: number
  readonly endUs: number
  hash: HashModel
  /** Redis's clock was set since it was made. */
  isOld?: boolean
}

/** What a heartbeat is answered. */
export interface Beat {
  readonly time: number
  readonly runId: number
  readonly evicted: number
  readonly processes: number
  /** The number of the process's heartbeat that was found; 0 for none. */
  readonly found: number
}

const LIVING_US = 3_000_000

/** The data of one moment. */
interface Snapshot {
  readonly windows: ReadonlyMap<string, WindowRecord>
  readonly canaries: ReadonlyMap<string, number>
  readonly living: ReadonlyMap<string, number>
}

export class SimulatedRedis {
  isUp = true
  /** Called after a restart, a failover, and when it can be reached again. */
  readonly replaced: (() => void)[] = []
  /** Told where a process's figure for a window became less than it was. */
  shrunk: (found: object) => void = () => undefined
  /** What the script does here. */
  readonly #rules: ScriptRules
  readonly #loop: EventLoop
  #runId = 1
  #evicted = 0
  #offsetUs = 0
  #windows = new Map<string, WindowRecord>()
  #canaries = new Map<string, number>()
  #living = new Map<string, number>()
  readonly #ended = new Map<string, WindowRecord>()

  constructor(loop: EventLoop, rules: ScriptRules = SCRIPT) {
    this.#loop = loop
    this.#rules = rules
  }

  /** As TIME says it, in microseconds. */
  timeUs(): number {
    return EPOCH_US + Math.floor(this.#loop.now) + this.#offsetUs
  }

  /** Its clock is set. */
  setClock(byUs: number): void {
    this.#offsetUs += byUs
    for (const record of this.#windows.values()) record.isOld = true
  }

  syncs = 0
  sync(c: SyncCommand): SyncReply {
    this.syncs++
    const key = `${c.id}/${c.number}`
    const record = this.#windows.get(key)
    const before = record?.hash.fields.get(c.process)?.spent ?? 0
    const { hash, reply } = syncModel(record?.hash, this.timeUs(), c, this.#rules)
    if (hash === undefined || reply.written === undefined) return reply
    if (c.spent < before) this.shrunk({ key, process: c.process, before, after: c.spent })
    if (record === undefined) {
      this.#windows.set(key, { id: c.id, number: c.number, startUs: c.starts, endUs: c.ends, hash })
    }
    return reply
  }

  beat(process: string, beat: number): Beat {
    const time = this.timeUs()
    const found = this.#canaries.get(process) ?? 0
    this.#canaries.set(process, beat)
    this.#living.set(process, time)
    for (const [name, at] of this.#living) if (at < time - LIVING_US) this.#living.delete(name)
    return { time, runId: this.#runId, evicted: this.#evicted, processes: this.#living.size, found }
  }

  /** Killed, and started again without a file. */
  restartEmpty(): void {
    this.flush()
    this.#replace()
  }

  /** FLUSHALL: the run id stays, and so do the connections. */
  flush(): void {
    this.#expire()
    this.#windows.clear()
    this.#canaries.clear()
    this.#living.clear()
  }

  /** One window is evicted; the heartbeats survive. */
  evict(pick: (count: number) => number): void {
    this.#expire()
    const keys = [...this.#windows.keys()]
    if (keys.length === 0) return
    this.#windows.delete(keys[pick(keys.length)] as string)
    this.#evicted++
  }

  /** One process's field of one window is gone. */
  damage(pick: (count: number) => number): void {
    this.#expire()
    const records = [...this.#windows.values()].filter(({ hash }) => hash.fields.size > 0)
    const hash = records[pick(records.length)]?.hash
    const processes = [...(hash?.fields.keys() ?? [])]
    hash?.fields.delete(processes[pick(processes.length)] as string)
  }

  /** All it has now. */
  snapshot(): Snapshot {
    return {
      windows: new Map([...this.#windows].map(([key, record]) => [key, { ...record, hash: copyHash(record.hash) }])),
      canaries: new Map(this.#canaries),
      living: new Map(this.#living),
    }
  }

  /** A replica takes over that has seen no more than this, or it is started again with an older file. */
  rollback(to: Snapshot): void {
    this.#expire()
    const now = this.timeUs()
    this.#windows = new Map([...to.windows].filter(([, { endUs }]) => endUs > now))
    this.#canaries = new Map(to.canaries)
    this.#living = new Map(to.living)
    this.#replace()
  }

  #replace(): void {
    this.#runId++
    this.announce()
  }

  /** Connections are made anew. */
  announce(): void {
    for (const each of this.replaced) each()
  }

  #expire(): void {
    const now = this.timeUs()
    for (const [key, record] of this.#windows) {
      if (record.endUs > now) continue
      this.#windows.delete(key)
      this.#ended.set(key, record)
    }
  }

  /** The window's record, open or over, as it was last. */
  record(id: string, number: number): WindowRecord | undefined {
    const key = `${id}/${number}`
    return this.#windows.get(key) ?? this.#ended.get(key)
  }
}
