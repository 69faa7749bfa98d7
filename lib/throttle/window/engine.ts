import { Calendar } from './calendar'
import type { Answers, Applicant, Decision, RefusalReason, ThrottleRefusal, Ticket, Waiter } from './decision'
import { type IdentifySubject, SubjectTable } from './subject-table'
import { retryAfterUs } from './retry-after'
import { Slack } from './slack'
import type { Shard, SubjectWindow, WindowTerms } from './subject-window'

/** Requests that may wait in one window, over all subjects; each subject may take a share of the places left. */
const MOST_WAITING = 4_096
const WAITING_SHARE = 16
/** A subject that is asked for is synced at least so often, also where its limit is exceeded. */
const UNHEARD_US = 2_000_000
/** So many subjects are looked at in one go for those to be published again. */
const LOOKED_AT = 2_000

const NONE: readonly SubjectWindow[] = []

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

/** What was decided; or that the request waits, and whether the store is to be asked about it now. */
export type Verdict = Decision | { readonly waiter: Waiter; readonly asks: boolean }

/** What decides about waiting requests: memory alone, an answer of the store, or this process without the store. */
export type Deciding = 'memory' | 'alone' | { readonly seq: number; readonly lone: boolean }

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
  /** What ticks look at: the subjects that are marked as due, those that have been for longest first. */
  #due: SubjectWindow[] = []
  /** Subjects of a shard that may have lost what it was told, and was not told again yet. */
  readonly #unpublished = new Map<Shard, Generator<SubjectWindow | undefined>>()
  /** Shards that may have lost something since their subjects began to be published again. */
  readonly #lostAgain = new Set<Shard>()
  /** Published again, and not answered since. */
  readonly #publishedAgain = new Set<SubjectWindow>()
  /** Subjects of whom requests wait for room. */
  readonly waiting = new Set<SubjectWindow>()
  #waiters = 0
  #seq = 0

  constructor({ windowUs, freshUs, shared, identify, shardOf, ended }: EngineOptions) {
    this.freshUs = freshUs
    this.#shared = shared
    this.#shardOf = shardOf
    const terms = { calendar: new Calendar(windowUs), ...(!shared && { slack: new Slack() }), ...(ended && { ended }) }
    this.subjects = new SubjectTable(terms, identify, shardOf)
  }

  /** The subject's window that is open now. Its latest limit stays as it was where none is given. */
  subjectWindow(subject: string, limit: number | undefined, now: number): SubjectWindow {
    const s = this.subjects.find(subject, now)
    if (limit !== undefined) s.limitTo(limit)
    this.enter(s, now)
    return s
  }

  /** Makes sure that the figures are those of the window open now, or of `number` where that is later. */
  enter(s: SubjectWindow, now: number, number?: number): void {
    if (s.enter(now, number)) this.markDue(s, now)
  }

  /** Makes sure that the shard is the one that keeps the subject's windows now: on a Cluster that changes. */
  locate(s: SubjectWindow, now: number): void {
    if (s.shard.isOnly) return
    const shard = this.#shardOf(s.id)
    if (shard === s.shard) return
    s.moveTo(shard)
    this.markDue(s, now)
  }

  /** The number of the next command. */
  nextSeq(): number {
    return ++this.#seq
  }

  /** Decides from memory where it can; else the request waits. */
  admit(subject: string, applicant: Applicant, now: number): Verdict {
    const { limitUs } = applicant
    const s = this.subjectWindow(subject, limitUs, now)
    const cost = Math.min(applicant.price(s), limitUs)
    if (this.#shared) {
      s.slack.ask(cost)
      this.markDue(s, now)
      if (s.shard.isDown) this.locate(s, now)
    }
    const verdict = s.shard.isDown
      ? this.#decideAlone(s, cost, limitUs, now)
      : this.#decideFromMemory(s, cost, limitUs, now)
    if (verdict === 'admit') return { ticket: this.#shared ? s.begin(cost, now) : s.beginLone(cost, now) }
    if (verdict === 'spent') return { refusal: this.#refusal(s, limitUs, 'spent', now) }
    const isConsidered = verdict === 'wait'
    if (isConsidered) {
      const reason = this.#turnsAway(s, applicant, s.waiting.length)
      if (reason !== undefined) return { refusal: this.#refusal(s, limitUs, reason, now) }
    }
    const until = now + applicant.wait.maxUs
    const waiter = { subjectWindow: s, applicant, limitUs, cost, after: this.#seq, isConsidered, until }
    if (isConsidered && s.waiting.length === 0) s.askAgainLater(now)
    this.#leaveWaiting(s, [...s.waiting, waiter])
    return { waiter, asks: !isConsidered }
  }

  #decideFromMemory(s: SubjectWindow, cost: number, limitUs: number, now: number): 'admit' | 'spent' | 'wait' | 'ask' {
    const used = s.used(now)
    if (used > limitUs) return s.isWindowSurelyOpen(now) ? 'spent' : 'ask'
    if (now - s.asOf > this.freshUs) return 'ask'
    // Don't admit past the queue: a later request would spend the waiters' grant.
    const last = s.waiting.at(-1)
    if (last !== undefined) return last.isConsidered && limitUs <= s.slack.limit ? 'wait' : 'ask'
    if (cost <= s.slack.left && limitUs >= s.slack.limit) return used + s.othersSince(now) > limitUs ? 'ask' : 'admit'
    if (s.isTrifle(cost, limitUs, now)) return 'admit'
    if (limitUs !== s.slack.limit) return 'ask' // what was left when last heard was left under another limit
    return cost > s.slack.obtainable && s.own.running + s.othersRunning > 0 ? 'wait' : 'ask'
  }

  /**
   * Without a store, or without its answer: within this process's share of what was left when the others were last
   * heard. Where the window may have ended the next one is entered, early rather than late: a request must not be
   * refused to whom another process promised a new window.
   */
  #decideAlone(s: SubjectWindow, cost: number, limitUs: number, now: number): 'admit' | 'spent' | 'wait' {
    while (!s.isWindowSurelyOpen(now)) this.enter(s, now, s.own.number + 1)
    if (s.used(now) > limitUs) return 'spent'
    if (s.waiting.length > 0) return 'wait'
    return this.#fitsAlone(s, cost, limitUs, now) ? 'admit' : 'wait'
  }

  #fitsAlone(s: SubjectWindow, cost: number, limitUs: number, now: number): boolean {
    if (cost === 0 || cost <= s.shareLeft(limitUs, now)) return true
    return s.own.running === 0 && s.isLongOutage(now)
  }

  /**
   * Decides the waiting requests of one subject, first come, first served, each by its own limit. One that does not fit
   * stops those behind it, but for those with a higher limit.
   */
  decideWaiting(s: SubjectWindow, by: Deciding, now: number): Answers {
    const answers: [Waiter, Decision][] = []
    const left: Waiter[] = []
    const isAlone = by === 'alone' || s.shard.isDown
    let lone = typeof by === 'object' && by.lone
    let fullUpTo = -1
    this.dropGone(s)
    if (isAlone) while (!s.isWindowSurelyOpen(now)) this.enter(s, now, s.own.number + 1)
    const isWindowSurelyOpen = s.isWindowSurelyOpen(now)
    for (const waiter of s.waiting) {
      const { applicant, limitUs } = waiter
      if (applicant === undefined) continue
      const isNew = !waiter.isConsidered
      const isAskedFor = typeof by === 'object' && waiter.after < by.seq
      if (isAlone || isAskedFor) waiter.isConsidered = true
      const refuse = (reason: RefusalReason) =>
        answers.push([waiter, { refusal: this.#refusal(s, limitUs, reason, now) }])
      if (s.used(now) > limitUs && isWindowSurelyOpen) {
        refuse('spent')
        continue
      }
      if (limitUs > fullUpTo) {
        const price = Math.min(applicant.price(s), limitUs)
        // What was granted is what was asked for: a price that has risen since does not send it round once more.
        waiter.cost = isAskedFor ? Math.min(waiter.cost, price) : price
        const isPatienceOver = waiter.isConsidered && now >= waiter.until
        if (lone) answers.push([waiter, { ticket: s.beginLone(waiter.cost, now) }])
        else if (this.#fits(s, waiter, isAlone, isPatienceOver, typeof by === 'object', now))
          answers.push([waiter, { ticket: s.begin(waiter.cost, now) }])
        else fullUpTo = limitUs
        lone = false
        if (limitUs > fullUpTo) continue
      }
      const reason = waiter.isConsidered ? this.#turnsAway(s, applicant, left.length) : undefined
      if (reason !== undefined) refuse(reason)
      else if (waiter.isConsidered && now >= waiter.until) refuse(isAlone && this.#shared ? 'outage' : 'hold')
      else {
        left.push(waiter)
        if (isNew && waiter.isConsidered) applicant.waits()
      }
    }
    if (lone) s.markDirty() // who it was granted to has gone, and the store holds it for them
    if (lone || answers.length > 0) this.markDue(s, now)
    if (answers.some(([, decision]) => 'ticket' in decision)) s.askAgainSoon()
    this.#leaveWaiting(s, left)
    return answers
  }

  #fits(
    s: SubjectWindow,
    { cost, limitUs }: Waiter,
    isAlone: boolean,
    isPatienceOver: boolean,
    isAnswered: boolean,
    now: number,
  ): boolean {
    if (isAlone) return this.#fitsAlone(s, cost, limitUs, now) || (isPatienceOver && s.own.running === 0)
    if (!isAnswered && now - s.asOf > this.freshUs) return false
    if (s.isTrifle(cost, limitUs, now)) return true
    if (s.used(now) > limitUs || cost > s.slack.left) return false
    return limitUs >= s.slack.limit || s.isLeft(cost, limitUs, now)
  }

  /** Why a request that does not fit may not wait; undefined where it may. */
  #turnsAway(s: SubjectWindow, { wait }: Applicant, waiting: number): RefusalReason | undefined {
    if (wait.maxUs === 0) return s.shard.isDown && this.#shared ? 'outage' : 'hold'
    const others = this.#waiters - s.waiting.length
    const places = Math.min(wait.perSubject, Math.ceil((MOST_WAITING - others - waiting) / WAITING_SHARE))
    return waiting >= places ? 'places' : undefined
  }

  /** Drops waiting requests whose clients have gone: their grant would starve the others. */
  dropGone(s: SubjectWindow): void {
    if (!s.waiting.some(hasGone)) return
    for (const waiter of s.waiting) if (hasGone(waiter)) waiter.applicant = undefined
    this.#leaveWaiting(
      s,
      s.waiting.filter(({ applicant }) => applicant !== undefined),
    )
  }

  #leaveWaiting(s: SubjectWindow, waiting: Waiter[]): void {
    this.#waiters += waiting.length - s.waiting.length
    s.keepWaiting(waiting)
    if (waiting.some(({ isConsidered }) => isConsidered)) this.waiting.add(s)
    else this.waiting.delete(s)
  }

  #refusal(s: SubjectWindow, limitUs: number, reason: RefusalReason, now: number): ThrottleRefusal {
    return {
      subjectWindow: s,
      reason,
      retryAfterUs: retryAfterUs(s, reason, now),
      limitUs,
      spentUs: s.used(now),
      heldUs: s.own.held(now),
      othersAgeUs: this.#shared && s.asOf !== -Infinity ? now - s.asOf : null,
    }
  }

  /** Puts a request in flight, whatever the figures say. */
  begin(s: SubjectWindow, cost: number, now: number): Ticket {
    this.markDue(s, now)
    return s.begin(cost, now)
  }

  /** Charges what the request took. True where the limit is exceeded, to be published at once. */
  settle(ticket: Ticket, now: number): boolean {
    const s = ticket.subjectWindow
    this.enter(s, now)
    return this.#charge(s, s.finish(ticket, now), now)
  }

  /** Charges what the request took and stops its time; it keeps the rest of its hold. True as in `settle()`. */
  pause(ticket: Ticket, now: number): boolean {
    const s = ticket.subjectWindow
    this.enter(s, now)
    return this.#charge(s, s.own.pause(ticket, now), now)
  }

  /** The time of a paused request goes on. */
  resume(ticket: Ticket, now: number): void {
    const s = ticket.subjectWindow
    this.enter(s, now)
    s.own.resume(ticket, now)
    this.markDue(s, now)
  }

  /** Takes the request back as if it had not been admitted: nothing is charged, nothing stays held. */
  release(ticket: Ticket, now: number): void {
    const s = ticket.subjectWindow
    this.enter(s, now)
    s.finish(ticket, now)
    this.#charge(s, 0, now)
  }

  /** Leaves out time that the request waited, until now, for the throttle itself. */
  excuse(ticket: Ticket, us: number, now: number): void {
    const s = ticket.subjectWindow
    this.enter(s, now)
    s.own.postpone(ticket, us, now)
  }

  /** Adds time that no request took; a credit is negative. To be published at once. */
  charge(s: SubjectWindow, us: number, now: number): void {
    this.enter(s, now)
    this.#charge(s, us, now)
  }

  #charge(s: SubjectWindow, us: number, now: number): boolean {
    this.markDue(s, now)
    return s.charge(us, now)
  }

  /** A tick is to look at this subject. */
  markDue(s: SubjectWindow, now: number): void {
    if (!this.#shared || s.dueSince !== undefined) return
    s.dueSince = now
    this.#due.push(s)
  }

  /**
   * The subjects to publish now, of those that have been due since `dueSince` or longer: each is to be looked at every
   * half `freshUs` while it is due.
   */
  tick(now: number, dueSince = now): SubjectWindow[] {
    const publish: SubjectWindow[] = []
    const later = this.#due.findIndex((s) => s.dueSince !== undefined && s.dueSince > dueSince)
    for (const s of this.#due.splice(0, later === -1 ? this.#due.length : later)) {
      if (s.dueSince === undefined) continue // it was put to rest since
      s.dueSince = undefined
      this.locate(s, now)
      this.enter(s, now)
      if (s.shard.isDown) {
        this.markDue(s, now)
        continue
      }
      // Also while all are refused from memory: the store may have lost what refuses them, and nobody else might know.
      const { inDemand } = s.slack
      const isWanted = s.used(now) > s.limit ? inDemand && now - s.asOf > UNHEARD_US : s.isSyncWanted
      s.slack.tick()
      const isIdle = s.own.running === 0 && !s.dirty && !isWanted
      if (isIdle && !s.givesSlackBack()) {
        if (inDemand) this.markDue(s, now) // whether it is again is seen a tick later
        continue
      }
      if (s.sent === undefined) publish.push(s)
      this.markDue(s, now)
    }
    return publish
  }

  /** Since when the subject is due that has been for the longest; -Infinity where others are to be published again. */
  get dueSince(): number {
    return this.isRepublishing ? -Infinity : (this.#due[0]?.dueSince ?? -Infinity)
  }

  /** All of a shard are to be published again, by and by: it may have lost what it was told. */
  republish(shard: Shard, now: number): void {
    if (this.#unpublished.has(shard)) {
      this.#lostAgain.add(shard)
      return
    }
    if (this.#unpublished.size === 0) this.#publishedAgain.clear()
    this.#unpublished.set(shard, this.subjects.spenders(shard, now))
  }

  /**
   * The store has answered a command of the subject.
   *
   * @param hasLost it no longer had what it was told: then it may have lost other subjects', too. Where all are being
   *   published again that is the loss that is known. One that comes meanwhile is found by the next heartbeat
   */
  answered(s: SubjectWindow, hasLost: boolean, now: number): void {
    const isKnown = this.#publishedAgain.delete(s) || this.#unpublished.has(s.shard)
    if (hasLost && !isKnown) this.republish(s.shard, now)
  }

  /** The next subjects to publish again: those over their limit, then the other active ones, then those at rest. */
  publishAgain(now: number, most: number): readonly SubjectWindow[] {
    if (this.#unpublished.size === 0) return NONE
    const publish: SubjectWindow[] = []
    let looks = 0
    for (const [shard, spenders] of this.#unpublished) {
      for (; publish.length < most && looks < LOOKED_AT && !shard.isDown; looks++) {
        const next = spenders.next()
        if (next.done) {
          this.#unpublished.delete(shard)
          if (this.#lostAgain.delete(shard)) this.#unpublished.set(shard, this.subjects.spenders(shard, now))
          break
        }
        const s = next.value
        if (s === undefined) continue
        this.locate(s, now) // it may be with another server still that is down, and would be put to rest untold
        this.enter(s, now)
        s.markDirty()
        this.markDue(s, now)
        this.#publishedAgain.add(s)
        publish.push(s)
      }
    }
    return publish
  }

  /** The subjects that the store has this process's figures of, in the windows open now. */
  *holders(now: number): Generator<SubjectWindow> {
    for (const s of this.subjects.holders(now)) {
      this.enter(s, now)
      if (s.stored > 0 || s.own.spent !== 0 || s.own.running > 0) yield s
    }
  }

  /** Something is left for `tick()`. */
  get busy(): boolean {
    return this.#due.length > 0 || this.isRepublishing
  }

  /** Subjects are to be published again. */
  get isRepublishing(): boolean {
    return this.#unpublished.size > 0
  }

  /** Puts subjects to rest that are idle. Looks at no more than `most`, round and round. */
  rest(now: number, most: number): void {
    this.subjects.rest(now, most, (s) => {
      this.enter(s, now)
      if (s.own.running > 0 || s.waiting.length > 0 || s.sent !== undefined) return false
      if (s.dueSince !== undefined && !s.shard.isDown) return false
      s.dueSince = undefined // all is published again when the store is back
      return true
    })
  }
}

/** Tells waiting requests what was decided. */
export function answer(answers: Answers): void {
  for (const [waiter, decision] of answers) {
    const { applicant } = waiter
    waiter.applicant = undefined // the waiter may be kept for longer than its request
    applicant?.decided(decision)
  }
}

function hasGone({ applicant }: Waiter): boolean {
  return applicant?.gone !== false
}
