import {
  type Answers,
  type SyncCommand,
  type SyncReply,
  giveUp,
  nextCommand,
  takeReply,
} from '../../../../lib/throttle/sync/sync-protocol'
import type { Decision, Ticket } from '../../../../lib/throttle/window/decision'
import { Engine } from '../../../../lib/throttle/window/engine'
import { StoreClock } from '../../../../lib/throttle/window/store-clock'
import type { SubjectWindow } from '../../../../lib/throttle/window/subject-window'
import { syncModel } from './model'
import type { SimulatedProcess } from './simulated-process'
import { EPOCH_US, type SimulatedRedis } from './simulated-redis'

export interface WindowOptions {
  readonly limitUs: number
  readonly windowUs: number
  /** How old the others' figures may be. */
  readonly freshUs: number
  /** What a sync may take; default 100 ms. */
  readonly deadlineUs?: number
  /** How far a process's wall clock may be off before it has heard from Redis; default 300 ms. */
  readonly clockErrorUs?: number
  /** 0: all windows begin with the simulation; by default each subject has its own phase. */
  readonly phase?: 0
}

export interface Refused {
  readonly retryAfterSec: number
  /** The end of the window that refused, by Redis's clock. */
  readonly endMs: number
  /** Whether the process has heard Redis's clock at all. */
  readonly knowsTime: boolean
  readonly isDown: boolean
}

/** What a process holds to be spent in a window. */
export interface WindowTotal {
  readonly subject: string
  readonly endMs: number
  readonly spentUs: number
}

const BEAT_US = 1_000_000
const CANARY_MS = 60_000

/** The shell round the real engine, as SharedWindow and ShardHealth are in a real process; the script is its model. */
export class Host {
  /** What each window came to when it was left. */
  readonly left: WindowTotal[] = []
  readonly #engine: Engine
  readonly #process: SimulatedProcess
  readonly #redis: SimulatedRedis
  readonly #options: WindowOptions
  readonly #shard: { readonly clock: StoreClock; isDown: boolean }
  #knowsTime = false
  #ticking = false
  #run = 0
  #beats = 0
  #beatsHeard = 0
  readonly #later = new Set<SubjectWindow>()

  constructor(process: SimulatedProcess, redis: SimulatedRedis, options: WindowOptions, clockErrorUs: number) {
    this.#process = process
    this.#redis = redis
    this.#options = options
    const guessed = redis.timeUs() - process.nowUs() + clockErrorUs
    this.#shard = { clock: new StoreClock(guessed, 1e6), isDown: false }
    this.#engine = new Engine({
      windowUs: options.windowUs,
      freshUs: options.freshUs,
      shared: true,
      identify: (subject) => ({ id: subject, phase: this.#phaseOf(subject) }),
      shardOf: () => this.#shard,
      ended: (s, us) => void this.left.push({ subject: s.subject, endMs: s.end / 1000, spentUs: us }),
    })
    this.#beat()
  }

