import {
  type SyncCommand,
  type SyncReply,
  giveUp,
  nextCommand,
  takeReply,
} from '../../../../lib/throttle/sync/sync-protocol'
import type {
  Answers,
  Decision,
  RefusalReason,
  ThrottleRefusal,
  Ticket,
  WaitRule,
} from '../../../../lib/throttle/window/decision'
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
  /** How requests wait for room; default: not at all. */
  readonly wait?: WaitRule
  /** 0: all windows begin with the simulation; by default each subject has its own phase. */
  readonly phase?: 0
}

export interface Refused {
  readonly reason: RefusalReason
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
const LOOK_US = 25_000
/** What a route that is not known yet is priced at, at most. */
const COLD_US = 3_000_000
const NO_WAIT: WaitRule = { maxUs: 0, perSubject: 0 }
const CANARY_MS = 60_000

/** The shell round the real engine, as SharedWindow and ShardHealth are in a real process; the script is its model. */
export class Host {
  /** What each window came to when it was left. */
  readonly left: WindowTotal[] = []
  readonly #engine: Engine
  readonly #process: SimulatedProcess
  readonly #redis: SimulatedRedis
  readonly #options: WindowOptions
  readonly #shard: { readonly clock: StoreClock; isDown: boolean; downSince: number; processes: number }
  #knowsTime = false
  #ticking = false
  #looking = false
  #run = 0
  #beats = 0
  #beatsHeard = 0
  readonly #later = new Set<SubjectWindow>()

  constructor(process: SimulatedProcess, redis: SimulatedRedis, options: WindowOptions, clockErrorUs: number) {
    this.#process = process
    this.#redis = redis
    this.#options = options
    const guessed = redis.timeUs() - process.nowUs() + clockErrorUs
    this.#shard = { clock: new StoreClock(guessed, 1e6), isDown: false, downSince: 0, processes: 1 }
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
    const { limitUs, wait = NO_WAIT } = this.#options
    const decided = (d: Decision) => ('ticket' in d ? admitted(d.ticket) : refused(this.#refused(subject, d)))
    const price = () => estimateUs ?? Math.min(limitUs / 2, COLD_US)
    const applicant = { price, limitUs, wait, gone: false, waits: () => undefined, decided }
    const verdict = this.#engine.admit(subject, applicant, this.nowUs())
    this.#arm()
    if (!('waiter' in verdict)) return decided(verdict)
    const { waiter, asks } = verdict
    const s = waiter.subjectWindow
    if (!asks) return
    this.#process.after(this.#deadlineUs, () => {
      if (!waiter.isConsidered && s.waiting.includes(waiter)) this.#giveUp(s)
    })
    if (!s.sent && !this.#later.has(s)) this.#sync(s)
  }

  get #deadlineUs(): number {
    return this.#options.deadlineUs ?? 100_000
  }

  #refused(subject: string, { refusal }: { refusal: ThrottleRefusal }): Refused {
    const s = this.#engine.subjects.active.get(subject) as SubjectWindow
    return {
      reason: refusal.reason,
      retryAfterSec: Math.max(1, Math.ceil(refusal.retryAfterUs / 1e6)),
      endMs: s.end / 1000,
      knowsTime: this.#knowsTime,
      isDown: this.#shard.isDown,
    }
  }

  settle(ticket: Ticket): void {
    if (this.#engine.settle(ticket, this.nowUs())) this.#publish(ticket.subjectWindow)
    this.#look(ticket.subjectWindow)
    this.#arm()
  }

  #publish(s: SubjectWindow): void {
    if (s.sent || this.#later.has(s)) s.markUrgent()
    else this.#sync(s)
  }

  #sync(s: SubjectWindow): void {
    const asked = nextCommand(this.#engine, s, this.#process.id, this.nowUs())
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
    const was = this.#redis.window(key)?.hash
    const { hash, reply } = syncModel(was, this.#redis.timeUs(), c)
    if (!reply.written || hash === undefined) return reply
    const before = was?.fields.get(c.process)?.spent ?? 0
    if (c.spent < before) this.#redis.shrunk.push({ key, before, after: c.spent })
    this.#redis.set(key, { subject: c.id, endMs: c.ends / 1000, hash, expiresMs: c.ends / 1000 })
    return reply
  }

  #giveUp(s: SubjectWindow): void {
    if (!this.#shard.isDown) this.#shard.downSince = this.nowUs()
    this.#shard.isDown = true
    this.#answer(giveUp(this.#engine, s, this.nowUs()))
  }

  #up(): void {
    this.#shard.isDown = false
    this.republish()
  }

  #answer(answers: Answers): void {
    for (const [waiter, decision] of answers) waiter.applicant?.decided(decision)
    this.#arm()
  }

  /** As WaitingLine does: after a request has ended, and by a timer while some wait. */
  #look(s: SubjectWindow): void {
    if (s.waiting.length === 0) return
    const now = this.nowUs()
    this.#engine.enter(s, now)
    this.#answer(this.#engine.decideWaiting(s, 'memory', now))
    if (s.waiting.length > 0 && s.isAskDue(now) && !s.sent && !this.#later.has(s) && !this.#shard.isDown) this.#sync(s)
  }

  #armLooks(): void {
    if (this.#looking || this.#engine.waiting.size === 0) return
    this.#looking = true
    this.#process.after(LOOK_US, () => {
      this.#looking = false
      for (const s of [...this.#engine.waiting]) this.#look(s)
      this.#armLooks()
    })
  }

  #arm(): void {
    this.#armLooks()
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
