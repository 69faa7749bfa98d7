import { type Clock, nowUs } from '../../http/clock'
import { Deadlines } from './deadlines'
import { type SyncedMessage, channels } from '../diagnostics'
import type { Engine } from '../window/engine'
import { type Answers, command, giveUp, take } from './sync-protocol'
import { DEADLINE_MS, type ShardHealth } from './shard-health'
import type { Sent, Shard, SubjectWindow, Waiter } from '../window/subject-window'
import type { LinkListener, StoreHealth } from './store-health'

/** So many commands are sent in one go, and the next after a pause in which the store does what is more urgent. */
const AT_ONCE = 250
const BETWEEN_MS = 5
/** What is said at the end is said again, so often at most, where no answer came in time. */
const LAST_TRIES = 4
/** With every admission asking the store there is no staleness to halve; figures are published this often. */
const TICK_WHEN_ALWAYS_ASKING_MS = 125

/**
 * What one window's engine and the store say to each other: one command of a subject at a time, each with its deadline,
 * and a tick for what is not urgent.
 */
export class SyncClient implements LinkListener {
  readonly #window: string
  readonly #engine: Engine
  readonly #link: StoreHealth
  readonly #clock: Clock
  readonly #tickMs: number
  readonly #asking: Deadlines<Waiter>
  readonly #sending: Deadlines<UnderWay>
  readonly #refreshed = new Map<SubjectWindow, (() => void)[]>()
  #ticking = false
  #closing = false
  #left: Shard | undefined
  #underWay = 0
  #quiet: (() => void) | undefined

  constructor(window: string, engine: Engine, link: StoreHealth, clock: Clock) {
    this.#window = window
    this.#engine = engine
    this.#link = link
    this.#clock = clock
    this.#tickMs = engine.freshUs > 0 ? engine.freshUs / 2_000 : TICK_WHEN_ALWAYS_ASKING_MS
    this.#asking = new Deadlines(clock, DEADLINE_MS, isUndecided, (waiter) => this.#undecided(waiter))
    this.#sending = new Deadlines(clock, DEADLINE_MS, isUnderWay, ({ s, shard }) => this.#missed(s, late(), shard))
    link.join(this)
  }

  /** Who keeps the windows of the subject with this id; after the end nobody does. */
  shardOf(id: string): Shard {
    return this.#left ?? this.#link.shardOf(id)
  }

  /** Asks about a request that cannot be decided from memory; it is decided within the deadline. */
  ask(waiter: Waiter): void {
    const { standing: s } = waiter
    this.#asking.add(waiter)
    if (s.sent === undefined) this.#sync(s)
  }

