import { randomBytes } from 'node:crypto'
import { type Clock, nowUs } from '../../http/clock'
import { type SyncedMessage, channels } from '../diagnostics'
import type { Answers, Waiter } from '../window/decision'
import { type Engine, answer } from '../window/engine'
import type { Sent, Shard, SubjectWindow } from '../window/subject-window'
import { Deadlines } from './deadlines'
import { DEADLINE_MS, ShardHealth, type ShardListener } from './shard-health'
import type { StoreHealth } from './store-health'
import { type SyncReply, giveUp, nextCommand, takeReply } from './sync-protocol'
import type { WaitingLine } from './waiting-line'

/** So many subjects may be under way: more would keep the store busy beyond the deadline of those who wait. */
const AT_ONCE = 250
/** So many at least, where the store takes so much longer than it can: other processes may ask as much of it. */
const AT_LEAST = 10
const SLOW_US = 20_000
/** Of what is due so much goes at once, or a part of it where that is more: requests that wait are not to wait for it. */
const DUE_AT_ONCE = 50
const DUE_PART = 1 / 4
/** The quickest answer counts for less with each that comes after it: the way to the store may have become longer. */
const FORGETTING = 1.001
/** A command that left with the request that waits for it is late when the request has waited too long. */
const ALMOST_LATE_US = (DEADLINE_MS - 5) * 1_000
/** How often at most the last figures are published at the end, where no answer came in time. */
const LAST_TRIES = 4
/** What is not handed over after so long at the end stays as a killed process leaves it. */
const CLOSING_MS = 5_000
/** Records that cannot be read are warned of at most so often. */
const WARNED_EVERY_MS = 60_000
/** Where every admission asks the store there is no staleness to halve; figures are then published this often. */
const TICK_WHEN_ALWAYS_ASKING_MS = 125
/** What is due is looked at in so many parts, so that it does not come all at once; a part takes so long at least. */
const PARTS = 8
const PART_LEAST_MS = 15

/**
 * Syncs one window with the store: at most one command of a subject is under way, each has its deadline, and what is not
 * urgent goes at a tick.
 */
export class SyncClient implements ShardListener {
  readonly #window: string
  /** Names this process in this window, until it is closed. */
  readonly #process = randomBytes(6).toString('base64url')
  readonly #engine: Engine
  readonly #health: StoreHealth
  readonly #clock: Clock
  readonly #line: WaitingLine
  /** A subject is looked at so long after it became due, at the latest, and how long before that at the soonest. */
  readonly #tickMs: number
  readonly #partMs: number
  readonly #waiters: Deadlines<Waiter>
  readonly #commands: Deadlines<UnderWay>
  readonly #refreshed = new Map<SubjectWindow, (() => void)[]>()
  #isTicking = false
  #isClosing = false
  /** Keeps all subjects after the end: it is down. */
  #nobody: Shard | undefined
  /** To be published as soon as there is room. */
  readonly #queue = new Set<SubjectWindow>()
  #underWay = 0
  /** Of these what was due. */
  #dueUnderWay = 0
  #atOnce = AT_ONCE
  #quickestUs = Infinity
  #warnedAt = -Infinity
  #onQuiet: (() => void) | undefined

  constructor(window: string, engine: Engine, health: StoreHealth, clock: Clock, line: WaitingLine) {
    this.#window = window
    this.#engine = engine
    this.#health = health
    this.#clock = clock
    this.#line = line
    this.#tickMs = engine.freshUs > 0 ? engine.freshUs / 2_000 : TICK_WHEN_ALWAYS_ASKING_MS
    this.#partMs = Math.max(this.#tickMs / PARTS, Math.min(this.#tickMs, PART_LEAST_MS))
    this.#waiters = new Deadlines(clock, DEADLINE_MS, isUndecided, (waiter) => this.#waitedTooLong(waiter))
    this.#commands = new Deadlines(clock, DEADLINE_MS, isUnderWay, ({ s, shard }) => this.#failed(s, late(), shard))
    health.join(this)
  }

  /** The server that keeps the windows of the subject with this id. */
  shardOf(id: string): Shard {
    return this.#nobody ?? this.#health.shardOf(id)
  }

  /** Asks about a request that cannot be decided from memory; it is decided within the deadline. */
  ask(waiter: Waiter): void {
    const s = waiter.subjectWindow
    this.#waiters.add(waiter)
    if (s.sent === undefined) this.#sync(s)
  }

