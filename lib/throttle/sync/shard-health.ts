import { type Clock, nowUs, wallOffsetUs } from '../../http/clock'
import { type StoreMessage, channels } from '../diagnostics'
import { StoreClock } from '../window/store-clock'
import type { Shard } from '../window/subject-window'
import { Deadlines } from './deadlines'
import type { StoreShard, ThrottleStore } from './store'

/** After this long without an answer a process decides alone. */
export const DEADLINE_MS = 70
/** How often a server is asked whether it still knows everything; and how often whether it is back. */
const BEAT_MS = 1_000
const BEAT_DOWN_MS = 200
/** A server that is not there yet when the process starts is no outage. */
const START_MS = 1_000
/** A wall clock may be this far from the server's, until the server says its time. */
const WALL_ERROR_US = 1_000_000

/** Hears about the health of servers. */
export interface ShardListener {
  /** It does not answer: decide alone about the subjects it keeps. */
  shardDown(shard: Shard): void
  /** It answers again, or has lost what it knew: publish everything again. */
  shardUp(shard: Shard): void
}

/** Watches one server: whether it answers in time, what time it has, and whether it lost anything. */
export class ShardHealth implements Shard {
  readonly clock: StoreClock
  /** It does not answer: nothing waits for it. */
  isDown = true
  downSince: number
  processes = 1
  readonly isOnly: boolean
  readonly #deadlines: Deadlines<object>
  readonly #startedAt: number
  #wasUp = false
  /** What was reported of the present outage. */
  #reported: Error | undefined
  /** Who waits for the first answer. */
  #waiting: { resolve: () => void; reject: (reason: Error) => void }[] = []
  #isClosed = false
  /** The heartbeat whose answer counts. */
  #awaited: object | undefined
  #cancelBeat: (() => void) | undefined

  constructor(
    readonly server: StoreShard,
    readonly store: ThrottleStore,
    readonly machine: Clock,
    readonly listener: ShardListener,
    /** Says what throttles do while it does not answer. */
    readonly meanwhile: () => string,
  ) {
    this.#startedAt = this.downSince = nowUs(machine)
    this.isOnly = server.isOnly ?? false
    this.#deadlines = new Deadlines(
      machine,
      DEADLINE_MS,
      (beat) => this.#awaited === beat,
      () => {
        this.failed(new Error(`no heartbeat in ${DEADLINE_MS} ms`))
        this.#over()
      },
    )
    this.clock = new StoreClock(wallOffsetUs(machine), WALL_ERROR_US)
    this.#beat()
  }

  /** A command failed or was not answered in time. */
  failed(cause: unknown): void {
    if (this.#isClosed) return
    if (!this.isDown) {
      this.isDown = true
      this.downSince = nowUs(this.machine)
      this.listener.shardDown(this)
      this.#beatIn(BEAT_DOWN_MS)
    }
    this.#report(cause)
  }

  /** A connection was made: what the server was told before may be gone. */
  ready(): void {
    if (this.#isClosed) return
    if (!this.isDown) this.listener.shardUp(this)
    this.#beat()
  }

  /** Resolves when it answers. @throws {Error} where it was reported that it does not, with the warning's message */
  answers(): Promise<void> {
    if (!this.isDown || this.#isClosed) return Promise.resolve()
    if (this.#reported) return Promise.reject(this.#reported)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** The server keeps no windows any more, or the store was closed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = this.isDown = true
    this.#cancelBeat?.()
    this.#reportEnd()
  }

  #beat(): void {
    if (this.#isClosed) return
    this.#cancelBeat?.()
    const sentAt = nowUs(this.machine)
    const beat = (this.#awaited = {})
    const isAwaited = () => this.#awaited === beat
    this.#deadlines.add(beat)
    this.server
      .beat()
      .then(
        ({ time, whole, processes = 1 }) => {
          this.clock.learn(sentAt, nowUs(this.machine), time)
          this.processes = processes
          if (isAwaited()) this.#answered(whole)
        },
        (err: unknown) => {
          if (isAwaited()) this.failed(err)
        },
      )
      .finally(() => {
        if (isAwaited()) this.#over()
      })
  }

  #over(): void {
    this.#awaited = undefined
    this.#beatIn(this.isDown ? BEAT_DOWN_MS : BEAT_MS)
  }

  #beatIn(ms: number): void {
    this.#cancelBeat?.()
    if (!this.#isClosed && this.#awaited === undefined) this.#cancelBeat = this.machine.after(ms, () => this.#beat())
  }

  #answered(whole: boolean): void {
    if (this.#isClosed || (!this.isDown && whole)) return
    this.isDown = false
    this.#wasUp = true
    this.listener.shardUp(this)
    this.#reportEnd()
  }

  /** Reports once an outage where the server is, why it does not answer, and what happens meanwhile. */
  #report(cause: unknown): void {
    if (this.#reported || this.#isClosed) return
    if (!this.#wasUp && nowUs(this.machine) - this.#startedAt < START_MS * 1_000) return
    channels.degraded.publish({ ...this.#message(), cause } satisfies StoreMessage)
    const { name, place = name } = this.server
    const why = cause instanceof Error ? cause.message : String(cause)
    const about = place === undefined || why.includes(place) ? '' : ` at ${place}`
    const message = `the throttle's store${about} does not answer: ${why}. Until it answers, ${this.meanwhile()}.`
    this.#reported = new Error(message, { cause })
    process.emitWarning(message, { code: 'TOLLGATE_DEGRADED' })
    for (const { reject } of this.#waiting.splice(0)) reject(this.#reported)
  }

  #reportEnd(): void {
    if (this.#reported) channels.recovered.publish(this.#message())
    this.#reported = undefined
    for (const { resolve } of this.#waiting.splice(0)) resolve()
  }

  #message(): StoreMessage {
    return { store: this.store, server: this.server.name }
  }
}
