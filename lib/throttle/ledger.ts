import type { Request } from 'express'
import { type Clock, Watch, nowUs, wallOffsetUs } from '../http/clock'
import type { Account, AccountTerms } from './account/account'
import { Accounts } from './account/accounts'
import { type Applicant, type Verdict, begin, decide, serve } from './account/decide'
import type { Hold } from './account/hold'
import { memoryServer } from './account/server'
import { UsageLog } from './advisor/usage-log'
import { networkSubject } from './subject'
import type { StoreHealth } from './sync/health'
import { Reporter } from './sync/reporter'

/** How often waiting requests are looked at, beside whenever a request of their subject ends here. */
const LINE_MS = 25
/** How often running requests are looked at whose handler has the signal. */
const WATCH_MS = 125
/** A request that uses the signal is asked to stop when its subject has used so many limits. */
const OVERRUN_LIMITS = 2

/**
 * A policy's accounts in this process: lets requests in, charges them, and keeps the accounts in step with the store.
 * Without a store they are this process's own.
 */
export class Ledger {
  readonly #clock: Clock
  readonly #terms: AccountTerms
  readonly #accounts: Accounts
  readonly #reporter: Reporter | undefined
  readonly #usage: UsageLog
  /** Accounts in which requests wait. */
  readonly #lines: Watch<Account>
  /** Running requests whose handler has the signal. */
  readonly #signalled: Watch<Hold>
  #closed: Promise<void> | undefined

