import { randomBytes } from 'node:crypto'
import { type Clock, nowUs } from '../../http/clock'
import type { Account } from '../budget/account'
import { serveLine } from '../budget/line'
import { type Answer, type Report, TICK_US } from '../budget/report'
import type { Subjects } from '../budget/subjects'
import { type SyncedMessage, channels } from '../events'
import { deadline, promised } from '../../http/deadline'
import { dueAt, isActive, isReported } from './due'
import type { ServerHealth, StoreHealth } from './health'

/** Reports in one command. */
const TOGETHER = 100
/** While so many commands are under way to a server, further reports wait for an answer; so many go all the same. */
const UNDER_WAY = 2
const FULL = 16
/** Reports that nobody waits for, at one tick: requests that wait are not to wait behind them. */
const TICK_MOST = 500
/** The last figures are reported for so long at most, with a pause where no answer came. */
const CLOSING_MS = 3_000
const CLOSING_PAUSE_MS = 100

/** One command: the reports of some accounts to one server. */
interface Command {
  readonly queue: Queue
  readonly accounts: readonly Account[]
  readonly reports: readonly Report[]
  readonly sentAt: number
  cancelDeadline: () => void
  isUnderWay: boolean
}

/** What is to be sent to one server. */
interface Queue {
  readonly server: ServerHealth
  readonly accounts: Set<Account>
  underWay: number
  /** It is sent at the end of this turn of the event loop. */
  isDue: boolean
}

/** Reports the accounts of one policy to the store, and gives them the answers: decides when, and nothing else. */
export class Reporter {
  readonly #policy: string
  readonly #subjects: Subjects
  readonly #health: StoreHealth
  readonly #clock: Clock
  /** Hears of a subject's total in the window that ends then. */
  readonly #total: (ends: number, beforeUs: number, afterUs: number) => void
  /** Names this process in the store. */
  readonly #process = randomBytes(6).toString('base64url')
  #seq = 0
  /** Accounts that ticks look at. */
  readonly #active = new Set<Account>()
  readonly #queues = new Map<ServerHealth, Queue>()
  #underWay = 0
  #onQuiet: (() => void) | undefined
  /** Those who wait for an answer to a report later than this one. */
  readonly #refreshed = new Map<Account, { readonly seq: number; readonly resolve: () => void }[]>()
  #isTicking = false
  /** `closing`: the last figures are reported. `closed`: nothing is sent any more. */
  #state: 'open' | 'closing' | 'closed' = 'open'
  readonly #unsubscribe: () => void

  constructor(
    policy: string,
    subjects: Subjects,
    health: StoreHealth,
    clock: Clock,
    total: (ends: number, beforeUs: number, afterUs: number) => void,
  ) {
    this.#policy = policy
    this.#subjects = subjects
    this.#health = health
    this.#clock = clock
    this.#total = total
    this.#unsubscribe = health.subscribe((server, isLost) => this.#changed(server, isLost))
  }

  // --- what asks for a report

  /** Something happened in the account: a tick looks at it. */
  activate(account: Account): void {
    this.#active.add(account)
    if (!this.#isTicking) this.#tickLater()
  }

  /** A tick is to look at the account again. */
  isActive(account: Account): boolean {
    return this.#active.has(account) || this.#refreshed.has(account)
  }

  /** A request has ended: reports at once if somebody waits for that. Ticks look at an account while it has any. */
  ended(account: Account, now: number): void {
    if (dueAt(account, now) === 'now') this.ask(account)
  }

  /**
   * Reports the account in this turn of the event loop, with all others that are due, if no report of it is under way.
   *
   * @param full how many reports go without waiting for the end of the turn
   */
  ask(account: Account, full = FULL): void {
    if (account.sent !== undefined || account.isForgotten || this.#state === 'closed') return
    const server = this.#locate(account)
    // A closing process reports also to a server that missed a deadline a moment ago.
    if (server.isDown && this.#state === 'open') return
    let queue = this.#queues.get(server)
    if (queue === undefined)
      this.#queues.set(server, (queue = { server, accounts: new Set(), underWay: 0, isDue: false }))
    queue.accounts.add(account)
    if (queue.accounts.size >= full) this.#flush(queue)
    else if (!queue.isDue) this.#flushLater(queue)
  }

  /** Brings the other processes' newest figures, if the store answers within the deadline. */
  refresh(account: Account): Promise<void> {
    if (this.#locate(account).isDown || this.#state !== 'open') return Promise.resolve()
    return new Promise((resolve) => {
      const waiting = this.#refreshed.get(account) ?? []
      this.#refreshed.set(account, [...waiting, { seq: this.#seq, resolve }])
      this.activate(account)
      this.ask(account)
    })
  }

  /** The server that keeps this account now. A slot of a Cluster may have moved. */
  #locate(account: Account): ServerHealth {
    const server = this.#health.serverOf(account.id)
    if (account.server !== server) account.moveTo(server)
    return server
  }

  // --- one queue for each server

  #flushLater(queue: Queue): void {
    queue.isDue = true
    this.#clock.after(0, () => {
      queue.isDue = false
      if (queue.underWay < UNDER_WAY) this.#flush(queue)
    })
  }

