import type { EventLoop } from './event-loop'
import type { HashModel } from './model'

/** Redis's time in microseconds when the simulation begins. */
export const EPOCH_US = 1.7e15

/** A window's hash. */
export interface WindowHash {
  readonly subject: string
  readonly endMs: number
  readonly hash: HashModel
  readonly expiresMs: number
}

/** What a process left to see whether Redis still has what was written. */
export interface Canary {
  readonly beat: number
  readonly expiresMs: number
}

type Entry = WindowHash | Canary

/** What a failover can take back at most. */
const UNDO = 400

export class SimulatedRedis {
  isUp = true
  runId = 1
  /** Windows that ended here, by their last figures. */
  readonly #ended = new Map<string, WindowHash>()
  /** Where a process's figure for a window became less than it was. */
  readonly shrunk: unknown[] = []
  /** Called after a restart and a failover. */
  readonly replaced: (() => void)[] = []
  readonly #loop: EventLoop
  #entries = new Map<string, Entry>()
  #undo: (readonly [key: string, before: Entry | undefined])[] = []

  constructor(loop: EventLoop) {
    this.#loop = loop
  }

  /** As TIME says it, in microseconds. */
  timeUs(): number {
    return EPOCH_US + Math.floor(this.#loop.now)
  }

  window(key: string): WindowHash | undefined {
    return this.#get(key) as WindowHash | undefined
  }

  canary(key: string): Canary | undefined {
    return this.#get(key) as Canary | undefined
  }

  #get(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    if (!entry || Math.floor(this.timeUs() / 1000) <= entry.expiresMs) return entry
    this.#entries.delete(key)
    this.#end(entry)
    return undefined
  }

  set(key: string, entry: Entry): void {
    if (!(entry.expiresMs > 0)) throw new Error(`${key} has no expiry`)
    this.#undo.push([key, this.#entries.get(key)])
    if (this.#undo.length > UNDO) this.#undo.splice(0, UNDO / 2)
    this.#entries.set(key, entry)
  }

  /** Killed, and started again without a file. */
  restartEmpty(): void {
    this.flush()
    this.#replace()
  }

  /** FLUSHALL: the run id stays, and so do the connections. */
  flush(): void {
    this.#entries.clear()
    this.#undo = []
  }

  /** A replica takes over that has not seen the last writes. */
  failover(lostWrites: number): void {
    for (const [key, before] of this.#undo.splice(-lostWrites).reverse()) {
      if (before) this.#entries.set(key, before)
      else this.#entries.delete(key)
    }
    this.#undo = []
    this.#replace()
  }

  #replace(): void {
    this.runId++
    for (const announce of this.replaced) announce()
  }

  /** The windows that have ended, in order of their ends. */
  ended(): WindowHash[] {
    for (const entry of this.#entries.values()) {
      if ('endMs' in entry && entry.endMs * 1000 <= this.timeUs()) this.#end(entry)
    }
    return [...this.#ended.values()].sort((a, b) => a.endMs - b.endMs)
  }

  #end(entry: Entry): void {
    if ('endMs' in entry) this.#ended.set(`${entry.subject}/${entry.endMs}`, entry)
  }
}
