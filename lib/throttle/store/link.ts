import { type Clock, nowUs, wallOffsetUs } from '../../http/clock'
import { TimeLimit, TimeoutError, deadline, promised } from '../../http/deadline'
import type { Account, Server } from '../budget/account'
import { serveLine } from '../budget/decide'
import { type Answer, GRACE_US, PARKED_US, type Report, TICK_US } from '../budget/report'
import { WindowClock } from '../budget/window-clock'
import { type SyncedMessage, channels } from '../events'
import { CircuitBreaker } from './circuit-breaker'
import { OutageNews } from './outage-news'
import type { RefusalsMessage } from '../refusals'
import { type AccountStore, type Beat, type StoreServer, WAITS_MS } from './store'

/** Reports in one command. */
const TOGETHER = 100
/** With this many commands under way, reports wait for an answer. `FULL` reports fill a command, and do not wait. */
const UNDER_WAY = 2
const FULL = 16
/** Largest number of background reports per tick, so that requests do not wait behind them. */
const TICK_MOST = 500
/** Heartbeats: while the breaker is closed; while it is not; while a command was not answered. */
const BEAT_MS = 1_000
const BEAT_OPEN_MS = 200
const BEAT_DOUBTED_MS = 20
/** After the process starts, a server may stay silent for this long before it counts as an outage. */
const START_US = 1_000_000
/** Largest difference assumed between wall clocks until the server states its time. */
const WALL_ERROR_US = 1_000_000

/** All processes together may be off by a hundredth of the limit; one of them by this at least. */
const TOLERANCE = 100
const TOLERANCE_LEAST_US = 1_000
/** Largest concurrency at which each end is reported at once, because other processes need each place. */
const FEW_PLACES = 8

/** The store of a link, as all policies over it share it in this process. */
export interface LinkedStore {
  readonly store: AccountStore
  readonly clock: Clock
  /** Deadline of an answer, in milliseconds. */
  readonly deadlineMs: number
  /** What requests get during an outage, for messages. */
  readonly meanwhile: string
  /** Content of each heartbeat: refusals of this process, and its policies with their terms. */
  readonly refused: RefusalsMessage
  readonly statedTerms: string[]
  /** The number of the last report. */
  lastSeq: number
  /** The link to the server that keeps the accounts of the subject with this id now. */
  linkOf(id: string): Link
  /** Accounts of all policies. */
  accounts(): Iterable<Account>
  /** Receives the terms of other processes. */
  compareTerms(stated: readonly string[], place: string | undefined): void
}

/** One command: the reports of some accounts. */
interface Command {
  readonly accounts: readonly Account[]
  readonly reports: readonly Report[]
  readonly sentAt: number
  cancelDeadline: () => void
  isUnderWay: boolean
}

/**
 * One server, as this process sees it: whether it answers, what time it has, and how many processes live. The link
 * sends the reports of all accounts on the server, of any policy. Reports that are due in one turn of the event loop go
 * in one command. One tick looks at all active accounts.
 */
export class Link implements Server {
  readonly clock: WindowClock
  readonly isMemory = false
  living = 1
  readonly #store: LinkedStore
  readonly #clock: Clock
  readonly #startedAt: number
  readonly #breaker: CircuitBreaker
  readonly #news: OutageNews
  /** The heartbeat whose answer counts; and when the next one is sent, in µs of the process's clock. */
  #beat: object | undefined
  #nextBeatAt = Infinity
  #cancelBeat = () => {}
  #isClosed = false
  /** Accounts that are reported at the end of this turn, or when a command under way was answered. */
  #queue = new Set<Account>()
  #isFlushDue = false
  #underWay = 0
  /** Accounts that ticks look at. */
  readonly #active = new Set<Account>()
  #isTicking = false
  /** Callers of {@link refresh}, by account. Each waits for the answer to a report with a `seq` above its own. */
  readonly #refreshed = new Map<Account, { readonly seq: number; readonly told: () => void }[]>()
  /** State of the server's data by the last heartbeat. */
  #token: string | undefined

