import { type Clock, nowUs, wallOffsetUs } from '../../http/clock'
import { codedError, storeError } from '../../http/help'
import { shown } from '../../http/options'
import { warn } from '../../http/warn-once'
import { type Server, WindowClock } from '../budget/window-clock'
import { type StoreMessage, channels } from '../events'
import { Overload } from '../overload'
import { callStore, deadline } from './deadline'
import type { Beat, StoreServer, ThrottleStore } from './store'

/** After this long without an answer a process decides alone. */
const DEADLINE_MS = 70
/** How often a server is asked whether it still knows everything; and how often whether it is back. */
const BEAT_MS = 1_000
const BEAT_DOWN_MS = 200
/** A server that is not there yet when the process starts is no outage. */
const START_MS = 1_000
/** A wall clock may be this far from the server's, until the server says its time. */
const WALL_ERROR_US = 1_000_000

/** Records that cannot be read are warned of at most so often. */
const WARNED_EVERY_US = 60_000_000

/**
 * Hears what becomes of a server.
 *
 * @param isLost it may have lost what it was told; else it has heard of more processes
 */
type ServerListener = (server: ServerHealth, isLost: boolean) => void

/** Watches one store for all policies over it, each of its servers by itself. */
export class StoreHealth {
  static readonly #ofStore = new WeakMap<ThrottleStore, StoreHealth>()

  readonly #listeners = new Set<ServerListener>()
  readonly #servers = new Map<StoreServer, ServerHealth>()
  readonly #onOutage = new Set<'local' | 'closed'>()
  #isClosed = false

  private constructor(
    readonly store: ThrottleStore,
    readonly clock: Clock,
  ) {
    store.watch({
      ready: (server) => this.#healthOf(server).connected(),
      gone: (server) => {
        this.#servers.get(server)?.close()
        this.#servers.delete(server)
      },
    })
    this.#healthOf(store.serverOf('')) // it is asked from now on
  }

