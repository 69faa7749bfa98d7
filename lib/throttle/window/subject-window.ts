import type { Calendar } from './calendar'
import type { Ticket, Waiter } from './decision'
import type { Histories } from './hold-prices'
import { OwnFigures } from './own-figures'
import { Slack } from './slack'
import type { StoreClock } from './store-clock'

/** The store's clock was set back, where the window open here begins later than this from its time. */
const SET_BACK_US = 1_000_000
/** A fall of what was used by more than this share of the limit is a reset somewhere. */
const RESET_SHARE = 1 / 8
/** For so long after the other processes were last heard, what they hold is left to them where this one decides alone. */
const HELD_US = 5_000_000
/** From then on an outage is no short stop any more, amid which the store may just have granted much to others. */
const LONG_OUTAGE_US = 1_000_000
/** In a short one others may have used up this part of the limit of a subject that was never heard of in its window. */
const UNHEARD_PART = 1 / 2
/** How soon the store is asked again for requests that wait, and how rarely at last. */
const ASK_AGAIN_US = 25_000
const ASK_AGAIN_GROWTH = 1.5
const ASK_AGAIN_MOST_US = 125_000

/**
 * A trifle: what is expected to take no more than this, and than this part of the limit. So much a process may have
 * charged to a subject, or let in, without the store's knowing.
 */
const TRIFLE_US = 1_000
const TRIFLE_PART = 1 / 1_000
/** Only where no more than this part of the limit is used or held: the rest is enough for 500 processes' trifles. */
const FAR_PART = 1 / 2

/** Of most subjects none wait: they share this. */
const NONE: readonly Waiter[] = []

/** The server that keeps a subject's windows, as far as the arithmetic has to know it. */
export interface Shard {
  readonly clock: StoreClock
  /** It does not answer, or there is none: this process decides alone. */
  readonly isDown: boolean
  /** Since when, by this process's clock. */
  readonly downSince: number
  /** No other server keeps windows: a subject's never move. */
  readonly isOnly: boolean
  /** How many processes it has heard lately, this one included: each has its share while the server is down. */
  readonly processes: number
}

/** What all subjects' windows of one name have in common. */
export interface WindowTerms {
  readonly calendar: Calendar
  /** Without a store nothing is granted ahead: then all share this one, which stays empty. */
  readonly slack?: Slack
  /** Told when a subject's window ends here, with what this process charged to it: for tests. */
  readonly ended?: (s: SubjectWindow, us: number) => void
}

/** What is kept of a subject at rest, enough to go on in its window. Whole microseconds. */
export interface RestingFigures {
  /** Only without a store: to work it out anew takes longer than all else that wakes a subject there. */
  readonly phase?: number
  readonly number: number
  readonly spent: number
  readonly othersSpent: number
  /** Only where ended processes have charged: most have not, and a million of these are kept. */
  readonly closed?: { readonly incarnation: number; readonly ended: number }
  /** Only where more was told than has been used. */
  readonly shown?: number
}

/** A command under way. */
export interface Sent {
  readonly seq: number
  readonly at: number
  /** The window it is about. */
  readonly number: number
  /** All time that this process had set aside when it left. */
  readonly granted: number
  /** What it says that this process has charged, where there is nothing else to say or to ask for; else -Infinity. */
  readonly told: number
}

/** What a reply says of the other processes, and what it grants. Whole microseconds and counts. */
export interface OthersFigures {
  /** What the other processes have charged, those that have ended included. */
  readonly othersSpent: number
  /** How many requests they have in flight. */
  readonly othersRunning: number
  /** What is set aside for them. */
  readonly othersHeld: number
  /** Slack granted, and what more could have been. */
  readonly granted: number
  readonly more: number
  /** Which record of the window this is, and what ended processes have charged to it. */
  readonly incarnation: number
  readonly ended: number
}

/**
 * What this process knows of one subject in the open window: its own figures, the other processes' when last heard,
 * what is granted ahead, and which command is under way. Whole microseconds of the process's monotonic clock.
 */
export class SubjectWindow {
  // Each number is one from the start: a field that was undefined before leads to a number made anew with each change,
  // which outlives quick collections.
  readonly own: OwnFigures
  readonly slack: Slack
  /** Since when a tick of the engine is to look at it; undefined where none is. */
  dueSince: number | undefined
  /** Requests that wait, in the order in which they came. */
  #waiting = NONE
  /** When the store is to be asked again for those that wait, and the pause after that. */
  #askAgainAt = 0
  #askAgainUs = 0
  readonly #terms: WindowTerms
  #shard: Shard
  /** When the window ends, in the store's time. */
  #end = 0
  #limit = 0
  #touched = 0
  #evicted = false
  #othersSpent = 0
  #othersRunning = 0
  #othersHeld = 0
  #asOf = -Infinity
  #sent: Sent | undefined
  #heardSeq = 0
  #storedSeq = 0
  #incarnation = 0
  #ended = 0
  #dirty = false
  #urgent = false
  /** What the store has of this process, where that is charges alone, and nothing held or running; else -Infinity. */
  #told = -Infinity
  /** What was told at most in this window. */
  #shown = 0
  /** This process's own commitments when the other processes' were last heard. */
  #ownWhenHeard = 0

