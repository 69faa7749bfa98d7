import type { Calendar } from './calendar'
import { type Identify, SubjectTable } from './subject-table'
import {
  type Decision,
  type Refusal,
  type Shard,
  type SubjectWindow,
  type Ticket,
  type Waiter,
  accrued,
  used,
} from './subject-window'

/** An unknown route is expected to take a twentieth of the limit, but no more than half a second. */
const COLD_SHARE = 20
const COLD_MOST_US = 500_000
/** After a loss so many subjects are published again at a tick. */
const REPUBLISHED_A_TICK = 2_000

export interface EngineOptions {
  readonly calendar: Calendar
  /** How old the others' figures may be for a request to be admitted from memory. */
  readonly freshUs: number
  /** False where the process's own figures are all there is. */
  readonly shared: boolean
  readonly identify: Identify
  /** Who keeps the windows of the subject with this id. */
  readonly shardOf: (id: string) => Shard
}

export type Verdict = Decision | { readonly waiter: Waiter }

/**
 * The throttle's arithmetic for one process and one named window; what is said to the store is in `exchange.ts`. Pure:
 * no input or output, no timers. `now` is the process's monotonic clock in whole microseconds and always an argument.
 */
export class Engine {
  readonly calendar: Calendar
  readonly freshUs: number
  readonly shared: boolean
  readonly roster: SubjectTable
  /** What the next tick looks at. */
  readonly due = new Set<SubjectWindow>()
  /** The number of the last command. */
  seq = 0
  readonly #shardOf: (id: string) => Shard
  /** Whom a shard that may have lost what it was told has not been told again. */
  readonly #unsaid = new Map<Shard, Generator<SubjectWindow | undefined>>()

  constructor({ calendar, freshUs, shared, identify, shardOf }: EngineOptions) {
    this.calendar = calendar
    this.freshUs = freshUs
    this.shared = shared
    this.#shardOf = shardOf
    this.roster = new SubjectTable(calendar, identify, shardOf)
  }

  /** The subject's standing in the window that is open now. The limit stays as it was where none is given. */
  standing(subject: string, limit: number | undefined, now: number): SubjectWindow {
    const s = this.roster.find(subject, now)
    this.enter(s, now)
    if (limit !== undefined && s.limit !== limit) {
      s.limit = limit
      s.slack = 0 // it was granted under the old limit
      s.asOf = -Infinity
    }
    return s
  }

  /** Makes sure that the standing is that of the window open now, or of `number` where the store knows better. */
  enter(s: SubjectWindow, now: number, number?: number): void {
    const shard = this.#shardOf(s.id)
    if (shard !== s.shard) this.#move(s, shard)
    if (this.calendar.roll(s, now, number) && s.dirty) this.look(s)
  }