  #waitedTooLong(waiter: Waiter): void {
    const s = waiter.subjectWindow
    if (!s.waiting.includes(waiter)) return // its client has gone
    const isLate = s.sent !== undefined && nowUs(this.#clock) - s.sent.at > ALMOST_LATE_US
    if (isLate) this.#failed(s, late(), s.shard)
    else this.#giveUp(s) // the store answers: the window has not begun there, or it was asked a second time
  }

  /** Asks again, and publishes what is due. Not what was put to rest: its subject may have newer figures by now. */
  again(s: SubjectWindow): void {
    if (this.#isToSync(s)) this.#sync(s)
  }

  #isToSync(s: SubjectWindow): boolean {
    return s.sent === undefined && !s.evicted && !this.#isClosing && !s.shard.isDown
  }

  /** Publishes now, or as soon as the command under way is answered. */
  publish(s: SubjectWindow): void {
    if (s.shard.isDown || this.#isClosing) return
    if (s.sent === undefined) this.#sync(s)
    else s.markUrgent()
  }

  /** Brings the other processes' newest figures, if the store answers within the deadline. */
  refresh(s: SubjectWindow): Promise<void> {
    this.#engine.locate(s, nowUs(this.#clock))
    if (s.shard.isDown) return Promise.resolve()
    return new Promise((resolve) => {
      const waiting = this.#refreshed.get(s)
      if (waiting) waiting.push(resolve)
      else this.#refreshed.set(s, [resolve])
      this.publish(s)
    })
  }

  /** Publishes at the next tick what is due. */
  arm(): void {
    if (this.#isTicking || this.#isClosing || !this.#engine.busy) return
    this.#isTicking = true
    // One subject alone wakes the process once a tick, not with each part.
    const dueAtMs = this.#engine.dueSince / 1_000 + this.#tickMs - this.#partMs
    this.#clock.after(Math.max(this.#partMs, Math.ceil(dueAtMs - this.#clock.now())), () => {
      this.#isTicking = false
      this.#tick()
    })
  }

  /** Hands all charges over, gives back what is only set aside, and lets go of the store. */
  async close(): Promise<void> {
    this.#isClosing = true // also where the store missed a deadline a moment ago: it may answer now
    await this.#handOver()
    await this.#health.leave(this)
    this.#nobody = {
      clock: this.#health.shardOf('').clock,
      isDown: true,
      downSince: -Infinity,
      isOnly: true,
      processes: 1,
    }
    for (const s of this.#engine.subjects.active.values()) {
      s.moveTo(this.#nobody)
      if (s.sent) this.#giveUp(s)
    }
  }

  /**
   * Tells the store for each subject that this process ends. A subject that was told keeps nothing of this process but
   * what it charged; where no answer comes the figures stay until the window ends, and only cost their bytes.
   */
  async #handOver(): Promise<void> {
    const until = this.#clock.now() + CLOSING_MS
    let left = [...this.#engine.holders(nowUs(this.#clock))]
    for (let i = 0; i < LAST_TRIES && left.length > 0; i++) {
      const untold: SubjectWindow[] = []
      for (let from = 0; from < left.length && this.#clock.now() < until; from += AT_ONCE) {
        for (const s of left.slice(from, from + AT_ONCE)) {
          s.slack.stop()
          if (s.sent) untold.push(s)
          else this.#sync(s, () => untold.push(s))
        }
        if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#onQuiet = resolve))
      }
      left = untold
    }
  }

  // --- ShardListener

