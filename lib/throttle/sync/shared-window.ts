import type { Request } from 'express'
import { type Clock, nowUs, wallOffsetUs } from '../../http/clock'
import { networkSubject } from '../subject'
import type { Applicant, Decision, Ticket, Waiter } from '../window/decision'
import { Engine } from '../window/engine'
import { StoreClock } from '../window/store-clock'
import { subjectId } from '../window/subject-id'
import type { SubjectWindow } from '../window/subject-window'
import type { StoreHealth } from './store-health'
import { SyncClient } from './sync-client'
import { WaitingLine } from './waiting-line'

/** How often some of the subjects are looked at, to put idle ones to rest, and in what time all are. */
const SWEEP_MS = 100
const SWEEP_ROUND_MS = 2_000
const SWEEP_LEAST = 20
/** Networks that newcomers share a window by, once there is no room for more subjects. */
const MOST_NETWORKS = 4_096
const EVERYBODY_ELSE = 'network:*'

/** How long a reset waits for a store that does not answer, and how often it asks: no request waits for it. */
const RESET_WAITS_MS = 2_000
const RESET_ASKS_MS = 100

/** The store does not answer, and what was asked for needs it. */
export class StoreDownError extends Error {
  constructor() {
    super('reset(): the store does not answer, so nothing was reset; try again when it does')
    this.name = 'StoreDownError'
  }
}

/**
 * A named window of all subjects: the engine with a clock, timers and the store. Without a store it is this process's
 * own.
 */
export class SharedWindow {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #sync: SyncClient | undefined
  readonly #line: WaitingLine
  #isSweeping = false
  #closed: Promise<void> | undefined

