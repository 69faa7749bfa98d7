import { type Clock, nowUs } from '../http/clock'
import { Calendar } from './calendar'
import { Deadlines } from './deadlines'
import { Engine } from './engine'
import { type Answers, command, giveUp, take } from './exchange'
import { identify } from './identify'
import { type Decision, type Standing, type Ticket, used } from './standing'
import { StoreClock } from './store-clock'
import { DEADLINE_MS, type LinkListener, type StoreLink } from './store-link'

/** How often a bounded number of subjects is looked at, to drop those whose window is over. */
const SWEEP_MS = 100
const SWEEP_LEAST = 20
/** With every admission asking the store there is no staleness to halve; figures are published this often. */
const TICK_WHEN_ALWAYS_ASKING_MS = 125

/**
 * A named window over all subjects: the engine with what it lacks, timers and the store. Without a link it is this
 * process's own.
 */
export class SharedWindow implements LinkListener {
  readonly engine: Engine
  readonly #clock: Clock
  readonly #link: StoreLink | undefined
  readonly #tickMs: number
  readonly #deadlines: Deadlines
  readonly #refreshed = new Map<Standing, (() => void)[]>()
  #ticking = false
  #sweeping = false
  #underWay = 0
  #quiet: (() => void) | undefined
  #closed: Promise<void> | undefined

  constructor(
    readonly name: string,
    readonly windowMs: number,
    maxStaleMs: number,
    clock: Clock,
    link?: StoreLink,
  ) {
    const windowUs = windowMs * 1_000
    const storeClock = link?.storeClock ?? new StoreClock(Math.round(clock.date() * 1_000) - nowUs(clock), 0)
    this.engine = new Engine({
      calendar: new Calendar(windowUs, storeClock),
      freshUs: maxStaleMs * 1_000,
      shared: link !== undefined,
      identify: (subject) => identify(subject, windowUs),
    })
    this.#clock = clock
    this.#link = link
    this.#tickMs = maxStaleMs > 0 ? maxStaleMs / 2 : TICK_WHEN_ALWAYS_ASKING_MS
    this.#deadlines = new Deadlines(clock, DEADLINE_MS)
    if (link) {
      this.engine.alone = link.isDown
      link.join(this)
    }
  }

  /** True while this process decides without the store it was given. */
  get degraded(): boolean {
    return this.#link !== undefined && this.engine.alone
  }

  /** Decides at once where it can; else `decided` is called, within the deadline. */
  admit(
    subject: string,
    estimate: number | undefined,
    limit: number,
    decided: (decision: Decision) => void,
  ): Decision | undefined {
    const verdict = this.engine.admit(subject, estimate, limit, nowUs(this.#clock))
    this.#arm()
    if (!('waiter' in verdict)) return verdict
    const { waiter } = verdict
    waiter.decided = decided
    const s = waiter.standing
    this.#deadlines.add(() => {
      if (!s.waiting.includes(waiter)) return
      if (s.sent) this.#missed(s, new Error(`no answer in ${DEADLINE_MS} ms`))
      else this.#giveUp(s) // the store answers; it is the window that has not begun there
    })
    if (s.sent === undefined) this.#sync(s)
    return undefined
  }

