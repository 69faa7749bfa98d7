import type { Request } from 'express'
import { type Clock, nowUs, wallOffsetUs } from '../../http/clock'
import { Calendar } from '../window/calendar'
import { SyncClient } from './sync-client'
import { Engine } from '../window/engine'
import { identify } from '../window/subject-id'
import { type Decision, type Listener, type SubjectWindow, type Ticket, used } from '../window/subject-window'
import { StoreClock } from '../window/store-clock'
import type { StoreHealth } from './store-health'
import { networkSubject } from '../subject'

/** How often some of the subjects are looked at, to put to rest those who ask no more, and in what time all are. */
const SWEEP_MS = 100
const SWEEP_ROUND_MS = 2_000
const SWEEP_LEAST = 20
/** Networks that newcomers share a window by, once there is no room for more subjects. */
const MOST_NETWORKS = 4_096
const EVERYBODY_ELSE = 'network:*'

/** The store does not answer, and what was asked for needs it. */
export class StoreDownError extends Error {
  constructor() {
    super('reset(): the store does not answer, so nothing was reset; try again when it does')
    this.name = 'StoreDownError'
  }
}

/**
 * A named window over all subjects: the engine with what it lacks, the time and the store. Without a link it is this
 * process's own.
 */
export class SharedWindow {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #dialogue: SyncClient | undefined
  #sweeping = false
  #closed: Promise<void> | undefined

  constructor(
    readonly name: string,
    readonly windowMs: number,
    maxStaleMs: number,
    clock: Clock,
    link?: StoreHealth,
  ) {
    const windowUs = windowMs * 1_000
    const own = { clock: new StoreClock(wallOffsetUs(clock), 0), isDown: true }
    this.#clock = clock
    this.#engine = new Engine({
      calendar: new Calendar(windowUs),
      freshUs: maxStaleMs * 1_000,
      shared: link !== undefined,
      identify: (subject) => identify(subject, windowUs),
      shardOf: link ? (id) => (this.#dialogue as SyncClient).shardOf(id) : () => own,
    })
    this.#dialogue = link && new SyncClient(name, this.#engine, link, clock)
  }

  /** True while this process decides about the subject without the store it was given. */
  degraded({ shard }: SubjectWindow): boolean {
    return this.#dialogue !== undefined && shard.isDown
  }

  /**
   * Under whose name a subject is kept: its own where it is known or there is room, else its network's, else one for
   * all. Nobody who is throttled is forgotten for a newcomer.
   */
  place(subject: string, most: number, req: Request): string {
    const { roster } = this.#engine
    if (roster.size < most || roster.knows(subject)) return subject
    const shared = networkSubject(req)
    return roster.size < most + MOST_NETWORKS || roster.knows(shared) ? shared : EVERYBODY_ELSE
  }

  /** How many subjects are known. */
  get subjects(): number {
    return this.#engine.roster.size
  }

  /** The subject's standing, as far as this process knows. */
  standing(subject: string): SubjectWindow {
    const s = this.#engine.standing(subject, undefined, nowUs(this.#clock))
    this.#arm()
    return s
  }

  /** Decides at once where it can; else the listener hears within the deadline. */
  admit(subject: string, estimate: number | undefined, limit: number, listener: Listener): Decision | undefined {
    const verdict = this.#engine.admit(subject, estimate, limit, nowUs(this.#clock))
    this.#arm()
    if (!('waiter' in verdict)) return verdict
    verdict.waiter.listener = listener
    this.#dialogue?.ask(verdict.waiter)
    return undefined
  }

  /** Puts a request in flight whatever the figures say: it was in flight before, or nothing is to be refused. */
  begin(of: SubjectWindow): Ticket {
    const now = nowUs(this.#clock)
    const ticket = this.#engine.begin(this.#current(of, now), 0, now)
    this.#arm()
    return ticket
  }

  /** Charges what a request took until `now`. */
  settle(ticket: Ticket, now: number): void {
    if (this.#engine.settle(ticket, now)) this.#dialogue?.publish(ticket.standing)
    this.#arm()
  }

  /** Takes a request back as if it had not been admitted. */
  release(ticket: Ticket): void {
    this.#engine.release(ticket, nowUs(this.#clock))
    this.#arm()
  }

  /** Leaves out time that a request waited for the throttle itself. */
  excuse(ticket: Ticket, us: number): void {
    this.#engine.excuse(ticket, us, nowUs(this.#clock))
  }

  /** Adds time that no request took, and publishes it at once. */
  charge(of: SubjectWindow, us: number): void {
    const now = nowUs(this.#clock)
    const s = this.#current(of, now)
    this.#engine.charge(s, us, now)
    this.#dialogue?.publish(s)
    this.#arm()
  }

  /** What the subject has used in the window open now, in microseconds. */
  usedUs(of: SubjectWindow, now: number): number {
    return used(this.#current(of, now), now)
  }

  /** Microseconds until the subject's window is over, at the latest. */
  endsInUs(of: SubjectWindow): number {
    const now = nowUs(this.#clock)
    return this.#engine.calendar.endsInUs(this.#current(of, now), now)
  }

  /** The subject's standing with the others' newest figures, if they can be had within the deadline. */
  async refresh(subject: string): Promise<SubjectWindow> {
    const s = this.standing(subject)
    await this.#dialogue?.refresh(s)
    return s
  }

  /** Gives the subject its window back. @throws {StoreDownError} where what others have charged cannot be known */
  async reset(subject: string): Promise<void> {
    const s = await this.refresh(subject)
    if (this.degraded(s)) throw new StoreDownError()
    const now = nowUs(this.#clock)
    this.#engine.charge(s, -used(s, now), now)
    await this.refresh(subject)
  }

  /** Publishes what is not published, and lets go of the store. Safe to call twice. */
  close(): Promise<void> {
    return (this.#closed ??= this.#dialogue?.close() ?? Promise.resolve())
  }

  /** The standing in the window open now, also where the subject was at rest since. */
  #current(of: SubjectWindow, now: number): SubjectWindow {
    if (of.left) return this.#engine.standing(of.subject, of.limit, now)
    this.#engine.enter(of, now)
    return of
  }

  #arm(): void {
    this.#dialogue?.arm()
    if (!this.#sweeping) this.#sweep()
  }

  /** A little at a time: a million subjects must not stop the process. */
  #sweep(): void {
    const { roster } = this.#engine
    this.#sweeping = roster.size > 0
    if (!this.#sweeping) return
    this.#clock.after(SWEEP_MS, () => {
      const share = Math.ceil((roster.active.size * SWEEP_MS) / SWEEP_ROUND_MS)
      this.#engine.rest(nowUs(this.#clock), SWEEP_LEAST + share)
      this.#sweep()
    })
  }
}