  shardDown(shard: Shard): void {
    for (const s of this.#engine.subjects.active.values()) if (s.sent && s.shard === shard) this.#giveUp(s)
  }

  shardUp(shard: Shard): void {
    this.#engine.republish(shard, nowUs(this.#clock))
    this.#tick()
  }

  // --- one command and its answer

  /**
   * @param untold called where the store did not take it
   * @param isDue nothing waits for it
   */
  #sync(s: SubjectWindow, untold?: () => void, isDue = false): void {
    const command = nextCommand(this.#engine, s, this.#process, nowUs(this.#clock), this.#isClosing)
    const { sent, shard } = s
    if (sent === undefined || !(shard instanceof ShardHealth)) return
    this.#underWay++
    if (isDue) this.#dueUnderWay++
    this.#commands.add({ s, sent, shard })
    // Not by finally(): it makes two promises more for each sync.
    shard.server.sync(this.#window, command).then(
      (reply) => {
        try {
          this.#replied(s, sent, reply, untold)
        } finally {
          this.#ended(isDue)
        }
      },
      (err: unknown) => {
        try {
          untold?.()
          if (s.sent === sent) this.#failed(s, err, shard)
        } finally {
          this.#ended(isDue)
        }
      },
    )
  }

  #replied(s: SubjectWindow, sent: Sent, reply: SyncReply, untold: (() => void) | undefined): void {
    const now = nowUs(this.#clock)
    this.#emitSynced(sent, now)
    this.#adapt(now - sent.at)
    if (reply.unreadable !== undefined) this.#warnUnreadable(reply.unreadable)
    if (reply.written === undefined) untold?.()
    const { answers, againInUs } = takeReply(this.#engine, s, sent, reply, now)
    this.#answer(s, answers)
    if (this.#isClosing) return
    if (againInUs === 0) this.again(s)
    else if (againInUs !== undefined) this.#clock.after(againInUs / 1_000, () => this.again(s))
  }

  #ended(isDue: boolean): void {
    if (isDue) this.#dueUnderWay--
    if (--this.#underWay === 0) this.#onQuiet?.()
    if (this.#underWay <= this.#atOnce / 2 && this.#dueUnderWay <= DUE_AT_ONCE / 2) this.#drain()
  }

  /** How many may be under way follows from how long the store takes. */
  #adapt(tookUs: number): void {
    this.#quickestUs = Math.min(this.#quickestUs * FORGETTING, tookUs)
    if (tookUs > this.#quickestUs + SLOW_US) this.#atOnce = Math.max(AT_LEAST, this.#atOnce / 2)
    else this.#atOnce = Math.min(AT_ONCE, this.#atOnce + 1)
  }

  #warnUnreadable(cause: string): void {
    const now = this.#clock.now()
    if (now - this.#warnedAt < WARNED_EVERY_MS) return
    this.#warnedAt = now
    process.emitWarning(
      `the throttle's record of one subject cannot be read, so every process decides alone about it (${cause}); ` +
        'delete the key, or wait for its window to end',
      { code: 'TOLLGATE_UNREADABLE' },
    )
  }

  #emitSynced({ at }: Sent, now: number): void {
    if (!channels.synced.hasSubscribers) return
    const message = { window: this.#window, latencyMs: (now - at) / 1_000 }
    channels.synced.publish(message satisfies SyncedMessage)
  }

  #failed(s: SubjectWindow, cause: unknown, shard: Shard): void {
    if (shard instanceof ShardHealth) shard.failed(cause) // first: a request by itself is admitted where the server has been down for a while
    this.#giveUp(s)
  }

  #giveUp(s: SubjectWindow): void {
    this.#answer(s, giveUp(this.#engine, s, nowUs(this.#clock)))
  }

  #answer(s: SubjectWindow, answers: Answers): void {
    answer(answers)
    if (this.#engine.waiting.size > 0) this.#line.arm()
    const refreshed = this.#refreshed.get(s)
    if (refreshed) {
      this.#refreshed.delete(s)
      for (const resolve of refreshed) resolve()
    }
    this.arm()
  }

  #tick(): void {
    const now = nowUs(this.#clock)
    const dueSince = now - (this.#tickMs - this.#partMs) * 1_000
    for (const s of this.#engine.tick(now, dueSince)) this.#queue.add(s)
    this.#drain()
    this.arm()
  }

  /** Publishes what is due, then what the store may have lost: as much at a time as it can take. */
  #drain(): void {
    if (this.#isClosing || (this.#queue.size === 0 && !this.#engine.isRepublishing)) return
    const most = Math.max(DUE_AT_ONCE, this.#queue.size * DUE_PART)
    const isRoom = () => this.#underWay < this.#atOnce && this.#dueUnderWay < most
    for (const s of this.#queue) {
      if (!isRoom()) return
      this.#queue.delete(s)
      if (this.#isToSync(s)) this.#sync(s, undefined, true)
    }
    while (isRoom()) {
      const [s] = this.#engine.publishAgain(nowUs(this.#clock), 1)
      if (s === undefined) return
      if (this.#isToSync(s)) this.#sync(s, undefined, true)
    }
  }
}

/** A command under way, and the server it went to. */
interface UnderWay {
  readonly s: SubjectWindow
  readonly sent: Sent
  readonly shard: ShardHealth
}

function isUnderWay({ s, sent }: UnderWay): boolean {
  return s.sent === sent
}

/** No answer has come that knew of it. */
function isUndecided({ applicant, isConsidered }: Waiter): boolean {
  return applicant !== undefined && !isConsidered
}

function late(): Error {
  return new Error(`no answer in ${DEADLINE_MS} ms`)
}