  /** Puts a request in flight whatever the figures say: it was in flight before, or nothing is to be refused. */
  begin(s: Standing): Ticket {
    const now = nowUs(this.#clock)
    this.engine.enter(s, now)
    const ticket = this.engine.begin(s, 0, now)
    this.#arm()
    return ticket
  }

  settle(ticket: Ticket, now: number): void {
    if (this.engine.settle(ticket, now)) this.#publish(ticket.standing)
    this.#arm()
  }

  release(ticket: Ticket): void {
    this.engine.release(ticket, nowUs(this.#clock))
    this.#arm()
  }

  excuse(ticket: Ticket, us: number): void {
    this.engine.excuse(ticket, us, nowUs(this.#clock))
  }

  charge(s: Standing, us: number): void {
    this.engine.charge(s, us, nowUs(this.#clock))
    this.#publish(s)
    this.#arm()
  }

  /** What the subject has used in the window open now, in microseconds. */
  usedUs(s: Standing, now: number): number {
    this.engine.enter(s, now)
    return used(s, now)
  }

  /** Until the subject's window is over, at the latest. */
  endsInUs(s: Standing): number {
    const now = nowUs(this.#clock)
    this.engine.enter(s, now)
    return this.engine.calendar.endsInUs(s, now)
  }

  /** The subject's standing with the others' newest figures, if they can be had within the deadline. */
  async refresh(subject: string): Promise<Standing> {
    const s = this.engine.standing(subject, undefined, nowUs(this.#clock))
    if (this.engine.alone) return s
    await new Promise<void>((resolve) => {
      const waiting = this.#refreshed.get(s)
      if (waiting) waiting.push(resolve)
      else this.#refreshed.set(s, [resolve])
      this.#publish(s)
    })
    return s
  }

  /** Gives the subject its window back. */
  async reset(subject: string): Promise<void> {
    const s = await this.refresh(subject)
    const now = nowUs(this.#clock)
    this.engine.charge(s, -used(s, now), now)
    await this.refresh(subject)
  }

  /** Publishes what is not published, gives back what is only set aside, and lets go of the store. Safe to call twice. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    if (!this.engine.alone) {
      for (const s of this.engine.subjects.values()) {
        if (!s.dirty && s.slack === 0 && s.running === 0) continue
        s.slack = s.demand = s.lastDemand = 0
        this.#publish(s)
      }
      if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#quiet = resolve))
    }
    await this.#link?.leave(this)
    this.engine.alone = true
  }

  // --- the store

  down(): void {
    this.engine.alone = true
    for (const s of this.engine.subjects.values()) if (s.sent) this.#giveUp(s)
  }

  up(): void {
    this.engine.alone = false
    this.engine.republish()
    this.#tick()
  }

  /** Publishes now, or as soon as the command under way is answered. */
  #publish(s: Standing): void {
    if (this.engine.alone) return
    if (s.sent === undefined) this.#sync(s)
    else s.urgent = true
  }

  #sync(s: Standing): void {
    const link = this.#link
    if (link === undefined) return
    const asked = command(this.engine, s, nowUs(this.#clock))
    const { sent } = s
    if (sent === undefined) return
    this.#underWay++
    this.#deadlines.add(() => {
      if (s.sent === sent) this.#missed(s, new Error(`no answer in ${DEADLINE_MS} ms`))
    })
    link.store
      .sync(this.name, asked)
      .then(
        (reply) => {
          const { answers, againInUs } = take(this.engine, s, sent, reply, nowUs(this.#clock))
          this.#answer(s, answers)
          if (againInUs === 0) this.#again(s)
          else if (againInUs !== undefined) this.#clock.after(againInUs / 1_000, () => this.#again(s))
        },
        (err: unknown) => {
          if (s.sent === sent) this.#missed(s, err)
        },
      )
      .finally(() => {
        if (--this.#underWay === 0) this.#quiet?.()
      })
  }

  #again(s: Standing): void {
    if (s.sent === undefined && !this.engine.alone) this.#sync(s)
  }

  #missed(s: Standing, cause: unknown): void {
    this.#giveUp(s)
    this.#link?.failed(cause)
  }

  #giveUp(s: Standing): void {
    this.#answer(s, giveUp(this.engine, s, nowUs(this.#clock)))
  }

  #answer(s: Standing, answers: Answers): void {
    for (const [waiter, decision] of answers) waiter.decided?.(decision)
    const refreshed = this.#refreshed.get(s)
    if (refreshed) {
      this.#refreshed.delete(s)
      for (const resolve of refreshed) resolve()
    }
    this.#arm()
  }

  // --- timers

  #arm(): void {
    if (!this.#ticking && this.engine.due.size > 0 && !this.engine.alone) {
      this.#ticking = true
      this.#clock.after(this.#tickMs, () => {
        this.#ticking = false
        this.#tick()
      })
    }
    if (!this.#sweeping) this.#sweep()
  }

  #tick(): void {
    if (this.engine.alone) return
    for (const s of this.engine.tick(nowUs(this.#clock))) this.#sync(s)
    this.#arm()
  }

  /** One round a window, a little at a time: a million subjects must not stop the process. */
  #sweep(): void {
    this.#sweeping = this.engine.subjects.size > 0
    if (!this.#sweeping) return
    this.#clock.after(SWEEP_MS, () => {
      const share = Math.ceil((this.engine.subjects.size * SWEEP_MS) / this.windowMs)
      this.engine.forget(nowUs(this.#clock), SWEEP_LEAST + share)
      this.#sweep()
    })
  }
}
