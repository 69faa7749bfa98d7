import { type Clock, nowUs, wallOffsetUs } from '../http/clock'
import { Deadlines } from './deadlines'
import { type StoreMessage, channels } from './diagnostics'
import { StoreClock } from './store-clock'
import type { ThrottleStore } from './store'

/** After this long without an answer a process decides alone. */
export const DEADLINE_MS = 70
/** How often the store is asked whether it still knows everything; and how often whether it is back. */
const BEAT_MS = 1_000
const BEAT_DOWN_MS = 200
/** A store that is not there yet when the process starts is no outage. */
const START_MS = 1_000
/** A wall clock may be this far from the store's, until the store says its time. */
const WALL_ERROR_US = 1_000_000

/** Who is to know about the store's health: each named window over it. */
export interface LinkListener {
  /** The store does not answer: decide alone. */
  down(): void
  /** The store answers again, or lost what it knew: say everything again. */
  up(): void
}

/** Watches one store for all windows over it: whether it answers in time, what time it is there, and what it forgot. */
export class StoreLink {
  readonly storeClock: StoreClock
  /** No answer is to be waited for now. */
  isDown = true
  readonly #listeners = new Set<LinkListener>()
  readonly #deadlines: Deadlines
  readonly #startedAt: number
  #everUp = false
  #told = false
  #closed = false
  #beating = false
  #cancelBeat: (() => void) | undefined

  private constructor(
    readonly store: ThrottleStore,
    readonly clock: Clock,
  ) {
    const now = nowUs(clock)
    this.#startedAt = now
    this.#deadlines = new Deadlines(clock, DEADLINE_MS)
    this.storeClock = new StoreClock(wallOffsetUs(clock), WALL_ERROR_US)
    store.onReady(() => this.#ready())
    this.#beat()
  }

  static readonly #links = new WeakMap<ThrottleStore, StoreLink>()

  /**
   * The link of this store; throttles over one store share it.
   *
   * @throws {TypeError} where the store was closed
   */
  static of(store: ThrottleStore, clock: Clock): StoreLink {
    let link = this.#links.get(store)
    if (link !== undefined && link.#closed)
      throw new TypeError('store: it was closed with the last throttle that used it; give a new one')
    if (link === undefined) this.#links.set(store, (link = new StoreLink(store, clock)))
    return link
  }

  join(listener: LinkListener): void {
    this.#listeners.add(listener)
    if (!this.isDown) listener.up()
  }

  /** The last window that leaves closes the store. */
  async leave(listener: LinkListener): Promise<void> {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0 || this.#closed) return
    this.#closed = true
    this.isDown = true
    this.#cancelBeat?.()
    await this.store.close()
  }

  /** A command failed or was not answered in time. */
  failed(cause: unknown): void {
    if (!this.isDown) {
      this.isDown = true
      for (const listener of this.#listeners) listener.down()
      this.#beatIn(BEAT_DOWN_MS)
    }
    this.#tell(cause)
  }

  /** A connection was made: whatever was there before may be gone. */
  #ready(): void {
    if (this.#closed) return
    if (!this.isDown) for (const listener of this.#listeners) listener.up()
    this.#beat()
  }

  #beat(): void {
    if (this.#closed || this.#beating) return
    this.#beating = true
    this.#cancelBeat?.()
    const sentAt = nowUs(this.clock)
    const over = () => {
      if (!awaited) return
      awaited = this.#beating = false
      this.#beatIn(this.isDown ? BEAT_DOWN_MS : BEAT_MS)
    }
    let awaited = true
    this.#deadlines.add(() => {
      if (awaited) this.failed(new Error(`no heartbeat in ${DEADLINE_MS} ms`))
      over()
    })
    this.store
      .beat()
      .then(
        ({ time, whole }) => {
          this.storeClock.learn(sentAt, nowUs(this.clock), time)
          if (awaited) this.#answered(whole)
        },
        (err: unknown) => {
          if (awaited) this.failed(err)
        },
      )
      .finally(over)
  }

  #beatIn(ms: number): void {
    this.#cancelBeat?.()
    if (!this.#closed) this.#cancelBeat = this.clock.after(ms, () => this.#beat())
  }

  #answered(whole: boolean): void {
    if (this.#closed || (!this.isDown && whole)) return
    const told = this.#told
    this.isDown = this.#told = false
    this.#everUp = true
    for (const listener of this.#listeners) listener.up()
    if (told) channels.recovered.publish({ store: this.store } satisfies StoreMessage)
  }

  /** Says once an outage that limits are each process's own for now. */
  #tell(cause: unknown): void {
    if (this.#told || this.#closed) return
    if (!this.#everUp && nowUs(this.clock) - this.#startedAt < START_MS * 1_000) return
    this.#told = true
    channels.degraded.publish({ store: this.store, cause } satisfies StoreMessage)
    const why = cause instanceof Error ? cause.message : String(cause)
    process.emitWarning(`the throttle's store does not answer (${why}); every process decides alone until it does`, {
      code: 'TOLLGATE_DEGRADED',
    })
  }
}
