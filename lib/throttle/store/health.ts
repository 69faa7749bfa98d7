import { type Clock, nowUs, wallOffsetUs } from '../../http/clock'
import { codedError, storeError } from '../../http/help'
import { shown } from '../../http/options'
import { warn } from '../../http/warn-once'
import { type Server, WindowClock } from '../budget/window-clock'
import { type StoreMessage, channels } from '../events'
import { Overload } from '../overload'
import { deadline, promised } from '../../http/deadline'
import { OutageNews } from './outage-news'
import { Terms } from './terms'
import type { Beat, StoreServer, ThrottleStore } from './store'

/** A request waits for an answer so long, unless the store says otherwise. */
const DEADLINE_MS = 70
/** How often a server is asked whether it still knows everything; whether it is back; and whether it is there at all. */
const BEAT_MS = 1_000
const BEAT_DOWN_MS = 200
const BEAT_DOUBTED_MS = 20
/** A server is down after so long without any answer, or three deadlines where those are longer. */
const SILENT_MS = 250
const SILENT_DEADLINES = 3
/** It is down, too, when no answer came in time for so long, or for eight deadlines: it is too far away. */
const LATE_MS = 2_000
const LATE_DEADLINES = 8
/** It is up again when it answers in time, and was not silent for so long. */
const GOOD_MS = 1_000
/** A server that is not there yet when the process starts is no outage. */
const START_MS = 1_000
/** A wall clock may be this far from the server's, until the server says its time. */
const WALL_ERROR_US = 1_000_000

