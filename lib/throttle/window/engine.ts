import { Calendar } from './calendar'
import type { Decision, ThrottleRefusal, Ticket, Waiter } from './decision'
import { type IdentifySubject, SubjectTable } from './subject-table'
import type { Shard, SubjectWindow, WindowTerms } from './subject-window'

/** An unknown route is expected to take a twentieth of the limit, but no more than half a second. */
const COLD_SHARE = 20
const COLD_MOST_US = 500_000
/** After a loss so many subjects are published again at a tick. */
const REPUBLISHED_A_TICK = 2_000

export interface EngineOptions {
  readonly windowUs: number
  /** How old the others' figures may be for a request to be admitted from memory, in microseconds. */
  readonly freshUs: number
  /** False where the process's own figures are all there is. */
  readonly shared: boolean
  readonly identify: IdentifySubject
  /** The server that keeps the windows of the subject with this id now. */
  readonly shardOf: (id: string) => Shard
  /** As in {@link WindowTerms}. */
  readonly ended?: WindowTerms['ended']
}

export type Verdict = Decision | { readonly waiter: Waiter }

/**
 * The throttle's arithmetic for one process and one named window; what goes to the store and comes from it is in
 * `sync-protocol.ts`. Pure: no input or output, no timers. `now` is always an argument: the process's monotonic clock
 * in whole microseconds.
 */
export class Engine {
  readonly freshUs: number
  readonly subjects: SubjectTable
  readonly #shared: boolean
  readonly #shardOf: (id: string) => Shard
  /** What the next tick looks at. */
  readonly #due = new Set<SubjectWindow>()
  /** Subjects of a shard that may have lost what it was told, and was not told again yet. */
  readonly #unpublished = new Map<Shard, Generator<SubjectWindow | undefined>>()
  #seq = 0

  constructor({ windowUs, freshUs, shared, identify, shardOf, ended }: EngineOptions) {
    this.freshUs = freshUs
    this.#shared = shared
    this.#shardOf = shardOf
    const terms = { calendar: new Calendar(windowUs), ...(ended && { ended }) }
    this.subjects = new SubjectTable(terms, identify, shardOf)
  }

  /** The subject's window that is open now. The limit stays as it was where none is given. */
  subjectWindow(subject: string, limit: number | undefined, now: number): SubjectWindow {
    const s = this.subjects.find(subject, now)
    if (limit !== undefined) s.limitTo(limit)
    this.enter(s, now)
    return s
  }

  /** Makes sure that the figures are those of the window open now, or of `number` where that is later. */
  enter(s: SubjectWindow, now: number, number?: number): void {
    if (s.enter(now, number)) this.markDue(s)
  }

  /** Makes sure that the shard is the one that keeps the subject's windows now: on a Cluster that changes. */
  locate(s: SubjectWindow): void {
    const shard = this.#shardOf(s.id)
    if (shard === s.shard) return
    s.moveTo(shard)
    this.markDue(s)
  }

  /** The number of the next command. */
  nextSeq(): number {
    return ++this.#seq
  }

  /**
   * Decides from memory where it can. A waiter wants a command now, unless one is under way.
   *
   * @param estimate what the request is expected to take; undefined: not known yet; 0: nothing is held
   */
  admit(subject: string, estimate: number | undefined, limit: number, now: number): Verdict {
    const s = this.subjectWindow(subject, limit, now)
    const cost = Math.min(estimate ?? Math.min(Math.floor(limit / COLD_SHARE), COLD_MOST_US), limit)
    s.slack.ask(cost)
    this.markDue(s)
    if (s.shard.isDown && this.#shared) this.locate(s)
    const verdict = s.shard.isDown ? this.#alone(s, cost, now) : this.#fromMemory(s, cost, now)
    if (verdict !== 'ask') return this.#decision(verdict, s, cost, now)
    const waiter: Waiter = { subjectWindow: s, cost, after: this.#seq, listener: undefined }
    s.wait(waiter)
    return { waiter }
  }

  #fromMemory(s: SubjectWindow, cost: number, now: number): 'admit' | 'refuse' | 'ask' {
    const used = s.used(now)
    if (used > s.limit) return s.isSurelyOpen(now) ? 'refuse' : 'ask'
    if (now - s.asOf > this.freshUs) return 'ask'
    // Don't admit past those who wait: a later request would use what is granted to them.
    if (cost <= s.slack.left && s.waiting.length === 0) {
      const othersSince = s.othersRunning * (now - s.asOf)
      return used + othersSince > s.limit ? 'ask' : 'admit'
    }
    const isHopeless = cost > s.slack.obtainable && s.own.running + s.othersRunning > 0
    return isHopeless && s.isSurelyOpen(now) ? 'refuse' : 'ask'
  }

  /**
   * The others' last known figures until the window may have ended, after that the full limit. Where it may have ended
   * the next one is entered, early rather than late: nobody is refused whom another process promised a new window.
   */
  #alone(s: SubjectWindow, cost: number, now: number): 'admit' | 'refuse' {
    while (!s.isSurelyOpen(now)) this.enter(s, now, s.own.number + 1)
    if (s.used(now) > s.limit) return 'refuse'
    const committed = s.othersSpent + s.own.spent + Math.max(s.own.accrued(now), s.own.hold)
    return s.own.running === 0 || committed + cost <= s.limit ? 'admit' : 'refuse'
  }