  /**
   * @param subject as the app names it, or a hash of that
   * @param id names the subject in the store; the subject cannot be read from it. Empty where there is no store
   * @param phase where the subject's windows begin, so that not all subjects' end at once
   * @param histories what the subject's latest requests took
   */
  constructor(
    readonly subject: string,
    readonly id: string,
    readonly phase: number,
    terms: WindowTerms,
    shard: Shard,
    now: number,
    rest?: RestingFigures,
    public histories?: Histories,
  ) {
    this.#terms = terms
    this.slack = terms.slack ?? new Slack()
    this.#shard = shard
    this.#touched = now
    this.#othersSpent = rest?.othersSpent ?? 0
    this.#incarnation = rest?.closed?.incarnation ?? 0
    this.#ended = rest?.closed?.ended ?? 0
    this.#shown = rest?.shown ?? 0
    // What was put to rest had been published, but for a trifle. A store that lacks it now has lost it.
    if (rest !== undefined && rest.spent !== 0) this.#storedSeq = 1
    const number = rest?.number ?? terms.calendar.numberAt(phase, shard.clock.at(now))
    this.own = new OwnFigures(number, rest?.spent ?? 0, now)
    this.#end = terms.calendar.end(phase, this.own.number)
  }

  /** The server that keeps its windows. */
  get shard(): Shard {
    return this.#shard
  }

  /** The limit that the latest request brought; 0 before the first. */
  get limit(): number {
    return this.#limit
  }

  /** When this process's figures last moved. */
  get touched(): number {
    return this.#touched
  }

  /** This object is no longer the subject's: it was put to rest, and may have another one now. */
  get evicted(): boolean {
    return this.#evicted
  }

  /** What the other processes had charged when last heard. */
  get othersSpent(): number {
    return this.#othersSpent
  }

  /** How many requests the other processes had in flight. */
  get othersRunning(): number {
    return this.#othersRunning
  }

  /** When the store was asked for the other processes' figures. */
  get asOf(): number {
    return this.#asOf
  }

  /** The `seq` of the latest command that the store is known to have; 0 for none. */
  get stored(): number {
    return this.#storedSeq
  }

  /** The store's record of the window that was heard of last; what ended processes had charged there is told again. */
  get incarnation(): number {
    return this.#incarnation
  }

  get ended(): number {
    return this.#ended
  }

  get waiting(): readonly Waiter[] {
    return this.#waiting
  }

  /** The command under way. */
  get sent(): Sent | undefined {
    return this.#sent
  }

  /** Something has changed here that the store is to be told. */
  get dirty(): boolean {
    return this.#dirty
  }