  /**
   * The health of this store; throttles over one store share it.
   *
   * @throws {TypeError} where the store was closed
   */
  static of(store: ThrottleStore, clock: Clock): StoreHealth {
    let health = this.#ofStore.get(store)
    if (health !== undefined && health.#isClosed)
      throw storeError('store: it was closed with the last throttle that used it; give a new one')
    if (health === undefined) this.#ofStore.set(store, (health = new StoreHealth(store, clock)))
    return health
  }

  /** An answer is waited for so long; then each process decides alone. Milliseconds. */
  get deadlineMs(): number {
    return DEADLINE_MS
  }

  /** Notes what a throttle over the store does during an outage, for messages. */
  note(onOutage: 'local' | 'closed'): this {
    this.#onOutage.add(onOutage)
    return this
  }

  /** What the throttles do during an outage, for messages. */
  get meanwhile(): string {
    if (!this.#onOutage.has('closed')) return "each process applies the limits by itself (onOutage: 'local')"
    if (!this.#onOutage.has('local')) return "requests get 503 (onOutage: 'closed')"
    return 'each process applies the limits by itself, or answers 503, as the onOutage of each throttle says'
  }

  /** Resolves when every server answers. @throws {Error} where one is reported not to, with the warning's message */
  async ready(): Promise<void> {
    do await Promise.all([...this.#servers.values()].map((server) => server.answers()))
    while (!this.#isClosed && this.downServers.length > 0)
  }

  /** The server that keeps the accounts of the subject with this id now. */
  serverOf(id: string): ServerHealth {
    return this.#healthOf(this.store.serverOf(id))
  }

  /** Its servers that do not answer; undefined stands for the only one. */
  get downServers(): (string | undefined)[] {
    return [...this.#servers.values()].filter(({ isDown }) => isDown).map(({ name }) => name)
  }

  /** Says from now on what becomes of the servers. Returns what ends that. */
  subscribe(listener: ServerListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(server: ServerHealth, isLost: boolean): void {
    for (const listener of this.#listeners) listener(server, isLost)
  }

  /** Closes the store, once nobody listens any more. */
  async leave(): Promise<void> {
    if (this.#listeners.size > 0 || this.#isClosed) return
    this.#isClosed = true
    for (const server of this.#servers.values()) server.close()
    await this.store.close()
  }

  #healthOf(server: StoreServer): ServerHealth {
    let health = this.#servers.get(server)
    if (health === undefined) {
      this.#servers.set(server, (health = new ServerHealth(server, this)))
      if (this.#isClosed) health.close()
    }
    return health
  }
}

/** Watches one server: whether it answers in time, what time it has, whether it lost anything, and who else lives. */
export class ServerHealth implements Server {
  readonly clock: WindowClock
  readonly isMemory = false
  isDown = true
  downSince: number
  living = 1
  readonly #startedAt: number
  #wasUp = false
  #token: string | undefined
  /** What was reported of the present outage. */
  #reported: Error | undefined
  /** Those who wait for the first answer. */
  #waiting: { resolve: () => void; reject: (reason: Error) => void }[] = []
  #isClosed = false
  #warnedAt = -Infinity
  /** The heartbeat whose answer counts. */
  #awaited: object | undefined
  #cancelNext: (() => void) | undefined

  constructor(
    readonly server: StoreServer,
    readonly store: StoreHealth,
  ) {
    const { clock } = store
    this.#startedAt = this.downSince = nowUs(clock)
    this.clock = new WindowClock(wallOffsetUs(clock), WALL_ERROR_US)
    this.#beat()
  }

  get deadlineMs(): number {
    return this.store.deadlineMs
  }

  get name(): string | undefined {
    return this.server.name
  }

  /** A command failed or was not answered in time. */
  failed(cause: unknown): void {
    if (this.#isClosed) return
    if (!this.isDown) {
      this.isDown = true
      this.downSince = nowUs(this.store.clock)
      this.#beatIn(BEAT_DOWN_MS)
    }
    this.#report(cause)
  }

  /** It has an account that cannot be read. */
  unreadable(policy: string, cause = ''): void {
    const now = nowUs(this.store.clock)
    if (now - this.#warnedAt < WARNED_EVERY_US) return
    this.#warnedAt = now
    const at = this.server.place ?? this.server.name
    const message =
      `the throttle cannot read an account of window ${JSON.stringify(policy)}${at ? ` at ${at}` : ''} (${cause}); ` +
      'this process decides alone about its subject. Delete the key if nothing else uses it'
    warn('TOLLGATE_UNREADABLE', message)
  }

  /** A connection was made: what the server was told before may be gone. */
  connected(): void {
    if (this.#isClosed) return
    this.#token = undefined
    this.#beat()
  }

  /** Resolves when it answers. @throws {Error} where it was reported that it does not, with the warning's message */
  answers(): Promise<void> {
    if (!this.isDown || this.#isClosed) return Promise.resolve()
    if (this.#reported) return Promise.reject(this.#reported)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** The server keeps no accounts any more, or the store was closed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = this.isDown = true
    this.#cancelNext?.()
    this.#awaited = undefined
    this.#reportEnd()
  }

  #beat(): void {
    if (this.#isClosed) return
    const { clock } = this.store
    this.#cancelNext?.()
    const sentAt = nowUs(clock)
    const beat = (this.#awaited = {})
    const over = (act: () => void) => {
      if (this.#awaited !== beat) return
      cancel()
      this.#awaited = undefined
      act()
      this.#beatIn(this.isDown ? BEAT_DOWN_MS : BEAT_MS)
    }
    const cancel = deadline(clock, this.deadlineMs, () =>
      over(() => this.failed(new Error(`no heartbeat was answered in ${this.deadlineMs} ms`))),
    )
    callStore(() => this.server.beat(Overload.of(clock).message)).then(
      (answer) => over(() => this.#answered(answer, sentAt)),
      (err: unknown) => over(() => this.failed(err)),
    )
  }

  #beatIn(ms: number): void {
    this.#cancelNext?.()
    if (!this.#isClosed && this.#awaited === undefined)
      this.#cancelNext = this.store.clock.after(ms, () => this.#beat())
  }

  #answered({ time, living = 1, token = '' }: Beat, sentAt: number): void {
    this.clock.learn(sentAt, nowUs(this.store.clock), time)
    const areMore = living > this.living
    const hasLost = this.#wasUp && this.#token !== token
    this.living = Math.max(1, living)
    this.#token = token
    this.#wasUp = true
    this.isDown = false
    if (hasLost || areMore) this.store.tell(this, hasLost)
    this.#reportEnd()
  }

  /** Reports once an outage where the server is, why it does not answer, and what happens meanwhile. */
  #report(cause: unknown): void {
    if (this.#reported || this.#isClosed) return
    if (!this.#wasUp && nowUs(this.store.clock) - this.#startedAt < START_MS * 1_000) return
    channels.degraded.publish({ ...this.#message(), cause } satisfies StoreMessage)
    const { name, place = name } = this.server
    const why = cause instanceof Error ? String(cause.message) : shown(cause)
    const about = place === undefined || why.includes(place) ? '' : ` at ${place}`
    const message = `the throttle's store${about} does not answer: ${why}. Until it answers, ${this.store.meanwhile}`
    this.#reported = codedError('TOLLGATE_DEGRADED', message, Error, { cause })
    warn('TOLLGATE_DEGRADED', message)
    for (const { reject } of this.#waiting.splice(0)) reject(this.#reported)
  }

  #reportEnd(): void {
    if (this.#reported) channels.recovered.publish(this.#message())
    this.#reported = undefined
    for (const { resolve } of this.#waiting.splice(0)) resolve()
  }

  #message(): StoreMessage {
    return { store: this.store.store, server: this.server.name }
  }
}
