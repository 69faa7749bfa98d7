import { randomBytes } from 'node:crypto'
import { type Clock, nowUs } from '../../http/clock'
import type { Account } from '../account/account'
import { channels, type SyncedMessage } from '../diagnostics'
import type { HealthListener, ServerHealth, StoreHealth } from './health'
import { type Sent, TICK_US, askLater, dueAt, giveUp, isActive, isReported } from './report'
import { reportOf, takeAnswer, tick } from './report'
import { type Command, Sender, type Sending, TOGETHER } from './sender'
import type { Answer, Report } from './store'

/** Reports that nobody waits for, at one tick: requests that wait are not to wait behind them. */
const TICK_MOST = 500
/** Accounts looked at, at one tick, for those to be told again. */
const LOOKED_AT = 2_000
/** The last figures are reported for so long at most, with a pause where no answer came. */
const CLOSING_MS = 3_000
const CLOSING_PAUSE_MS = 100

/** What the reporter needs of those who keep the accounts. */
export interface Reported {
  /** Has the account enter the window that is open now. */
  enter(account: Account, now: number): void
  /** The store wrote a report: the subject's total over all processes has changed. */
  counted(endsUs: number, beforeUs: number, afterUs: number): void
  /** The last report was answered. The store is closed next. */
  closing(): Promise<void>
  /** Decides those who wait, as in an outage where `isAlone`. */
  serve(account: Account, now: number, isAlone?: boolean): void
  /** Active accounts. */
  readonly active: Iterable<Account>
  /** Accounts that a server may have to be told again; undefined for every other one. */
  spenders(server: ServerHealth, now: number): Iterator<Account | undefined, undefined>
}

/** Reports the accounts of one policy to the store, and takes the answers in: decides when, and nothing else. */
export class Reporter implements HealthListener, Sending {
  readonly #policy: string
  readonly #accounts: Reported
  readonly #health: StoreHealth
  readonly #clock: Clock
  readonly #grantAhead: boolean
  /** Names this process in the store. */
  readonly #process = randomBytes(6).toString('base64url')
  #seq = 0
  /** Accounts that ticks look at. */
  readonly #active = new Set<Account>()
  readonly #again = new Map<ServerHealth, Iterator<Account | undefined, undefined>>()
  readonly #sender: Sender
  /** Those who wait for an answer to a report later than this one. */
  readonly #refreshed = new Map<Account, { readonly seq: number; readonly resolve: () => void }[]>()
  #isTicking = false
  /** `closing`: the last figures are reported. `closed`: nothing is sent any more. */
  #state: 'open' | 'closing' | 'closed' = 'open'

  constructor(policy: string, accounts: Reported, health: StoreHealth, clock: Clock, grantAhead: boolean) {
    this.#policy = policy
    this.#accounts = accounts
    this.#health = health
    this.#clock = clock
    this.#grantAhead = grantAhead
    this.#sender = new Sender(this, clock)
    health.listeners.add(this)
  }