  /** Requests ask, and more are likely to come: not after a single trifle. */
  get isSyncWanted(): boolean {
    return this.slack.inDemand && (this.#told === -Infinity || this.slack.isRepeated)
  }

  /** The store is to be told as soon as the command under way is answered. */
  get urgent(): boolean {
    return this.#urgent
  }

  /** All that the subject has used, over all processes, as far as is known here. */
  used(now: number): number {
    return this.#othersSpent + this.own.total(now)
  }

  /**
   * As `used()`, for those who are told of it: figures that are taken back, such as the time of a request that had to
   * wait after all, don't make it fall within a window. A reset does.
   */
  shown(now: number): number {
    const used = this.used(now)
    const isReset = this.#shown - used > this.#limit * RESET_SHARE
    return (this.#shown = isReset ? used : Math.max(used, this.#shown))
  }

  // --- its place in time

  /** When the window begins, in the store's time. */
  get start(): number {
    return this.#end - this.#terms.calendar.windowUs
  }

  /** When the window ends, in the store's time. */
  get end(): number {
    return this.#end
  }

  /** Microseconds until the window is over, even where the clock's error is against it. */
  endsInUs(now: number): number {
    return this.#end - this.#shard.clock.at(now) + this.#clockError(now)
  }

  /** Whether the window is open even where the clock's error is against it. */
  isWindowSurelyOpen(now: number): boolean {
    return this.#shard.clock.at(now) + this.#clockError(now) < this.#end
  }

  /** A store not heard for long must not leave a short window without any time that is surely its own. */
  #clockError(now: number): number {
    return Math.min(this.#shard.clock.error(now), this.#terms.calendar.windowUs / 4)
  }

  /** The number of the window that is open at this time of the store. */
  #numberAt(time: number): number {
    const isOpen = time >= this.start && time < this.#end
    return isOpen ? this.own.number : this.#terms.calendar.numberAt(this.phase, time)
  }

  /**
   * Enters the window that is open now, or `number` where that is later. What requests in flight have taken until the
   * boundary stays in the old one. True where the new one has something to publish.
   */
  enter(now: number, number?: number): boolean {
    if (number === undefined) {
      const time = this.#shard.clock.at(now)
      if (time < this.#end) return false
      number = this.#numberAt(time)
    }
    const { own } = this
    if (own.number >= number) return false
    while (own.number < number) {
      const boundary = Math.min(now, Math.max(this.#touched, this.#shard.clock.local(this.#end)))
      this.#terms.ended?.(this, own.total(boundary))
      own.next(own.running > 0 ? own.number + 1 : number, boundary)
      this.#end = this.#terms.calendar.end(this.phase, own.number)
      this.#touched = boundary
      this.#othersSpent = this.#othersRunning = this.#othersHeld = this.#ownWhenHeard = this.#shown = 0
      this.#storedSeq = this.#incarnation = this.#ended = 0
      this.#asOf = this.#told = -Infinity
      this.slack.reset()
      this.#dirty = own.running > 0
    }
    return this.#dirty
  }

  // --- requests and charges

  /** A request brings its limit. */
  limitTo(limit: number): void {
    this.#limit = limit
  }

  /** Puts a request in flight. */
  begin(cost: number, now: number): Ticket {
    this.slack.use(cost)
    return this.beginLone(cost, now)
  }

  /** As `begin()`, for a request that the store granted by itself: what is granted ahead stays. */
  beginLone(cost: number, now: number): Ticket {
    const { openedAt } = this.own
    const ticket = {
      subjectWindow: this,
      cost,
      start: now,
      countedFrom: now,
      openedAt,
      heldUntil: now + cost,
      isHeld: false,
      sooner: undefined,
      later: undefined,
      isPaused: false,
      pausedHold: 0,
    }
    this.own.begin(ticket)
    this.#touched = now
    return ticket
  }

  /** Takes a request out of flight. What is left of its hold goes to those that wait. Returns what it took. */
  finish(ticket: Ticket, now: number): number {
    const unused = ticket.heldUntil - now
    const us = this.own.end(ticket, now)
    if (unused > 0 && this.#waiting.length > 0 && !this.#shard.isDown) this.slack.give(unused)
    return us
  }

  /**
   * What this process may still commit without the store: its share of what was left when the other processes were last
   * heard, less what it has committed since.
   */
  shareLeft(limit: number, now: number): number {
    const othersHeld = this.#isUnheard(now) ? limit * UNHEARD_PART : now - this.#asOf < HELD_US ? this.#othersHeld : 0
    const leftWhenHeard = limit - this.#othersSpent - othersHeld - this.#ownWhenHeard
    const since = this.own.total(now) + this.own.held(now) - this.#ownWhenHeard
    return Math.max(0, leftWhenHeard) / this.#shard.processes - since
  }

  #isUnheard(now: number): boolean {
    return this.#asOf === -Infinity && this.#shard.processes > 1 && !this.isLongOutage(now)
  }

  /** Whether the server has been down for longer than it stops for now and then. */
  isLongOutage(now: number): boolean {
    const { isDown, downSince } = this.#shard
    return isDown && now - downSince > LONG_OUTAGE_US
  }

  /** Whether so much is left under `limit`, beside all that was used and is set aside as far as is known here. */
  isLeft(cost: number, limit: number, now: number): boolean {
    return this.used(now) + this.own.held(now) + this.#othersHeld + cost <= limit
  }

  /**
   * Whether so little is asked for, and so much is left, that nothing need be granted for it.
   *
   * @param untold what this process has charged or let in since the store was told
   */
  isTrifle(cost: number, limit: number, now: number, untold = this.#untold(now)): boolean {
    if (untold + cost > trifleUs(limit)) return false
    return this.isLeft(cost + this.othersSince(now), limit * FAR_PART, now)
  }

  #untold(now: number): number {
    return Math.abs(this.own.total(now) - this.#told) + this.own.held(now)
  }

  /** What the other processes' requests may have taken since they were heard of. */
  othersSince(now: number): number {
    return this.#othersRunning > 0 ? this.#othersRunning * (now - this.#asOf) : 0
  }

  /** Gives up what is granted ahead: nothing asks for it. True where the store is to be told. */
  givesSlackBack(): boolean {
    if (this.slack.left === 0) return false
    this.slack.drop()
    this.#dirty = true
    return true
  }

  /** Charges time; a credit is negative. True where the limit is exceeded. */
  charge(us: number, now: number): boolean {
    this.own.charge(us)
    if (us < 0) this.#shown = 0
    this.#touched = now
    this.#dirty ||= Math.abs(this.own.spent - this.#told) > trifleUs(this.#limit)
    return this.#othersSpent + this.own.spent > this.#limit
  }

  /** Leaves waiting what is not decided. */
  keepWaiting(waiting: readonly Waiter[]): void {
    this.#waiting = waiting.length === 0 ? NONE : waiting
  }

  /** Whether the store is to be asked again for those that wait. */
  isAskDue(now: number): boolean {
    return now >= this.#askAgainAt || this.#asOf === -Infinity
  }

  /** An answer left requests waiting: the store is asked again soon, and more rarely each time. */
  askAgainLater(now: number): void {
    this.#askAgainUs = Math.min(ASK_AGAIN_MOST_US, Math.max(ASK_AGAIN_US, this.#askAgainUs * ASK_AGAIN_GROWTH))
    this.#askAgainAt = now + this.#askAgainUs
  }

  /** A request was admitted: there may be room for more. */
  askAgainSoon(): void {
    this.#askAgainUs = 0
  }

  // --- what the store is told and says

  /** Another server keeps the subject's windows now. It may know them, or not. */
  moveTo(shard: Shard): void {
    this.#shard = shard
    this.#storedSeq = 0
    this.#asOf = this.#told = -Infinity
    this.#dirty = true
    this.slack.drop()
  }

  /** All is to be told that the store may not have. */
  markDirty(): void {
    this.#dirty = true
  }

  /** The store is to be told as soon as it can be. */
  markUrgent(): void {
    this.#urgent = true
  }

  /**
   * A command leaves with all there is to tell.
   *
   * @param asks for time, granted now or before
   */
  send(seq: number, asks: boolean, now: number): Sent {
    this.#dirty = this.#urgent = false
    this.#touched = now
    const { number, granted, running, spent } = this.own
    this.#told = -Infinity
    return (this.#sent = { seq, at: now, number, granted, told: asks || running > 0 ? -Infinity : spent })
  }

  /** The command is not under way any more. False where it was not this one. */
  unsend(sent: Sent | undefined = this.#sent): boolean {
    if (this.#sent !== sent) return false
    this.#sent = undefined
    return true
  }

  /** An answer to command `seq` came. False where a later command was answered before. */
  isNews({ seq }: Sent): boolean {
    if (seq < this.#heardSeq) return false
    this.#heardSeq = seq
    return true
  }

  /** Enters the window that is open at the store's time `time`, or by its clock as known here, whichever is later. */
  follow(time: number, now: number): boolean {
    const number = this.#numberAt(time)
    // The store's clock was set back: its window is the one that counts, and these are its figures.
    if (this.start - time > SET_BACK_US) {
      this.own.renumber(number)
      this.#end = this.#terms.calendar.end(this.phase, number)
    }
    return this.enter(now, Math.max(number, this.#numberAt(this.#shard.clock.at(now))))
  }

  /**
   * Takes over what the store answered.
   *
   * @param grants false where the command was given up: what it granted is not to be used
   */
  hear(sent: Sent, figures: OthersFigures, grants: boolean, now: number): void {
    this.#storedSeq = sent.seq
    this.#asOf = sent.at
    this.#othersSpent = figures.othersSpent
    this.#othersRunning = figures.othersRunning
    this.#othersHeld = figures.othersHeld
    this.#incarnation = figures.incarnation
    this.#ended = figures.ended
    this.#ownWhenHeard = this.own.total(now) + this.own.held(now)
    const since = this.own.granted - sent.granted
    this.slack.hear(grants ? figures.granted - since : undefined, figures.more)
    if (grants) this.#told = sent.told
  }

  /** The store has lost what it was told, where it has an older command of this process than it had. */
  hasLost(storedSeq: number): boolean {
    return storedSeq < this.#storedSeq
  }

  /** Puts the subject to rest. */
  evict(): RestingFigures {
    this.#evicted = true
    const [incarnation, ended] = [this.#incarnation, this.#ended]
    const { id, phase } = this
    const { number, spent } = this.own
    const othersSpent = this.#othersSpent
    const figures = id === '' ? { number, spent, othersSpent, phase } : { number, spent, othersSpent }
    const shown = this.#shown > figures.spent + figures.othersSpent && { shown: this.#shown }
    return ended > 0 || shown ? { ...figures, ...(ended > 0 && { closed: { incarnation, ended } }), ...shown } : figures
  }
}

/** What a trifle takes at most, under this limit. */
function trifleUs(limit: number): number {
  return Math.min(TRIFLE_US, limit * TRIFLE_PART)
}