  /** Another server keeps the subject's windows now: it may know them, or not. */
  #move(s: SubjectWindow, shard: Shard): void {
    s.shard = shard
    s.slack = s.acked = 0
    s.asOf = -Infinity
    s.dirty = true
    this.look(s)
  }

  /**
   * Decides from memory where it can. A waiter wants a command now, unless one is under way.
   *
   * @param estimate what the request is expected to take; undefined: not known yet; 0: nothing is held
   */
  admit(subject: string, estimate: number | undefined, limit: number, now: number): Verdict {
    const s = this.standing(subject, limit, now)
    const cost = Math.min(estimate ?? Math.min(Math.floor(limit / COLD_SHARE), COLD_MOST_US), limit)
    s.demand += cost
    s.unit = cost
    this.look(s)
    const verdict = s.shard.isDown ? this.#alone(s, cost, now) : this.#fromMemory(s, cost, now)
    if (verdict !== 'ask') return this.#decision(verdict, s, cost, now)
    const waiter: Waiter = { standing: s, cost, after: this.seq, listener: undefined }
    s.waiting.push(waiter)
    return { waiter }
  }

  #fromMemory(s: SubjectWindow, cost: number, now: number): 'admit' | 'refuse' | 'ask' {
    const refuse = this.calendar.surelyOpen(s, now) ? 'refuse' : 'ask'
    if (used(s, now) > s.limit) return refuse
    if (now - s.asOf > this.freshUs) return 'ask'
    // Nobody overtakes one who waits: he would be refused for what was granted to him.
    if (cost <= s.slack && s.waiting.length === 0) {
      const othersSince = s.othersRunning * (now - s.asOf)
      return used(s, now) + othersSince > s.limit ? 'ask' : 'admit'
    }
    if (cost > s.slack + s.more && s.running + s.othersRunning > 0) return refuse
    return 'ask'
  }

  /**
   * The others' last known figures until the window may have ended, after that the full limit. Where it may have ended
   * the next one is entered, early rather than late: nobody is refused whom another process promised a new window.
   */
  #alone(s: SubjectWindow, cost: number, now: number): 'admit' | 'refuse' {
    while (!this.calendar.surelyOpen(s, now)) this.enter(s, now, s.number + 1)
    if (used(s, now) > s.limit) return 'refuse'
    const committed = s.othersSpent + s.spent + Math.max(accrued(s, now), s.hold)
    return s.running === 0 || committed + cost <= s.limit ? 'admit' : 'refuse'
  }

  /** Decides about one who waited, without the store. */
  decideAlone(waiter: Waiter, now: number): Decision {
    const { standing: s, cost } = waiter
    return this.#decision(this.#alone(s, cost, now), s, cost, now)
  }

  #decision(verdict: 'admit' | 'refuse', s: SubjectWindow, cost: number, now: number): Decision {
    return verdict === 'admit' ? { ticket: this.begin(s, cost, now) } : { refusal: this.refusal(s, now) }
  }

  /** Puts a request in flight, whatever the figures say. */
  begin(s: SubjectWindow, cost: number, now: number): Ticket {
    s.running++
    s.starts += now
    s.touched = now
    s.hold += cost
    s.granted += cost
    s.slack = Math.max(0, s.slack - cost)
    this.look(s)
    return { standing: s, cost, start: now, number: s.number }
  }

  refusal(s: SubjectWindow, now: number): Refusal {
    return { standing: s, retryAfterUs: this.calendar.endsInUs(s, now) }
  }

  /** Charges what the request took. True where the limit is exceeded, to be published at once. */
  settle(ticket: Ticket, now: number): boolean {
    const us = this.#leave(ticket, now)
    return this.#add(ticket.standing, us, now)
  }

  /** Takes the request back as if it had not been admitted: nothing is charged, nothing stays held. */
  release(ticket: Ticket, now: number): void {
    this.#leave(ticket, now)
    this.#add(ticket.standing, 0, now)
  }

  /** Leaves out time that the request waited for the throttle itself. */
  excuse(ticket: Ticket, us: number, now: number): void {
    const s = ticket.standing
    this.enter(s, now)
    if (ticket.number !== s.number) return // its start is the boundary now, and the wait mostly before it
    ticket.start += us
    s.starts += us
  }

  /** Adds time that no request took; a credit is negative. To be published at once. */
  charge(s: SubjectWindow, us: number, now: number): void {
    this.enter(s, now)
    this.#add(s, us, now)
  }

  /** What the request took in this window: what it took in earlier ones was charged there. */
  #leave(ticket: Ticket, now: number): number {
    const s = ticket.standing
    this.enter(s, now)
    const crossed = ticket.number !== s.number
    const start = crossed ? s.opened : ticket.start
    s.running--
    s.starts -= start
    s.hold = s.running === 0 ? 0 : Math.max(0, s.hold - (crossed ? s.carried : ticket.cost))
    return now - start
  }

  #add(s: SubjectWindow, us: number, now: number): boolean {
    s.spent += us
    s.touched = now
    s.dirty = true
    this.look(s)
    return s.othersSpent + s.spent > s.limit
  }

  /** The next tick is to look at this subject. */
  look(s: SubjectWindow): void {
    if (this.shared) this.due.add(s)
  }

  /** The subjects to publish now; to be called every half `freshUs` while any is due. */
  tick(now: number): SubjectWindow[] {
    this.#say(now)
    const publish: SubjectWindow[] = []
    for (const s of this.due) {
      this.enter(s, now)
      if (s.shard.isDown) continue
      const wanted = s.demand > 0 && used(s, now) <= s.limit
      s.lastDemand = s.demand
      s.demand = 0
      if (s.running > 0 || s.dirty || wanted) {
        if (s.sent === undefined) publish.push(s)
      } else {
        s.slack = 0
        this.due.delete(s)
      }
    }
    return publish
  }

  /** All of a shard is to be said again, some at each tick: it may have lost what it was told. */
  republish(shard: Shard, now: number): void {
    this.#unsaid.set(shard, this.roster.spenders(shard, now))
    this.#say(now)
  }

  #say(now: number): void {
    let looked = 0
    for (const [shard, spenders] of this.#unsaid) {
      for (; looked < REPUBLISHED_A_TICK; looked++) {
        const next = spenders.next()
        if (next.done) {
          this.#unsaid.delete(shard)
          break
        }
        const s = next.value
        if (s === undefined) continue
        this.enter(s, now)
        s.dirty = true
        this.look(s)
      }
    }
  }

  /** Something is left for `tick()`. */
  get busy(): boolean {
    return this.due.size > 0 || this.#unsaid.size > 0
  }

  /** Puts to rest who is idle. Looks at no more than `most`, round and round. */
  rest(now: number, most: number): void {
    this.roster.rest(now, most, (s) => {
      this.enter(s, now)
      if (s.running > 0 || s.waiting.length > 0 || s.sent !== undefined) return false
      if (!this.due.has(s)) return true
      return s.shard.isDown && this.due.delete(s) // all is said again when the store is back
    })
  }
}