  #phaseOf(subject: string): number {
    const { windowUs, phase } = this.#options
    if (phase === 0) return (windowUs - (EPOCH_US % windowUs)) % windowUs
    let hash = 2166136261
    for (const c of subject) hash = Math.imul(hash ^ c.charCodeAt(0), 16777619) >>> 0
    return hash % windowUs
  }

  nowUs(): number {
    return Math.round(this.#process.nowUs())
  }

  /** @param estimateUs what the request is expected to take; undefined: a route that is not known yet */
  admit(
    subject: string,
    estimateUs: number | undefined,
    admitted: (ticket: Ticket) => void,
    refused: (why: Refused) => void,
  ): void {
    const verdict = this.#engine.admit(subject, estimateUs, this.#options.limitUs, this.nowUs())
    this.#arm()
    const decided = (d: Decision) => ('ticket' in d ? admitted(d.ticket) : refused(this.#refused(subject, d)))
    if (!('waiter' in verdict)) return decided(verdict)
    const { waiter } = verdict
    const s = waiter.subjectWindow
    waiter.listener = { gone: false, decided }
    this.#process.after(this.#deadlineUs, () => {
      if (s.waiting.includes(waiter)) this.#giveUp(s)
    })
    if (!s.sent && !this.#later.has(s)) this.#sync(s)
  }

  get #deadlineUs(): number {
    return this.#options.deadlineUs ?? 100_000
  }

  #refused(subject: string, { refusal }: { refusal: { retryAfterUs: number } }): Refused {
    const s = this.#engine.subjects.active.get(subject) as SubjectWindow
    return {
      retryAfterSec: Math.max(1, Math.ceil(refusal.retryAfterUs / 1e6)),
      endMs: s.end / 1000,
      knowsTime: this.#knowsTime,
      isDown: this.#shard.isDown,
    }
  }

  settle(ticket: Ticket): void {
    if (this.#engine.settle(ticket, this.nowUs())) this.#publish(ticket.subjectWindow)
    this.#arm()
  }

  #publish(s: SubjectWindow): void {
    if (s.sent || this.#later.has(s)) s.markUrgent()
    else this.#sync(s)
  }

  #sync(s: SubjectWindow): void {
    const asked = nextCommand(this.#engine, s, this.nowUs())
    const sent = s.sent
    if (!sent) return
    this.#process.send(
      () => this.#atRedis(asked),
      (reply) => {
        this.#knowsTime = true
        if (this.#shard.isDown) this.#up()
        const { answers, againInUs } = takeReply(this.#engine, s, sent, reply, this.nowUs())
        this.#answer(answers)
        if (againInUs === undefined || s.sent || this.#later.has(s)) return
        if (againInUs === 0) return this.#sync(s)
        this.#later.add(s)
        this.#process.after(againInUs + 100, () => {
          this.#later.delete(s)
          if (!s.sent) this.#sync(s)
        })
      },
    )
    this.#process.after(this.#deadlineUs, () => {
      if (s.sent === sent) this.#giveUp(s)
    })
  }

  #atRedis(c: SyncCommand): SyncReply {
    const key = `${c.id}/${c.number}`
    const fields = new Map(this.#redis.window(key)?.fields)
    const before = fields.get(this.#process.id)?.spent ?? 0
    const reply = syncModel(fields, this.#redis.timeUs(), this.#process.id, c)
    if (reply.written && c.spent < before) this.#redis.shrunk.push({ key, before, after: c.spent })
    if (reply.written) this.#redis.set(key, { subject: c.id, endMs: c.end / 1000, fields, expiresMs: c.end / 1000 })
    return reply
  }

  #giveUp(s: SubjectWindow): void {
    this.#shard.isDown = true
    this.#answer(giveUp(this.#engine, s, this.nowUs()))
  }

  #up(): void {
    this.#shard.isDown = false
    this.republish()
  }

  #answer(answers: Answers): void {
    for (const [waiter, decision] of answers) waiter.listener?.decided(decision)
    this.#arm()
  }

  #arm(): void {
    if (this.#ticking || !this.#engine.busy) return
    this.#ticking = true
    this.#process.after(this.#options.freshUs / 2, () => {
      this.#ticking = false
      for (const s of this.#engine.tick(this.nowUs())) if (!this.#later.has(s)) this.#sync(s)
      this.#arm()
    })
  }

  /** Redis may have lost what it was told: after a reconnect, and where the beat finds it. */
  republish(): void {
    this.#engine.republish(this.#shard, this.nowUs())
    this.#arm()
  }

  /** Every second: Redis's time, whether it is the same one, and whether it still has what was written. */
  #beat(): void {
    const beat = ++this.#beats
    const key = `canary:${this.#process.id}`
    const at = this.nowUs()
    this.#process.send(
      () => {
        const redis = this.#redis
        const found = redis.canary(key)?.beat ?? 0
        if (found < beat) redis.set(key, { beat, expiresMs: Math.floor(redis.timeUs() / 1000) + CANARY_MS })
        return { found, run: redis.runId, time: redis.timeUs() }
      },
      ({ found, run, time }) => {
        this.#knowsTime = true
        this.#shard.clock.learn(at, this.nowUs(), time)
        const lost = (this.#run !== 0 && this.#run !== run) || (found < this.#beatsHeard && this.#beatsHeard < beat)
        if (lost || this.#shard.isDown) this.#up()
        this.#run = run
        this.#beatsHeard = Math.max(beat, this.#beatsHeard)
      },
    )
    this.#process.after(BEAT_US, () => this.#beat())
  }

  /** The windows that are open now. */
  totals(): WindowTotal[] {
    return [...this.#engine.subjects.active.values()].map((s) => ({
      subject: s.subject,
      endMs: s.end / 1000,
      spentUs: s.own.total(this.nowUs()),
    }))
  }
}
