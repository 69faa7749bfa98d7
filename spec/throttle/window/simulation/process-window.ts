import { type Clock, nowUs } from '../../../../lib/http/clock'
import { StoreHealth } from '../../../../lib/throttle/sync/store-health'
import { SyncClient } from '../../../../lib/throttle/sync/sync-client'
import { WaitingLine } from '../../../../lib/throttle/sync/waiting-line'
import type { ThrottleStore } from '../../../../lib/throttle/sync/store'
import type { Applicant, Decision, Ticket, Waiter, WaitRule } from '../../../../lib/throttle/window/decision'
import { Engine } from '../../../../lib/throttle/window/engine'
import { subjectId } from '../../../../lib/throttle/window/subject-id'
import type { Shard, SubjectWindow } from '../../../../lib/throttle/window/subject-window'

export interface WindowOptions {
  readonly limitUs: number
  readonly windowUs: number
  /** How old the others' figures may be. */
  readonly freshUs: number
  /** How requests wait for room; default: not at all. */
  readonly wait?: WaitRule
  /** Subjects are put to rest; default true. What was charged to one at rest cannot be told where clocks are set. */
  readonly rests?: boolean
}

interface Charged {
  /** By number; a window may be entered twice, where the store's clock was set back. */
  readonly over: Map<number, number>
  open: { readonly number: number; readonly us: number } | undefined
}

const SWEEP_MS = 500
const SWEEP_MOST = 100

/** A window of one process, as SharedWindow is: the same engine, client and line, with what was charged noted down. */
export class ProcessWindow {
  readonly engine: Engine
  readonly shard: Shard
  /** What this process charged to each window, by subject. */
  readonly #charged = new Map<string, Charged>()
  readonly #clock: Clock
  readonly #sync: SyncClient
  readonly #line: WaitingLine
  readonly #rests: boolean
  #isSweeping = false

  constructor(clock: Clock, store: ThrottleStore, { windowUs, freshUs, rests = true }: WindowOptions) {
    this.#clock = clock
    this.#rests = rests
    const health = StoreHealth.of(store, clock)
    this.engine = new Engine({
      windowUs,
      freshUs,
      shared: true,
      identify: (subject) => subjectId(subject, windowUs),
      shardOf: (id) => this.#sync.shardOf(id),
      ended: (s, us) => this.#ended(s, us),
    })
    this.#line = new WaitingLine(this.engine, clock, (s) => this.#sync.again(s))
    this.#sync = new SyncClient('default', this.engine, health, clock, this.#line)
    this.shard = health.shardOf('')
  }

  #ended(s: SubjectWindow, us: number): void {
    const charged = this.#chargedBy(s.subject)
    if (charged.open?.number !== s.own.number) this.#forgotten(charged, s.own.number)
    charged.open = undefined
    charged.over.set(s.own.number, us + (charged.over.get(s.own.number) ?? 0))
  }

  /** Notes what it has charged to the windows that are open. */
  note(): void {
    const now = nowUs(this.#clock)
    for (const s of this.engine.subjects.active.values()) {
      const charged = this.#chargedBy(s.subject)
      const { number } = s.own
      if (charged.open && charged.open.number !== number) this.#forgotten(charged, number)
      charged.open = { number, us: s.own.total(now) }
    }
  }

  /** A subject at rest was forgotten after its window; or its window goes by another number: the store's clock was set. */
  #forgotten({ over, open }: Charged, number: number): void {
    if (open && open.number < number) over.set(open.number, open.us + (over.get(open.number) ?? 0))
  }

  #chargedBy(subject: string): Charged {
    let charged = this.#charged.get(subject)
    if (charged === undefined) {
      charged = { over: new Map<number, number>(), open: undefined }
      this.#charged.set(subject, charged)
    }
    return charged
  }

  /** What it charged to one window. */
  chargedTo(subject: string, number: number): number {
    const { over, open } = this.#chargedBy(subject)
    return (over.get(number) ?? 0) + (open?.number === number ? open.us : 0)
  }

  /** What it charged to all windows of all subjects. */
  get chargedUs(): number {
    let total = 0
    for (const { over, open } of this.#charged.values()) {
      for (const us of over.values()) total += us
      total += open?.us ?? 0
    }
    return total
  }

  admit(subject: string, applicant: Applicant): Decision | Waiter {
    const verdict = this.engine.admit(subject, applicant, nowUs(this.#clock))
    this.#arm()
    if (!('waiter' in verdict)) return verdict
    if (verdict.asks) this.#sync.ask(verdict.waiter)
    return verdict.waiter
  }

  settle(ticket: Ticket): void {
    const s = ticket.subjectWindow
    if (this.engine.settle(ticket, nowUs(this.#clock))) this.#sync.publish(s)
    if (s.waiting.length > 0) this.#line.lookSoon(s)
    this.#arm()
  }

  close(): Promise<void> {
    return this.#sync.close()
  }

  #arm(): void {
    this.#sync.arm()
    this.#line.arm()
    if (this.#isSweeping) return
    this.#isSweeping = true
    this.#clock.after(SWEEP_MS, () => {
      this.#isSweeping = false
      this.note()
      if (this.#rests) this.engine.rest(nowUs(this.#clock), SWEEP_MOST)
      if (this.engine.subjects.active.size > 0) this.#arm()
    })
  }
}