  constructor(
    readonly name: string,
    terms: AccountTerms,
    clock: Clock,
    readonly health?: StoreHealth,
  ) {
    this.#clock = clock
    this.#terms = terms
    this.#usage = new UsageLog(name, health?.store, clock)
    const memory = memoryServer(wallOffsetUs(clock))
    this.#accounts = new Accounts(terms, (id) => health?.serverOf(id) ?? memory, clock, this.#isIdle.bind(this))
    this.#lines = new Watch(clock, LINE_MS, this.#lookAtLine.bind(this))
    this.#signalled = new Watch(clock, WATCH_MS, this.#lookAtSignalled.bind(this))
    if (health === undefined) return
    const reported = {
      enter: (account: Account, now: number) => this.#enter(account, now),
      serve: (account: Account, now: number, isAlone?: boolean) => this.#serve(account, now, isAlone),
      counted: this.#usage.moved.bind(this.#usage),
      closing: () => this.#usage.close(),
      active: { [Symbol.iterator]: () => this.#accounts.active.values() },
      spenders: this.#accounts.spenders.bind(this.#accounts),
    }
    this.#reporter = new Reporter(name, reported, health, clock, terms.grantAhead)
  }

  /** Under whose name a subject is kept: {@link Accounts.keptAs}. */
  keptAs(subject: string, most: number, req: Request): string {
    return this.#accounts.keptAs(subject, most, () => networkSubject(req))
  }

  get windowMs(): number {
    return this.#terms.windowUs / 1_000
  }

  /** How many subjects are known. */
  get subjects(): number {
    return this.#accounts.size
  }

  /** The subject's account in the window that is open now. */
  account(subject: string, now = nowUs(this.#clock)): Account {
    const account = this.#accounts.find(subject, now)
    this.#enter(account, now)
    return account
  }

  /** The same, also where the account was put to rest since. */
  current(of: Account, now = nowUs(this.#clock)): Account {
    if (of.isEvicted) return this.account(of.subject, now)
    this.#enter(of, now)
    return of
  }

  /** Has the account enter the window that is open, and counts waits for clients beyond their cap: also short ones. */
  #enter(account: Account, now: number): void {
    const time = account.server.clock.at(now)
    if (time >= account.end || account.isAhead(time)) {
      this.#log(account, now - (time - account.end))
      account.enter(now, time)
    }
    account.own.boundWaits(now, account.others.excused)
  }

  /** Without a store a total is logged when its window ends, when its account goes to rest, and for a reader. */
  #log(account: Account, now: number): void {
    if (this.health !== undefined) return
    const used = account.used(now)
    if (used !== account.loggedUs) this.#usage.moved(account.end, account.loggedUs, used)
    account.loggedUs = used
  }

  /** Whether `advise()` knows what all processes counted. */
  get isUsageShared(): boolean {
    return this.#usage.isShared
  }

  /** For `advise()`: with what open windows have come to. */
  usageUntilNow(): UsageLog {
    const now = nowUs(this.#clock)
    for (const account of this.#accounts.active.values()) {
      this.#enter(account, now)
      this.#log(account, now)
    }
    return this.#usage
  }

  /** A request of the account was refused. */
  refused({ end }: Account): void {
    this.#usage.refused(end)
  }

  // --- requests

  /** Decides at once where it can; else the request waits, and hears of the decision. */
  admit(subject: string, applicant: Applicant, now = nowUs(this.#clock)): Verdict {
    const account = this.account(subject, now)
    const verdict = decide(account, applicant, this.#lines, now)
    this.#reporter?.activate(account)
    if (!('waiter' in verdict)) return verdict
    if (verdict.asks) this.#reporter?.ask(account)
    this.#lines.add(account)
    return verdict
  }

  /** Lets a request in whatever the figures say: nothing is to be refused. */
  begin(of: Account, limitUs: number): Hold {
    const account = this.current(of)
    this.#reporter?.activate(account)
    return begin(account, 0, limitUs)
  }

  /** The time of a request begins, or goes on. */
  start(hold: Hold, now: number): void {
    const { account } = hold
    this.#enter(account, now)
    account.own.start(hold, now)
    this.#reporter?.activate(account)
  }

  /** The time of a request stands still while it waits for another throttle. It keeps its hold and its place. */
  park(hold: Hold, now: number): void {
    this.#enter(hold.account, now)
    hold.account.own.park(hold, now)
  }

  /** The app waits for the request's client: its time stands still, within the cap of all such waits. */
  waitForClient(hold: Hold, now: number): void {
    const { account } = hold
    this.#enter(account, now)
    account.own.wait(hold, now)
    account.own.boundWaits(now, account.others.excused)
  }

  /** Looks at the request now and then: whether it is to stop. */
  watch(hold: Hold): void {
    this.#signalled.add(hold)
  }

  #lookAtSignalled({ account, limitUs, owner, state }: Hold): boolean {
    if (state === 'ended') return false
    const now = nowUs(this.#clock)
    this.#enter(account, now)
    if (account.measured(now) > OVERRUN_LIMITS * limitUs) owner?.overrun()
    return true
  }

  /** A request has ended: it pays for what it took. */
  end(hold: Hold, now: number): void {
    const { account } = hold
    if (hold.state === 'ended') return
    this.#enter(account, now)
    account.own.end(hold, now)
    account.hasEnded = true
    account.touched = now
    // A hot subject's requests start from its grant one after the other, at one command a tick.
    if (account.grant.us > 0) account.grant.places++
    this.#serve(account, now)
    this.#reporter?.ended(account, now)
  }

  /** Takes a request back as if it had not been let in. */
  release(hold: Hold, now = nowUs(this.#clock)): void {
    const { account } = hold
    if (hold.state === 'ended') return
    this.#enter(account, now)
    const sinceUs = hold.state === 'running' ? now - hold.from : 0
    account.own.park(hold, now)
    account.own.charge(hold.number === account.number ? -hold.tookUs : -sinceUs)
    this.end(hold, now)
  }

  /** Leaves out time of a running request that is another's. */
  excuse(hold: Hold, us: number, now: number): void {
    this.#enter(hold.account, now)
    hold.account.own.excuse(hold, us, now)
  }

  /** Charges a request for time that is seen only after it has ended. */
  late({ account: of, limitUs }: Hold, us: number): void {
    const account = this.current(of)
    account.limitUs ||= limitUs
    account.highestLimitUs ||= limitUs // or it would not count towards strain
    account.own.charge(us)
    account.touched = nowUs(this.#clock)
    this.#reporter?.activate(account)
  }

  /** A request was written off unseen. */
  writeOff(hold: Hold): void {
    this.current(hold.account).writeOff(hold.limitUs)
  }

  /** Adds time that no request took, and reports it at once. Resolves when the store has it, or does not answer. */
  charge(of: Account, us: number): Promise<void> {
    const account = this.current(of)
    account.add(us)
    account.touched = nowUs(this.#clock)
    this.#reporter?.activate(account) // refresh() reports nothing during an outage: a tick does after it
    return this.#reporter?.refresh(account) ?? Promise.resolve()
  }

  // --- figures

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
    this.#serve(account, now)
    return this.#reporter?.refresh(account) ?? Promise.resolve()
  }

  /** Publishes what is not published, and gives back what was granted ahead. */
  async flush(): Promise<void> {
    await this.#reporter?.flush()
  }

  /** Charges what runs so far, publishes what is not published, and lets go of the store. Safe to call twice. */
  close(): Promise<void> {
    return (this.#closed ??= this.#end())
  }

  async #end(): Promise<void> {
    const now = nowUs(this.#clock)
    this.#accounts.close()
    this.#signalled.clear()
    for (const account of this.#accounts.active.values()) {
      this.#enter(account, now)
      for (const hold of [...account.own.holds]) account.own.end(hold, now)
      const { line } = account
      account.line = []
      account.dropGrant()
      for (const { applicant } of line) applicant.decided({ gone: true, account })
    }
    await this.#reporter?.close()
  }

  // --- the line

  #serve(account: Account, now: number, isAlone?: boolean): void {
    if (account.line.length === 0) return
    for (const { waiter, decision } of serve(account, now, isAlone)) waiter.applicant.decided(decision)
  }

  #lookAtLine(account: Account): boolean {
    const now = nowUs(this.#clock)
    this.#enter(account, now)
    this.#serve(account, now)
    if (account.line.length > 0 && now >= account.askAt) this.#reporter?.ask(account)
    return account.line.length > 0
  }

  #isIdle(account: Account, now: number): boolean {
    this.#enter(account, now)
    const isIdle = account.isQuiet && (this.#reporter === undefined || !this.#reporter.isActive(account))
    if (isIdle) this.#log(account, now)
    return isIdle
  }
}
