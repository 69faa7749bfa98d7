import type { Request } from 'express'
import { type Clock, Watch, nowUs, wallOffsetUs } from '../http/clock'
import { UsageLog } from '../advisor/usage-log'
import type { Account } from './budget/account'
import { type Decision, decide } from './budget/decide'
import type { Hold } from './budget/hold'
import { endLine, mostWaiting, serveLine } from './budget/line'
import { Subjects } from './budget/subjects'
import { WindowClock, memoryServer } from './budget/window-clock'
import type { StoreHealth } from './store/health'
import { Reporter } from './store/reporter'
import { networkSubject } from './subject'

/** Networks that newcomers share an account by, once there is no room for more subjects. */
const MOST_NETWORKS = 4_096
const EVERYBODY_ELSE = 'network:*'
/** How often waiting requests are looked at, beside whenever a request of their subject ends here. */
const LINE_MS = 25
/** How often running requests are looked at whose handler has the signal. */
const WATCH_MS = 125
/** A request that uses the signal is asked to stop when its subject has used so many limits. */
const OVERRUN_LIMITS = 2

/** Terms of a policy, as its budgets follow them. */
export interface BudgetTerms {
  readonly windowUs: number
  /** Time used beyond the limit is the next window's first use. */
  readonly carryOvershoot: boolean
  /** Time may be granted ahead of need. */
  readonly grantAhead: boolean
}

/**
 * The budgets of one policy in this process: a table of accounts and, over a store, what reports them. Without a store
 * they are this process's own.
 */
export class Budgets {
  readonly #clock: Clock
  readonly #terms: BudgetTerms
  readonly #subjects: Subjects
  readonly #reporter: Reporter | undefined
  readonly #usage: UsageLog
  /** Accounts in which requests wait. */
  readonly #lines: Watch<Account>
  /** Running requests whose handler has the signal. */
  readonly #signalled: Watch<Hold>
  #closing: Promise<void> | undefined
  #isClosed = false

  constructor(
    readonly name: string,
    terms: BudgetTerms,
    clock: Clock,
    readonly health?: StoreHealth,
  ) {
    this.#clock = clock
    this.#terms = terms
    this.#usage = new UsageLog(name, health?.store, clock)
    const total = this.#usage.moved.bind(this.#usage)
    const memory = memoryServer(new WindowClock(wallOffsetUs(clock), 0))
    const serverOf = (id: string) => (health === undefined || this.#isClosed ? memory : health.serverOf(id))
    const isActive = (account: Account) => this.#reporter?.isActive(account) ?? false
    this.#subjects = new Subjects(
      { ...terms, total: health ? undefined : total },
      serverOf,
      clock,
      isActive,
      health?.store.digest,
    )
    this.#lines = new Watch(clock, LINE_MS, this.#lookAtLine.bind(this))
    this.#signalled = new Watch(clock, WATCH_MS, this.#lookAtSignalled.bind(this))
    if (health !== undefined) this.#reporter = new Reporter(name, this.#subjects, health, clock, total)
  }

  get windowMs(): number {
    return this.#terms.windowUs / 1_000
  }

  /** How many subjects are known. */
  get subjects(): number {
    return this.#subjects.size
  }

  /**
   * The account that pays for a request, in the window that is open: the subject's own where it is known or there is
   * room, else its network's, else one for all. No throttled subject is forgotten for a newcomer.
   *
   * @param most how many subjects are told apart
   */
  payer(subject: string, most: number, req: Request, now: number): Account {
    const known = this.#subjects.find(subject, now)
    if (known !== undefined) return known
    const { size } = this.#subjects
    if (size < most) return this.#subjects.of(subject, now)
    const network = networkSubject(req)
    const isRoom = size < most + MOST_NETWORKS || this.#subjects.has(network)
    return this.#subjects.of(isRoom ? network : EVERYBODY_ELSE, now)
  }