  /** The server that keeps this account now. A slot of a Cluster may have moved. */
  #locate(account: Account): ServerHealth {
    const server = this.#health.serverOf(account.id)
    if (account.server !== server) {
      account.server = server
      account.told = undefined
    }
    return server
  }

  /** Something happened in the account: a tick looks at it. */
  activate(account: Account): void {
    this.#active.add(account)
    if (!this.#isTicking) this.#tickLater()
  }

  /** A tick is to look at the account again. */
  isActive(account: Account): boolean {
    return this.#active.has(account) || this.#refreshed.has(account)
  }

  /** Reports at once if somebody waits for it. */
  ended(account: Account, now: number): void {
    this.activate(account)
    if (dueAt(account, now) === 'now') this.ask(account)
  }

  /** Reports the account in this turn of the event loop, if no report of it is under way. */
  ask(account: Account, full?: number): void {
    if (account.sent !== undefined || account.isEvicted || this.#state === 'closed') return
    const server = this.#locate(account)
    // A closing process reports also to a server that missed a deadline a moment ago.
    if (!server.isDown || this.#state === 'closing') this.#sender.add(account, server, full)
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

  // --- Sending

  reportOf(account: Account, now: number): Sent {
    this.#accounts.enter(account, now)
    return reportOf(account, ++this.#seq, now, this.#grantAhead && this.#state === 'open')
  }

  report({ server, sent }: Command): Promise<readonly Answer[]> {
    const reports = sent.map(({ report }) => report)
    return server.server.report(this.#policy, this.#process, reports)
  }

  answered({ server, accounts, sent }: Command, answers: readonly Answer[]): void {
    const now = nowUs(this.#clock)
    const [first] = sent
    if (first && answers[0]) {
      server.clock.learn(first.at, now, answers[0].time)
      const message = { window: this.#policy, latencyMs: (now - first.at) / 1_000 }
      if (channels.synced.hasSubscribers) channels.synced.publish(message satisfies SyncedMessage)
    }
    for (let i = 0; i < answers.length; i++) this.#count((sent[i] as Sent).report, answers[i] as Answer)
    if (this.#state === 'closed') return
    for (let i = 0; i < accounts.length; i++) {
      const [account, question, answer] = [accounts[i] as Account, sent[i] as Sent, answers[i] as Answer]
      this.#accounts.enter(account, now)
      if (answer.status === 'unreadable') server.unreadable(this.#policy, answer.cause)
      this.#take(account, question, answer, now)
    }
  }

  /** Late answers count as well: totals move with every report that was written. */
  #count({ ends, used }: Report, { figures }: Answer): void {
    if (figures?.before !== undefined) this.#accounts.counted(ends, figures.before, figures.used + used)
  }

  #take(account: Account, question: Sent, answer: Answer, now: number): void {
    const next = takeAnswer(account, question, answer, now)
    if (next === 'serve') {
      this.#accounts.serve(account, now, answer.status !== 'written' || undefined)
      this.#tellRefreshed(account, question.report.seq)
    }
    if (account.line.length > 0) askLater(account, now)
    this.activate(account)
    const isNew = account.line[0] !== undefined && !account.line[0].isConsidered
    if (next === 'again' || isNew || dueAt(account, now) === 'now' || this.#refreshed.has(account)) this.ask(account)
  }

  failed({ server, accounts, sent }: Command, cause: unknown): void {
    const lost = accounts.filter((account, i) => account.sent === sent[i])
    if (lost.length === 0 || this.#state === 'closed') return
    for (const account of lost) giveUp(account)
    server.failed(cause)
    const now = nowUs(this.#clock)
    for (const account of lost) this.#decideAlone(account, now)
  }

  #decideAlone(account: Account, now: number): void {
    this.#accounts.enter(account, now)
    this.#accounts.serve(account, now)
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
    this.#tellAgain()
    let sent = 0
    for (const account of [...this.#active]) {
      if (account.isEvicted) {
        this.#active.delete(account)
        continue
      }
      this.#accounts.enter(account, now)
      tick(account)
      const isDue = dueAt(account, now) !== undefined
      if (!isDue && isActive(account, now)) continue
      if (isDue && sent >= TICK_MOST) continue
      this.#active.delete(account)
      if (!isDue) continue
      this.#active.add(account) // behind those that were not sent
      sent++
      this.ask(account, TOGETHER)
    }
    if (this.#active.size > 0 || this.#again.size > 0) this.#tickLater()
  }

  #tellAgain(): void {
    for (const [server, spenders] of this.#again) {
      for (let [told, looked] = [0, 0]; told < TICK_MOST && looked < LOOKED_AT; looked++) {
        const { done, value: account } = spenders.next()
        if (done) {
          this.#again.delete(server)
          break
        }
        if (account === undefined) continue
        account.told = undefined
        this.#active.add(account)
        told++
      }
    }
  }

  // --- HealthListener

  serverLost(server: ServerHealth): void {
    this.#again.set(server, this.#accounts.spenders(server, nowUs(this.#clock)))
    if (!this.#isTicking) this.#tickLater()
  }

  moreLiving(server: ServerHealth): void {
    for (const account of this.#accounts.active) if (account.server === server) this.activate(account)
  }

  // --- the end

  /** Publishes what is not published, gives back what is granted ahead, and waits for the answers or the deadline. */
  async flush(): Promise<void> {
    await this.#sender.quiet() // a report under way may bring a grant
    const now = nowUs(this.#clock)
    for (const account of this.#accounts.active) {
      account.demandUs = account.latelyUs = 0
      account.wasAsked = false
      account.dropGrant()
      if (!isReported(account, now)) this.ask(account)
    }
    await new Promise<void>((resolve) => this.#clock.after(0, resolve))
    await this.#sender.quiet()
  }

  /**
   * Reports the last figures.
   */
  async close(): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'closing'
    await this.#sender.quiet()
    for (const until = this.#clock.now() + CLOSING_MS; this.#clock.now() < until;) {
      const now = nowUs(this.#clock)
      const left = [...this.#accounts.active].filter((account) => {
        this.#accounts.enter(account, now)
        return !isReported(account, now)
      })
      if (left.length === 0) break
      for (const account of left) this.ask(account)
      await new Promise<void>((resolve) => this.#clock.after(0, resolve))
      await this.#sender.quiet()
      if (left.some(({ told }) => told === undefined))
        await new Promise<void>((resolve) => this.#clock.after(CLOSING_PAUSE_MS, resolve))
    }
    this.#state = 'closed'
    this.#sender.close()
    for (const account of this.#refreshed.keys()) this.#tellRefreshed(account)
    await this.#accounts.closing()
    await this.#health.leave(this)
  }
}