  constructor(
    readonly server: StoreServer,
    store: LinkedStore,
  ) {
    this.#store = store
    this.#clock = store.clock
    this.#startedAt = this.#now
    this.clock = new WindowClock(wallOffsetUs(store.clock), WALL_ERROR_US)
    this.#breaker = new CircuitBreaker(this.deadlineUs, this.#startedAt)
    this.#news = new OutageNews({
      clock: store.clock,
      about: { store: store.store, server: server.name },
      place: () => this.#place,
      meanwhile: () => store.meanwhile,
    })
    this.#sendBeat()
  }

  // --- Server

  get name(): string | undefined {
    return this.server.name
  }

  get isDown(): boolean {
    return this.#isClosed || this.#breaker.state !== 'closed'
  }

  get downSince(): number {
    return this.#breaker.openedAt
  }

  /** Why it is down, for people. */
  get cause(): string | undefined {
    return this.#news.cause
  }

  get isStarting(): boolean {
    return !this.#breaker.wasClosed && this.#now - this.#startedAt < START_US
  }

  get deadlineUs(): number {
    return this.#store.deadlineMs * 1_000
  }

  get #place(): string | undefined {
    return this.server.place ?? this.server.name
  }

  get #now(): number {
    return nowUs(this.#clock)
  }

  /** Resolves when the server answers. @throws {Error} with the warning's message, where it is said not to, or time is over */
  answers(time: TimeLimit): Promise<void> {
    return this.isDown && !this.#isClosed ? this.#news.answers(time) : Promise.resolve()
  }

  // --- what asks for a report

  /** The account has changed, so the next tick checks it. */
  activate(account: Account): void {
    if (this.#isClosed) return void this.#linkOf(account) // another server keeps it now, whose ticks look at it
    this.#active.add(account)
    if (!this.#isTicking) this.#tickLater()
  }

  /** Whether the next tick checks the account again, or a caller waits for its figures. */
  isActive(account: Account): boolean {
    return this.#active.has(account) || this.#refreshed.has(account)
  }

  /** A request has ended: reports at once if somebody waits for that. Ticks look at an account while it has any. */
  ended(account: Account, now: number): void {
    if (isDueNow(account, now)) this.ask(account)
  }

  /**
   * Reports the account in this turn of the event loop, with all others that are due, if no report of it is under way.
   *
   * A server that is down is asked only for those who wait in {@link refresh}.
   *
   * @param full how many reports go without waiting for the end of the turn
   */
  ask(account: Account, full = FULL): void {
    if (account.sent !== undefined || account.isForgotten) return
    const link = this.#linkOf(account)
    if (link !== this) return link.ask(account, full)
    if (this.isDown && !this.#refreshed.has(account)) return
    this.#queue.add(account)
    if (this.#queue.size >= full) this.#flush()
    else if (!this.#isFlushDue) this.#flushLater()
  }

  /**
   * Brings the other processes' newest figures, if the server answers within the deadline.
   *
   * @param time the promise resolves by then, whatever becomes of the report
   * @param isLast the process closes, so this report is sent even if the server has just missed a deadline
   */
  refresh(account: Account, time = new TimeLimit(this.#clock, WAITS_MS), isLast = false): Promise<void> {
    const link = this.#linkOf(account)
    if (link !== this) return link.refresh(account, time, isLast)
    if (this.isDown && !isLast) {
      account.tellAgain() // a charge within the tolerance would not be due
      this.activate(account)
      return Promise.resolve()
    }
    return new Promise<void>((resolve) => {
      const waiting = this.#refreshed.get(account) ?? []
      const cancel = this.#clock.after(time.leftMs, () => this.#tellRefreshed(account))
      const told = () => {
        cancel()
        resolve()
      }
      this.#refreshed.set(account, [...waiting, { seq: this.#store.lastSeq, told }])
      this.activate(account)
      this.ask(account)
    })
  }

  /** The link to the server that keeps this account now: a slot of a Cluster may have moved. */
  #linkOf(account: Account): Link {
    const link = this.#store.linkOf(account.id)
    if (account.server !== link) {
      account.moveTo(link)
      link.activate(account)
    }
    return link
  }

  // --- commands

  #flushLater(): void {
    this.#isFlushDue = true
    this.#clock.after(0, () => {
      this.#isFlushDue = false
      if (this.#underWay < UNDER_WAY) this.#flush()
    })
  }

  /** A command for all that are due; several where they do not go together. */
  #flush(): void {
    const due = this.#queue
    this.#queue = new Set()
    const most = this.server.reportsPerCommand ?? TOGETHER
    let together: Account[] = []
    for (const account of due) {
      if (account.sent !== undefined || account.isForgotten || account.server !== this) continue
      if (together.length === most || together[0]?.terms.process !== account.terms.process) {
        this.#send(together)
        together = []
      }
      together.push(account)
    }
    this.#send(together)
  }

  #send(accounts: readonly Account[]): void {
    const [first] = accounts
    if (first === undefined) return
    const now = this.#now
    const reports = accounts.map((account) => account.takeReport(++this.#store.lastSeq, now))
    const command: Command = { accounts, reports, sentAt: now, cancelDeadline: () => undefined, isUnderWay: true }
    this.#underWay++
    command.cancelDeadline = deadline(this.#clock, this.#store.deadlineMs, () =>
      this.#lose(command, () => this.#late('report', now)),
    )
    promised(() => this.server.report(first.terms.process, reports)).then(
      (answers) => this.#answered(command, answers),
      (cause: unknown) => this.#lose(command, () => this.#refused(cause, now)),
    )
  }

  #over(command: Command): void {
    command.cancelDeadline()
    if (!command.isUnderWay) return
    command.isUnderWay = false
    this.#underWay--
  }

  #next(): void {
    if (this.#queue.size > 0 && !this.#isFlushDue && this.#underWay < UNDER_WAY) this.#flush()
  }

  #answered(command: Command, answers: readonly Answer[]): void {
    const { accounts, reports, sentAt } = command
    const now = this.#now
    this.#over(command)
    const time = answers[0]?.time ?? 0
    if (time > 0) {
      this.#breaker.answered(sentAt, now)
      this.clock.learn(sentAt, now, time)
    }
    if (channels.synced.hasSubscribers) {
      const latencyMs = (now - sentAt) / 1_000
      for (const window of new Set(accounts.map(({ terms }) => terms.policy)))
        channels.synced.publish({ window, latencyMs } satisfies SyncedMessage)
    }
    for (let i = 0; i < answers.length; i++) {
      const [account, report, answer] = [accounts[i] as Account, reports[i] as Report, answers[i] as Answer]
      const { figures, status } = answer
      // Late answers count as well: totals move with every report that was written.
      if (figures?.before !== undefined) account.terms.total?.(report.ends, figures.before, figures.used + report.used)
      if (account.server.isMemory) continue // its policy was closed
      if (status === 'unreadable') this.#news.unreadable(account.terms.policy, answer.cause)
      this.#take(account, report, answer, now)
    }
    this.#next()
  }

  #take(account: Account, report: Report, answer: Answer, now: number): void {
    if (account.takeAnswer(report, answer, now)) {
      serveLine(account, now, answer.status === 'written' ? undefined : 'unwritten')
      this.#tellRefreshed(account, report.seq)
    }
    if (account.line.length > 0) account.askLater(now)
    const isNew = account.line[0]?.isConsidered === false
    if (isNew || isDueNow(account, now) || this.#refreshed.has(account)) this.ask(account)
  }

  /** The answer to the command is lost, so this process decides alone about its accounts. The answer may still come. */
  #lose(command: Command, note: () => void): void {
    const { accounts, reports } = command
    this.#over(command)
    const lost = accounts.filter((account, i) => account.sent === reports[i] && !account.server.isMemory)
    if (lost.length > 0) {
      for (const account of lost) account.giveUp()
      note()
      const now = this.#now
      for (const account of lost) {
        account.enter(now)
        serveLine(account, now, account.server.isDown ? 'down' : 'unanswered')
        this.activate(account)
        this.#tellRefreshed(account)
      }
    }
    this.#next()
  }

  /** @param answered `seq` of the report that was answered. Default: no caller waits any longer */
  #tellRefreshed(account: Account, answered = Infinity): void {
    const waiting = this.#refreshed.size > 0 ? this.#refreshed.get(account) : undefined
    if (waiting === undefined) return
    const left = waiting.filter(({ seq }) => seq >= answered)
    if (left.length > 0) this.#refreshed.set(account, left)
    else this.#refreshed.delete(account)
    for (const { seq, told } of waiting) if (seq < answered) told()
  }

  // --- ticks

  #tickLater(): void {
    if (this.#isClosed) return
    this.#isTicking = true
    this.#clock.after(TICK_US / 1_000, () => this.#tick())
  }

  #tick(): void {
    this.#isTicking = false
    const now = this.#now
    let sent = 0
    for (const account of [...this.#active]) {
      if (account.isForgotten || account.server !== this) {
        this.#active.delete(account)
        continue
      }
      account.enter(now)
      account.grant.tick(account.own.live.length)
      const isToTell = isDue(account, now)
      if (isToTell ? sent >= TICK_MOST : isActive(account)) continue
      this.#active.delete(account)
      if (!isToTell) continue
      this.#active.add(account) // behind those that were not sent
      sent++
      this.ask(account, TOGETHER)
    }
    if (this.#active.size > 0) this.#tickLater()
  }

  // --- heartbeats, and whether the server is up

  /** A connection was made: what the server was told before may be gone. */
  connected(): void {
    this.#token = undefined
    this.#sendBeat()
  }

  /** Ignores the answer to an earlier heartbeat. */
  #sendBeat(): void {
    if (this.#isClosed) return
    this.#cancelBeat()
    this.#nextBeatAt = Infinity
    const sentAt = this.#now
    const beat = (this.#beat = {})
    const over = (act: () => void) => {
      if (this.#beat !== beat) return
      cancel()
      this.#beat = undefined
      act()
      this.#beatWithin(this.isDown ? BEAT_OPEN_MS : this.#breaker.isDoubted ? BEAT_DOUBTED_MS : BEAT_MS)
    }
    const { deadlineMs, refused, statedTerms } = this.#store
    const cancel = deadline(this.#clock, deadlineMs, () => over(() => this.#late('heartbeat', sentAt)))
    promised(() => this.server.beat(refused, statedTerms)).then(
      (answer) => {
        this.#breaker.answered(sentAt, this.#now)
        over(() => this.#heard(answer, sentAt))
      },
      (cause: unknown) => over(() => this.#refused(cause, sentAt)),
    )
  }

  /** Sends the next one after the time, or sooner where it was to be sent sooner; not while one is under way. */
  #beatWithin(ms: number): void {
    const at = this.#now + ms * 1_000
    if (this.#isClosed || this.#beat !== undefined || this.#nextBeatAt <= at) return
    this.#cancelBeat()
    this.#nextBeatAt = at
    this.#cancelBeat = this.#clock.after(ms, () => this.#sendBeat())
  }

  #heard({ time, living = 1, token = '', terms = [] }: Beat, sentAt: number): void {
    const now = this.#now
    this.clock.learn(sentAt, now, time)
    const areMore = living > this.living
    const hasLost = this.#breaker.wasClosed && this.#token !== token
    this.living = Math.max(1, living)
    this.#token = token
    this.#breaker.heard(now)
    if (hasLost || areMore) this.#tellAgain(hasLost, now)
    if (!this.isDown) this.#news.ended()
    this.#store.compareTerms(terms, this.#place)
  }

  /** @param hasLost the server may have lost its data; else more processes live, so the tolerance of each is smaller */
  #tellAgain(hasLost: boolean, now: number): void {
    for (const account of this.#store.accounts()) {
      if (account.server !== this) continue
      if (hasLost && !this.#active.has(account) && now >= account.grant.until) continue // told with its next request
      if (hasLost) account.tellAgain()
      this.activate(account)
    }
  }

  #late(what: 'report' | 'heartbeat', sentAt: number): void {
    const remedy = this.#breaker.isLate ? ', though later: set deadlineMs of redisStore()' : ''
    this.#breaker.missed(sentAt, this.#now)
    this.#doubt(new TimeoutError(`no ${what} was answered in ${this.#store.deadlineMs} ms${remedy}`))
  }

  #refused(cause: unknown, sentAt: number): void {
    this.#breaker.failed(cause, sentAt, this.#now)
    this.#doubt(cause)
  }

  #doubt(cause: unknown): void {
    if (this.#isClosed) return
    this.#beatWithin(this.isDown ? BEAT_OPEN_MS : BEAT_DOUBTED_MS)
    if (this.isDown && !this.isStarting) this.#news.isDown(cause)
  }

  /** The server keeps no accounts any more, or the store was closed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#cancelBeat()
    this.#beat = undefined
    this.#news.close()
    for (const account of this.#refreshed.keys()) this.#tellRefreshed(account)
    for (const account of this.#active) this.#linkOf(account) // also where a report is under way
  }
}

/** Whether a report is due at once: requests wait for what it frees, here or perhaps in other processes. */
function isDueNow(account: Account, now: number): boolean {
  return account.isTold && account.hasEnded && (account.line.length > 0 || areFew(account, now))
}

/**
 * Whether a report is due at a tick: the truth differs from what was told by more than the tolerance, a hot subject has
 * something ahead, or a hold ends later or sooner than was told.
 */
function isDue(account: Account, now: number): boolean {
  const { told, heard, toldUntil, own, grant, hasEnded } = account
  if (!account.isTold || isDueNow(account, now)) return true
  const sums = own.at(now)
  const untold = sums.usedUs + sums.pricedUs - told.used - told.held - heard.granted
  const toleranceUs = Math.max(TOLERANCE_LEAST_US, account.limitUs / (TOLERANCE * account.server.living))
  if (Math.abs(untold) > toleranceUs) return true
  if ((grant.us > 0 || heard.ahead > 0) && !grant.isStanding) return true
  if (own.unseenUs !== told.unseen || isHalfExcused(account, sums.excusedUs)) return true
  if ((own.live.length === 0 || hasEnded) && toldUntil > now + TICK_US) return true
  const { lastEnd } = sums
  const startedAhead = heard.ahead > 0 && lastEnd < Infinity // its time is reserved as long as the grant lasts
  const until = startedAhead ? Math.max(toldUntil, grant.until) : toldUntil
  return lastEnd > until + GRACE_US / 2 && now + PARKED_US / 2 > until
}

/** Whether waits for clients have taken half of what this process may excuse by itself. */
function isHalfExcused(account: Account, excusedUs: number): boolean {
  const { told, clientWaitUs } = account
  const us = excusedUs - told.excused
  return us > 0 && 2 * us > account.excusedMostUs(clientWaitUs) - told.excused
}

/** Whether few of the subject's requests may run at once. */
function areFew(account: Account, now: number): boolean {
  return !account.hasPlace(account, account.usedUs(now), FEW_PLACES)
}

/** Whether the next tick checks the account again, although no report is due. */
function isActive({ own, line, grant }: Account): boolean {
  return own.live.length > 0 || line.length > 0 || grant.wasAsked || grant.demandUs > 0
}