  #undecided(waiter: Waiter): void {
    const { standing: s } = waiter
    if (!s.waiting.includes(waiter)) return // its client has gone
    if (s.sent) this.#missed(s, late(), this.#link.shardOf(s.id))
    else this.#giveUp(s) // the store answers; it is the window that has not begun there
  }

  /** Publishes now, or as soon as the command under way is answered. */
  publish(s: SubjectWindow): void {
    if (s.shard.isDown) return
    if (s.sent === undefined) this.#sync(s)
    else s.urgent = true
  }

  /** Brings the others' newest figures, if they can be had within the deadline. */
  refresh(s: SubjectWindow): Promise<void> {
    if (s.shard.isDown) return Promise.resolve()
    return new Promise((resolve) => {
      const waiting = this.#refreshed.get(s)
      if (waiting) waiting.push(resolve)
      else this.#refreshed.set(s, [resolve])
      this.publish(s)
    })
  }

  /** Sees to it that what is due is published at the next tick. */
  arm(): void {
    if (this.#ticking || this.#closing || !this.#engine.busy) return
    this.#ticking = true
    this.#clock.after(this.#tickMs, () => {
      this.#ticking = false
      this.#tick()
    })
  }

  /** Publishes what is not published, gives back what is only set aside, and lets go of the store. */
  async close(): Promise<void> {
    this.#closing = true // also where the store missed a deadline a moment ago: it may answer now
    for (let i = 0; i < LAST_TRIES && this.#sayAll() > 0; i++) {
      await new Promise<void>((resolve) => (this.#quiet = resolve))
    }
    await this.#link.leave(this)
    this.#left = { clock: this.#link.shardOf('').clock, isDown: true }
    for (const s of this.#engine.roster.active.values()) if (s.sent) this.#giveUp(s)
  }

  /** How many commands are under way now, with what was not said. */
  #sayAll(): number {
    for (const s of this.#engine.roster.active.values()) {
      if (!s.dirty && s.slack === 0 && s.running === 0) continue
      s.slack = s.demand = s.lastDemand = 0
      if (s.sent) s.urgent = true
      else this.#sync(s)
    }
    return this.#underWay
  }

  // --- LinkListener

  down(shard: Shard): void {
    for (const s of this.#engine.roster.active.values()) if (s.sent && s.shard === shard) this.#giveUp(s)
  }

  up(shard: Shard): void {
    this.#engine.republish(shard, nowUs(this.#clock))
    this.#tick()
  }

  // --- one command and its answer

  #sync(s: SubjectWindow): void {
    const asked = command(this.#engine, s, nowUs(this.#clock))
    const { sent } = s
    if (sent === undefined) return
    const shard = this.#link.shardOf(s.id)
    this.#underWay++
    this.#sending.add({ s, sent, shard })
    shard.server
      .sync(this.#window, asked)
      .then(
        (reply) => {
          this.#tellSynced(sent)
          const { answers, againInUs } = take(this.#engine, s, sent, reply, nowUs(this.#clock))
          this.#answer(s, answers)
          if (againInUs === 0) this.#again(s)
          else if (againInUs !== undefined) this.#clock.after(againInUs / 1_000, () => this.#again(s))
        },
        (err: unknown) => {
          if (s.sent === sent) this.#missed(s, err, shard)
        },
      )
      .finally(() => {
        if (--this.#underWay === 0) this.#quiet?.()
      })
  }

  #tellSynced({ at }: Sent): void {
    if (!channels.synced.hasSubscribers) return
    const told = { window: this.#window, latencyMs: (nowUs(this.#clock) - at) / 1_000 }
    channels.synced.publish(told satisfies SyncedMessage)
  }

  #again(s: SubjectWindow): void {
    if (s.sent === undefined && (this.#closing || !s.shard.isDown)) this.#sync(s)
  }

  #missed(s: SubjectWindow, cause: unknown, shard: ShardHealth): void {
    this.#giveUp(s)
    shard.failed(cause)
  }

  #giveUp(s: SubjectWindow): void {
    this.#answer(s, giveUp(this.#engine, s, nowUs(this.#clock)))
  }

  #answer(s: SubjectWindow, answers: Answers): void {
    for (const [waiter, decision] of answers) {
      const { listener } = waiter
      waiter.listener = undefined // its deadline is kept for longer than the request, which is to be let go of
      listener?.decided(decision)
    }
    const refreshed = this.#refreshed.get(s)
    if (refreshed) {
      this.#refreshed.delete(s)
      for (const resolve of refreshed) resolve()
    }
    this.arm()
  }

  #tick(): void {
    this.#publishAll(this.#engine.tick(nowUs(this.#clock)))
    this.arm()
  }

  /** Some at a time: thousands at once would keep the store busy beyond the deadline of those who wait. */
  #publishAll(standings: readonly SubjectWindow[], from = 0): void {
    for (const s of standings.slice(from, from + AT_ONCE)) this.#again(s)
    const next = from + AT_ONCE
    if (next < standings.length) this.#clock.after(BETWEEN_MS, () => this.#publishAll(standings, next))
  }
}

/** A command under way, and to whom. */
interface UnderWay {
  readonly s: SubjectWindow
  readonly sent: Sent
  readonly shard: ShardHealth
}

function isUnderWay({ s, sent }: UnderWay): boolean {
  return s.sent === sent
}

function isUndecided({ listener }: Waiter): boolean {
  return listener !== undefined
}

function late(): Error {
  return new Error(`no answer in ${DEADLINE_MS} ms`)
}