  #flush(queue: Queue): void {
    if (this.#state === 'closed') return
    const most = queue.server.server.reportsPerCommand ?? TOGETHER
    const due: Account[] = []
    for (const account of queue.accounts) if (account.sent === undefined && !account.isForgotten) due.push(account)
    queue.accounts.clear()
    if (due.length <= most) this.#send(queue, due)
    else for (let i = 0; i < due.length; i += most) this.#send(queue, due.slice(i, i + most))
  }

  #send(queue: Queue, accounts: readonly Account[]): void {
    if (accounts.length === 0) return
    const now = nowUs(this.#clock)
    const wishes = this.#state === 'open'
    const reports = accounts.map((account) => account.takeReport(++this.#seq, now, wishes))
    const command: Command = { queue, accounts, reports, sentAt: now, cancelDeadline: noDeadline, isUnderWay: true }
    queue.underWay++
    this.#underWay++
    const { server } = queue
    const missed = () => this.#failed(command)
    command.cancelDeadline = deadline(this.#clock, server.deadlineMs, missed) // an answer may never come
    promised(() => server.server.report(this.#policy, this.#process, reports)).then(
      (answers) => this.#answered(command, answers),
      (err: unknown) => this.#failed(command, err),
    )
  }

  #over(command: Command): void {
    command.cancelDeadline()
    if (!command.isUnderWay) return
    command.isUnderWay = false
    command.queue.underWay--
    this.#underWay--
  }

  #next(queue: Queue): void {
    if (queue.accounts.size > 0 && !queue.isDue && queue.underWay < UNDER_WAY) this.#flush(queue)
    if (this.#underWay === 0) this.#onQuiet?.()
  }

  // --- answers

  #answered(command: Command, answers: readonly Answer[]): void {
    const { queue, accounts, reports, sentAt } = command
    const { server } = queue
    const now = nowUs(this.#clock)
    this.#over(command)
    const time = answers[0]?.time ?? 0
    if (time > 0) {
      server.answered(sentAt)
      server.clock.learn(sentAt, now, time)
    }
    if (channels.synced.hasSubscribers) {
      const message = { window: this.#policy, latencyMs: (now - sentAt) / 1_000 }
      channels.synced.publish(message satisfies SyncedMessage)
    }
    for (let i = 0; i < answers.length; i++) {
      const [account, report, answer] = [accounts[i] as Account, reports[i] as Report, answers[i] as Answer]
      this.#count(report, answer)
      if (this.#state === 'closed') continue
      if (answer.status === 'unreadable') server.unreadable(this.#policy, answer.cause)
      this.#take(account, report, answer, now)
    }
    this.#next(queue)
  }

  /** Late answers count as well: totals move with every report that was written. */
  #count({ ends, used }: Report, { figures }: Answer): void {
    if (figures?.before !== undefined) this.#total(ends, figures.before, figures.used + used)
  }

  #take(account: Account, report: Report, answer: Answer, now: number): void {
    if (account.takeAnswer(report, answer, now)) {
      serveLine(account, now, answer.status === 'written' ? undefined : 'unwritten')
      this.#tellRefreshed(account, report.seq)
    }
    if (account.waiting > 0) account.askLater(now)
    const isNew = account.firstInLine?.isConsidered === false
    if (isNew || dueAt(account, now) === 'now' || this.#refreshed.has(account)) this.ask(account)
  }

  /** It failed, or without a cause it was not answered in time. An answer may come all the same. */
  #failed(command: Command, cause?: unknown): void {
    const { queue, accounts, reports, sentAt } = command
    this.#over(command)
    const lost = accounts.filter((account, i) => account.sent === reports[i])
    if (lost.length > 0 && this.#state !== 'closed') {
      for (const account of lost) account.giveUp()
      if (cause === undefined) queue.server.missed('report', sentAt)
      else queue.server.failed(cause, sentAt)
      const now = nowUs(this.#clock)
      for (const account of lost) this.#decideAlone(account, now)
    }
    this.#next(queue)
  }

  #decideAlone(account: Account, now: number): void {
    account.enter(now)
    serveLine(account, now, account.server.isDown ? 'down' : 'unanswered')
    this.activate(account)
    this.#tellRefreshed(account)
  }

  /** @param answered the report that was answered; without one nobody is to wait any longer */
  #tellRefreshed(account: Account, answered = Infinity): void {
    const waiting = this.#refreshed.get(account)
    if (waiting === undefined) return
    const left = waiting.filter(({ seq }) => seq >= answered)
    if (left.length > 0) this.#refreshed.set(account, left)
    else this.#refreshed.delete(account)
    for (const { seq, resolve } of waiting) if (seq < answered) resolve()
  }

  // --- ticks

  #tickLater(): void {
    if (this.#state !== 'open') return
    this.#isTicking = true
    this.#clock.after(TICK_US / 1_000, () => this.#tick())
  }

  #tick(): void {
    if (this.#state !== 'open') return
    this.#isTicking = false
    const now = nowUs(this.#clock)
    let sent = 0
    for (const account of [...this.#active]) {
      if (account.isForgotten) {
        this.#active.delete(account)
        continue
      }
      account.enter(now)
      account.tick()
      const isDue = dueAt(account, now) !== undefined
      if (!isDue && isActive(account, now)) continue
      if (isDue && sent >= TICK_MOST) continue
      this.#active.delete(account)
      if (!isDue) continue
      this.#active.add(account) // behind those that were not sent
      sent++
      this.ask(account, TOGETHER)
    }
    if (this.#active.size > 0) this.#tickLater()
  }

  /** @param isLost the server may have lost what it was told; else it has heard of more processes: each may be off by less */
  #changed(server: ServerHealth, isLost: boolean): void {
    const now = nowUs(this.#clock)
    for (const account of this.#subjects) {
      if (account.server !== server) continue
      if (!isLost) this.activate(account)
      else if (this.#active.has(account) || now < account.grant.until) {
        account.tellAgain() // the others tell all when they ask for their next request
        this.activate(account)
      }
    }
  }

  // --- the end

  /** Publishes what is not published, gives back what is granted ahead, and waits for the answers or the deadline. */
  async flush(): Promise<void> {
    await this.#quiet() // a report under way may bring a grant
    const now = nowUs(this.#clock)
    for (const account of this.#subjects) {
      account.calm()
      if (!isReported(account, now)) this.ask(account)
    }
    await this.#turn(0)
    await this.#quiet()
  }

  /** Reports the last figures, and nothing more from then on. */
  async close(): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'closing'
    await this.#quiet()
    for (const until = this.#clock.now() + CLOSING_MS; this.#clock.now() < until;) {
      const now = nowUs(this.#clock)
      const left = [...this.#subjects].filter((account) => {
        account.enter(now)
        return !isReported(account, now)
      })
      if (left.length === 0) break
      for (const account of left) this.ask(account)
      await this.#turn(0)
      await this.#quiet()
      if (left.some(({ told }) => !told.isKnown)) await this.#turn(CLOSING_PAUSE_MS)
    }
    this.#state = 'closed'
    this.#unsubscribe()
    for (const account of this.#refreshed.keys()) this.#tellRefreshed(account)
  }

  #turn(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve))
  }

  /** When all commands were answered, or have had the time. */
  #quiet(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        cancel()
        this.#onQuiet = undefined
        resolve()
      }
      const cancel = deadline(this.#clock, this.#health.deadlineMs, done)
      this.#onQuiet = done
    })
  }
}

function noDeadline(): void {}