  constructor(
    readonly name: string,
    readonly windowMs: number,
    maxStaleMs: number,
    clock: Clock,
    readonly health?: StoreHealth,
  ) {
    const windowUs = windowMs * 1_000
    const memory = {
      clock: new StoreClock(wallOffsetUs(clock), 0),
      isDown: true,
      downSince: -Infinity,
      isOnly: true,
      processes: 1,
    }
    const identify = (subject: string) => subjectId(subject, windowUs)
    this.#clock = clock
    this.#engine = new Engine({
      windowUs,
      freshUs: maxStaleMs * 1_000,
      shared: health !== undefined,
      identify: health ? identify : (subject) => ({ id: '', phase: identify(subject).phase }),
      shardOf: health ? (id) => (this.#sync as SyncClient).shardOf(id) : () => memory,
    })
    this.#line = new WaitingLine(this.#engine, clock, (s) => this.#sync?.again(s))
    this.#sync = health && new SyncClient(name, this.#engine, health, clock, this.#line)
  }

  /** True while this process decides about the subject without the store it was given. */
  isDegraded({ shard }: SubjectWindow): boolean {
    return this.#sync !== undefined && shard.isDown
  }

  /**
   * Under whose name a subject is kept: its own where it is known or there is room, else its network's, else one for
   * all. No throttled subject is forgotten for a newcomer.
   *
   * @param most how many subjects are told apart
   */
  keptAs(subject: string, most: number, req: Request): string {
    const { subjects } = this.#engine
    if (subjects.active.has(subject) || subjects.size < most || subjects.knows(subject)) return subject
    const network = networkSubject(req)
    return subjects.size < most + MOST_NETWORKS || subjects.knows(network) ? network : EVERYBODY_ELSE
  }

  /** How many subjects are known. */
  get subjects(): number {
    return this.#engine.subjects.size
  }

  /** The subject's window, as far as this process knows it. */
  subjectWindow(subject: string): SubjectWindow {
    const s = this.#engine.subjectWindow(subject, undefined, nowUs(this.#clock))
    this.#arm()
    return s
  }

  /** The subject's window that is open now, also where the subject was put to rest since. */
  current(of: SubjectWindow, now: number): SubjectWindow {
    if (of.evicted) return this.#engine.subjectWindow(of.subject, of.limit, now)
    this.#engine.enter(of, now)
    return of
  }

  /** Decides at once where it can; else the request waits, and hears of the decision. */
  admit(subject: string, applicant: Applicant, now = nowUs(this.#clock)): Decision | Waiter {
    const verdict = this.#engine.admit(subject, applicant, now)
    this.#arm()
    if ('ticket' in verdict && this.#sync) {
      const { subjectWindow } = verdict.ticket
      if (subjectWindow.slack.isLow) this.#sync.again(subjectWindow)
    }
    if (!('waiter' in verdict)) return verdict
    if (verdict.asks) this.#sync?.ask(verdict.waiter)
    return verdict.waiter
  }

  /** Puts a request in flight whatever the figures say: it was in flight before, or nothing is to be refused. */
  begin(of: SubjectWindow): Ticket {
    const now = nowUs(this.#clock)
    const ticket = this.#engine.begin(this.current(of, now), 0, now)
    this.#arm()
    return ticket
  }

  /** Charges what a request took until `now`. */
  settle(ticket: Ticket, now: number): void {
    if (this.#engine.settle(ticket, now)) this.#sync?.publish(ticket.subjectWindow)
    if (ticket.subjectWindow.waiting.length > 0) this.#line.lookSoon(ticket.subjectWindow)
    this.#arm()
  }

  /** Charges what a request took until `now` and stops its time; it keeps the rest of its hold. */
  pause(ticket: Ticket, now: number): void {
    if (this.#engine.pause(ticket, now)) this.#sync?.publish(ticket.subjectWindow)
    this.#arm()
  }

  /** The time of a paused request goes on. */
  resume(ticket: Ticket, now: number): void {
    this.#engine.resume(ticket, now)
    this.#arm()
  }

  /** Takes a request back as if it had not been admitted. */
  release(ticket: Ticket): void {
    this.#engine.release(ticket, nowUs(this.#clock))
    if (ticket.subjectWindow.waiting.length > 0) this.#line.lookSoon(ticket.subjectWindow)
    this.#arm()
  }

  /** Leaves out time that a request waited for the throttle itself. */
  excuse(ticket: Ticket, us: number): void {
    this.#engine.excuse(ticket, us, nowUs(this.#clock))
  }

  /** Adds time that no request took, and publishes it at once. */
  charge(of: SubjectWindow, us: number): void {
    const now = nowUs(this.#clock)
    const s = this.current(of, now)
    this.#engine.charge(s, us, now)
    this.#sync?.publish(s)
    this.#arm()
  }

  /** What the subject has used in the window open now, in microseconds. */
  usedUs(of: SubjectWindow, now: number): number {
    return this.current(of, now).used(now)
  }

  /** The same as clients are told it: it does not fall within a window but by a reset. */
  shownUs(of: SubjectWindow, now: number): number {
    return this.current(of, now).shown(now)
  }

  /** Microseconds until the subject's window is over, at the latest. */
  endsInUs(of: SubjectWindow): number {
    const now = nowUs(this.#clock)
    return this.current(of, now).endsInUs(now)
  }

  /** The subject's window with the other processes' newest figures, if the store answers within the deadline. */
  async refresh(subject: string): Promise<SubjectWindow> {
    const s = this.subjectWindow(subject)
    await this.#sync?.refresh(s)
    return s
  }

  /**
   * Resets the subject's usage. A store that missed a deadline has two seconds to answer again.
   *
   * @throws {StoreDownError} where what the other processes charged cannot be known
   */
  async reset(subject: string): Promise<void> {
    const until = this.#clock.now() + RESET_WAITS_MS
    let s = await this.refresh(subject)
    while (this.isDegraded(s)) {
      if (this.#clock.now() >= until) throw new StoreDownError()
      await new Promise<void>((resolve) => this.#clock.after(RESET_ASKS_MS, resolve))
      s = await this.refresh(subject)
    }
    const now = nowUs(this.#clock)
    this.#engine.charge(s, -s.used(now), now)
    await this.refresh(subject)
  }

  /** Publishes what is not published, and lets go of the store. Safe to call twice. */
  close(): Promise<void> {
    return (this.#closed ??= this.#sync?.close() ?? Promise.resolve())
  }

  #arm(): void {
    this.#sync?.arm()
    if (this.#engine.waiting.size > 0) this.#line.arm()
    if (!this.#isSweeping) this.#sweep()
  }

  /** A few subjects at a time: a million of them must not stop the process. */
  #sweep(): void {
    const { subjects } = this.#engine
    this.#isSweeping = subjects.size > 0
    if (!this.#isSweeping) return
    this.#clock.after(SWEEP_MS, () => {
      const share = Math.ceil((subjects.active.size * SWEEP_MS) / SWEEP_ROUND_MS)
      this.#engine.rest(nowUs(this.#clock), SWEEP_LEAST + share)
      this.#sweep()
    })
  }
}