  /** The subject's account in the window that is open now. */
  account(subject: string, now = nowUs(this.#clock)): Account {
    return this.#subjects.of(subject, now)
  }

  /** The account in the window that is open now; another one where the table has let go of it since. */
  current(of: Account, now = nowUs(this.#clock)): Account {
    return this.#subjects.current(of, now)
  }

  // --- requests

  /** Decides about a request. Where it says `ask` or `wait`, the request stands in line, and its owner hears of the end. */
  admit(hold: Hold, now: number): Decision | 'gone' {
    const { account } = hold
    account.ask(hold, now)
    const most = account.waiting > 0 ? mostWaiting(hold.wait, this.#lines) : 0
    const decision = decide(account, hold, most, now)
    this.#reporter?.activate(account)
    if (decision === 'start') account.begin(hold)
    else if (decision !== 'ask' && decision !== 'wait') account.refuse(hold)
    else if (hold.owner.isGone) return 'gone'
    else {
      account.join(hold, now)
      this.#lines.add(account)
      if (decision === 'ask') this.#reporter?.ask(account)
    }
    return decision
  }

  /** Lets a request in that was refused, whatever the figures say. */
  admitAnyway(hold: Hold): void {
    hold.account.begin(hold, 0)
    this.#reporter?.activate(hold.account)
  }

  /** A request has ended: it pays for what it took. */
  finish(hold: Hold, now: number): void {
    const { account } = hold
    if (hold.state === 'ended' || hold.state === 'waiting') return
    account.finish(hold, now)
    serveLine(account, now)
    this.#reporter?.ended(account, now)
  }

  /** Charges a request for time that is seen only after it has ended. */
  chargeLate({ account: of, limitUs }: Hold, us: number, now: number): void {
    const account = this.current(of, now)
    account.chargeLate(us, limitUs, now)
    this.#reporter?.activate(account)
  }

  /** A request was written off unseen. */
  writeOff({ account, limitUs }: Hold, now: number): void {
    this.current(account, now).writeOff(limitUs, now)
  }

  /** A request was refused. */
  refused({ account }: Hold): void {
    this.#usage.refused(account.end)
  }

  /** Looks at the request now and then: whether it is to stop. */
  watch(hold: Hold): void {
    this.#signalled.add(hold)
  }

  #lookAtSignalled({ account, limitUs, owner, state }: Hold): boolean {
    if (state === 'ended') return false
    const now = nowUs(this.#clock)
    account.enter(now)
    if (account.measuredUs(now) > OVERRUN_LIMITS * limitUs) owner.overrun()
    return true
  }

  #lookAtLine(account: Account): boolean {
    const now = nowUs(this.#clock)
    account.enter(now)
    serveLine(account, now)
    if (account.waiting > 0 && now >= account.askAt) this.#reporter?.ask(account)
    return account.waiting > 0
  }

  // --- figures

  /** Adds time that no request took, and reports it at once. Resolves when the store has it, or does not answer. */
  charge(of: Account, us: number): Promise<void> {
    const now = nowUs(this.#clock)
    const account = this.current(of, now)
    account.charge(us, now)
    this.#reporter?.activate(account) // refresh() reports nothing during an outage: a tick does after it
    return this.#reporter?.refresh(account) ?? Promise.resolve()
  }

  /** The subject's account with the other processes' newest figures, if the store answers within the deadline. */
  async refresh(subject: string): Promise<Account> {
    const account = this.account(subject)
    await this.#reporter?.refresh(account)
    return this.current(account)
  }

  /** Takes back all use of the window, the other processes' too, as far as it is known. Resolves as {@link charge}. */
  reset(of: Account): Promise<void> {
    const now = nowUs(this.#clock)
    const account = this.current(of, now)
    account.reset(now)
    serveLine(account, now)
    return this.#reporter?.refresh(account) ?? Promise.resolve()
  }

  /** Whether `advise()` knows what all processes counted. */
  get isUsageShared(): boolean {
    return this.#usage.isShared
  }

  /** For `advise()`: with what open windows have come to. */
  usageUntilNow(): UsageLog {
    const now = nowUs(this.#clock)
    for (const account of this.#subjects) {
      account.enter(now)
      account.noteTotal(now)
    }
    return this.#usage
  }

  // --- the end

  /** Publishes what is not published, and gives back what was granted ahead. */
  async flush(): Promise<void> {
    await this.#reporter?.flush()
  }

  /**
   * Charges what runs so far, tells those who wait, publishes what is not published, and lets go of the store. Requests
   * that come all the same are decided by what this process knows. Safe to call twice.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#end())
  }

  async #end(): Promise<void> {
    const now = nowUs(this.#clock)
    this.#subjects.close()
    this.#signalled.clear()
    for (const account of this.#subjects) {
      endLine(account)
      account.close(now)
    }
    await this.#reporter?.close()
    this.#isClosed = true
    for (const account of this.#subjects) account.moveTo(memoryServer(account.server.clock))
    await this.#usage.close()
    await this.health?.leave()
  }
}