  /** Decides about one who waited, without the store. */
  decideAlone({ subjectWindow: s, cost }: Waiter, now: number): Decision {
    return this.#decision(this.#alone(s, cost, now), s, cost, now)
  }

  #decision(verdict: 'admit' | 'refuse', s: SubjectWindow, cost: number, now: number): Decision {
    return verdict === 'admit' ? { ticket: this.begin(s, cost, now) } : { refusal: this.refusal(s, now) }
  }

  /** Puts a request in flight, whatever the figures say. */
  begin(s: SubjectWindow, cost: number, now: number): Ticket {
    this.markDue(s)
    return s.begin(cost, now)
  }

  /** As `begin()`, for a request that the store granted by itself. */
  beginLone(s: SubjectWindow, cost: number, now: number): Ticket {
    this.markDue(s)
    return s.beginLone(cost, now)
  }

  refusal(s: SubjectWindow, now: number): ThrottleRefusal {
    return { subjectWindow: s, retryAfterUs: s.endsInUs(now) }
  }

  /** Charges what the request took. True where the limit is exceeded, to be published at once. */
  settle(ticket: Ticket, now: number): boolean {
    const s = ticket.subjectWindow
    this.enter(s, now)
    return this.#charge(s, s.own.end(ticket, now), now)
  }

  /** Takes the request back as if it had not been admitted: nothing is charged, nothing stays held. */
  release(ticket: Ticket, now: number): void {
    const s = ticket.subjectWindow
    this.enter(s, now)
    s.own.end(ticket, now)
    this.#charge(s, 0, now)
  }

  /** Leaves out time that the request waited for the throttle itself. */
  excuse(ticket: Ticket, us: number, now: number): void {
    const s = ticket.subjectWindow
    this.enter(s, now)
    s.own.postpone(ticket, us)
  }

  /** Adds time that no request took; a credit is negative. To be published at once. */
  charge(s: SubjectWindow, us: number, now: number): void {
    this.enter(s, now)
    this.#charge(s, us, now)
  }

  #charge(s: SubjectWindow, us: number, now: number): boolean {
    this.markDue(s)
    return s.charge(us, now)
  }

  /** The next tick is to look at this subject. */
  markDue(s: SubjectWindow): void {
    if (this.#shared) this.#due.add(s)
  }

  /** The subjects to publish now; to be called every half `freshUs` while any is due. */
  tick(now: number): SubjectWindow[] {
    this.#republishSome(now)
    const publish: SubjectWindow[] = []
    for (const s of this.#due) {
      this.locate(s)
      this.enter(s, now)
      if (s.shard.isDown) continue
      const isWanted = s.slack.inDemand && s.used(now) <= s.limit
      s.slack.tick()
      if (s.own.running > 0 || s.dirty || isWanted) {
        if (s.sent === undefined) publish.push(s)
      } else {
        s.slack.drop()
        this.#due.delete(s)
      }
    }
    return publish
  }

  /** Publishes all of a shard again, some at each tick: it may have lost what it was told. */
  republish(shard: Shard, now: number): void {
    this.#unpublished.set(shard, this.subjects.spenders(shard, now))
    this.#republishSome(now)
  }

  #republishSome(now: number): void {
    let seen = 0
    for (const [shard, spenders] of this.#unpublished) {
      for (; seen < REPUBLISHED_A_TICK; seen++) {
        const next = spenders.next()
        if (next.done) {
          this.#unpublished.delete(shard)
          break
        }
        const s = next.value
        if (s === undefined) continue
        this.enter(s, now)
        s.markDirty()
        this.markDue(s)
      }
    }
  }

  /** Something is left for `tick()`. */
  get busy(): boolean {
    return this.#due.size > 0 || this.#unpublished.size > 0
  }

  /** Puts subjects to rest that are idle. Looks at no more than `most`, round and round. */
  rest(now: number, most: number): void {
    this.subjects.rest(now, most, (s) => {
      this.enter(s, now)
      if (s.own.running > 0 || s.waiting.length > 0 || s.sent !== undefined) return false
      if (!this.#due.has(s)) return true
      return s.shard.isDown && this.#due.delete(s) // all is published again when the store is back
    })
  }
}