/** Outages, and records that cannot be read, are warned of at most so often. */
const WARNED_EVERY_MS = 60_000

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
  readonly terms = new Terms()
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
    return this.store.deadlineMs ?? DEADLINE_MS
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
  /** Since when commands are sent and none is answered; undefined while they are. */
  #silentSince: number | undefined
  /** Since when no answer came in time; undefined while answers do. */
  #lateSince: number | undefined
  /** During an outage: since when it answers, in time or late. */
  #goodSince: number | undefined
  /** The present outage, once it was announced. */
  #outage: Error | undefined
  readonly #news: OutageNews
  /** Those who wait for the first answer. */
  #waiting: { resolve: () => void; reject: (reason: Error) => void }[] = []
  #isClosed = false
  #warnedAt = -Infinity
  /** The heartbeat whose answer counts. */
  #awaited: object | undefined
  /** The next one: when it is sent, in µs of the process's clock. */
  #nextAt = Infinity
  #cancelNext: (() => void) | undefined

  constructor(
    readonly server: StoreServer,
    readonly store: StoreHealth,
  ) {
    const { clock } = store
    this.#startedAt = this.downSince = nowUs(clock)
    this.clock = new WindowClock(wallOffsetUs(clock), WALL_ERROR_US)
    this.#news = new OutageNews(clock, () => this.#place)
    this.#beat()
  }

  get deadlineMs(): number {
    return this.store.deadlineMs
  }

  get deadlineUs(): number {
    return this.deadlineMs * 1_000
  }

  get name(): string | undefined {
    return this.server.name
  }

  /** It has not answered yet since the process started, a moment ago. */
  get isStarting(): boolean {
    return !this.#wasUp && this.#nowUs - this.#startedAt < START_MS * 1_000
  }

  /** A command was answered. @param sentAt in µs of the process's clock */
  answered(sentAt: number): void {
    this.#silentSince = undefined
    this.#goodSince ??= this.#nowUs
    if (this.#nowUs - sentAt <= this.deadlineUs) this.#lateSince = undefined
  }

  /** A command was not answered in time. @param what for the message: `heartbeat` */
  missed(what: string, sentAt: number): void {
    this.#lateSince ??= sentAt
    const isLate = this.#silentSince === undefined && this.#lateSince < sentAt
    const remedy = isLate ? ', though later: set deadlineMs of redisStore()' : ''
    this.#doubt(new Error(`no ${what} was answered in ${this.deadlineMs} ms${remedy}`), sentAt)
  }

  /** A command failed: the server refused it, or there is no connection. */
  failed(cause: unknown, sentAt: number): void {
    this.#goodSince = undefined
    this.#doubt(cause, sentAt)
  }

  #doubt(cause: unknown, sentAt: number): void {
    if (this.#isClosed) return
    this.#silentSince ??= sentAt
    const isSilent = this.#isSince(this.#silentSince, SILENT_MS, SILENT_DEADLINES)
    if (isSilent) this.#goodSince = undefined
    if (!this.isDown) {
      const isLate = this.#isSince(this.#lateSince, LATE_MS, LATE_DEADLINES)
      if (!isSilent && !isLate && !isReply(cause)) return this.#beatIn(BEAT_DOUBTED_MS)
      this.isDown = true
      this.downSince = this.#nowUs
      this.#goodSince = undefined
      this.#beatIn(BEAT_DOWN_MS)
    }
    this.#announce(cause)
  }

  #isSince(since: number | undefined, ms: number, deadlines: number): boolean {
    return since !== undefined && this.#nowUs - since >= Math.max(ms, deadlines * this.deadlineMs) * 1_000
  }

  /** It has an account that cannot be read. */
  unreadable(policy: string, cause = ''): void {
    if (this.#nowUs - this.#warnedAt < WARNED_EVERY_MS * 1_000) return
    this.#warnedAt = this.#nowUs
    const at = this.#place
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

  /** Resolves when it answers. @throws {Error} where it was announced that it does not, with the warning's message */
  answers(): Promise<void> {
    if (!this.isDown || this.#isClosed) return Promise.resolve()
    if (this.#outage) return Promise.reject(this.#outage)
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  /** The server keeps no accounts any more, or the store was closed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = this.isDown = true
    this.#cancelNext?.()
    this.#awaited = undefined
    this.#news.close()
    this.#recovered()
  }

  // --- heartbeats

  #beat(): void {
    if (this.#isClosed) return
    this.#cancelNext?.()
    this.#nextAt = Infinity
    const sentAt = this.#nowUs
    const beat = (this.#awaited = {})
    const over = (act: () => void) => {
      if (this.#awaited !== beat) return
      cancel()
      this.#awaited = undefined
      act()
      this.#beatIn(this.isDown ? BEAT_DOWN_MS : this.#silentSince === undefined ? BEAT_MS : BEAT_DOUBTED_MS)
    }
    const cancel = deadline(this.store.clock, this.deadlineMs, () => over(() => this.missed('heartbeat', sentAt)))
    promised(() => this.server.beat(Overload.of(this.store.clock).message, this.store.terms.stated)).then(
      (answer) => {
        this.answered(sentAt)
        over(() => this.#heard(answer, sentAt))
      },
      (err: unknown) => over(() => this.failed(err, sentAt)),
    )
  }

  /** Sends the next heartbeat then, or sooner where it was to be sent sooner. */
  #beatIn(ms: number): void {
    const at = this.#nowUs + ms * 1_000
    if (this.#isClosed || this.#awaited !== undefined || this.#nextAt <= at) return
    this.#cancelNext?.()
    this.#nextAt = at
    this.#cancelNext = this.store.clock.after(ms, () => this.#beat())
  }

  #heard({ time, living = 1, token = '', terms = [] }: Beat, sentAt: number): void {
    const now = this.#nowUs
    this.clock.learn(sentAt, now, time)
    const areMore = living > this.living
    const hasLost = this.#wasUp && this.#token !== token
    this.living = Math.max(1, living)
    this.#token = token
    if (!this.#wasUp || (this.#goodSince !== undefined && now - this.#goodSince >= GOOD_MS * 1_000)) this.isDown = false
    if (!this.isDown) this.#wasUp = true
    if (hasLost || areMore) this.store.tell(this, hasLost)
    if (!this.isDown) this.#recovered()
    this.store.terms.compare(terms, this.#place)
  }

  // --- news

  /** Says once an outage where the server is, why it does not answer, and what happens meanwhile. */
  #announce(cause: unknown): void {
    if (this.#outage || this.isStarting) return
    channels.degraded.publish({ ...this.#message(), cause } satisfies StoreMessage)
    const place = this.#place
    const why = cause instanceof Error ? String(cause.message) : shown(cause)
    const about = place === undefined || why.includes(place) ? '' : ` at ${place}`
    const message = `the throttle's store${about} does not answer: ${why}. Until it answers, ${this.store.meanwhile}`
    this.#outage = codedError('TOLLGATE_DEGRADED', message, Error, { cause })
    this.#news.began(message)
    for (const { reject } of this.#waiting.splice(0)) reject(this.#outage)
  }

  #recovered(): void {
    if (this.#outage) {
      channels.recovered.publish(this.#message())
      if (!this.#isClosed) this.#news.ended()
    }
    this.#outage = undefined
    for (const { resolve } of this.#waiting.splice(0)) resolve()
  }

  get #place(): string | undefined {
    return this.server.place ?? this.server.name
  }

  get #nowUs(): number {
    return nowUs(this.store.clock)
  }

  #message(): StoreMessage {
    return { store: this.store.store, server: this.server.name }
  }
}

/** Whether a server that answers has refused a command: it would refuse the next one as well. */
function isReply(cause: unknown): boolean {
  const { name, isReply = name === 'ReplyError' } = (cause ?? {}) as { name?: unknown; isReply?: unknown }
  return isReply === true
}
