import type { Request } from 'express'
import { type Clock, Watch, nowUs, wallOffsetUs } from '../http/clock'
import { UsageLog } from '../advisor/usage-log'
import type { Account } from './budget/account'
import { type Decision, decide, decideAfterwards, endLine, makeRoom, serveLine } from './budget/decide'
import type { Hold as AnyHold, RefusalReason } from './budget/hold'
import { type NextWindow, priceOf } from './budget/price'
import type { AccountTerms } from './budget/account'
import { Subjects } from './budget/subjects'
import { WindowClock, memoryServer } from './budget/window-clock'
import { Link, isReported } from './store/link'
import type { SharedStore, StoredPolicy } from './store/shared-store'
import { networkSubject } from './subject'

/** Networks that newcomers share an account by, once there is no room for more subjects. */
const MOST_NETWORKS = 4_096
const EVERYBODY_ELSE = 'network:*'
/** How often waiting requests are looked at, beside whenever a request of their subject ends here. */
const LINE_MS = 25
/** How often running requests are looked at whose handler has the signal. */
const WATCH_MS = 125
/** On close, the last figures are reported until this has passed, with a pause after each report without an answer. */
const CLOSING_MS = 3_000
const CLOSING_PAUSE_MS = 100
/** The signal asks a request to stop when its subject has used twice its limit. */
const OVERRUN_LIMITS = 2

type Hold = AnyHold<Account>

/** Terms of a policy, as its budgets follow them. */
export interface BudgetTerms {
  /** In words, for messages: `18000 ms in 60000 ms`. */
  readonly shown?: string
  readonly windowUs: number
  /** Time used beyond the limit is the next window's first use. */
  readonly carryOvershoot: boolean
}

/** The budgets of one policy in this process: a table of accounts. Without a store they are this process's own. */
export class Budgets implements StoredPolicy {
  /** In words: `18000 ms in 60000 ms`. */
  readonly terms: string
  readonly #clock: Clock
  readonly #terms: AccountTerms
  readonly #subjects: Subjects
  readonly #usage: UsageLog
  /** Accounts in which requests wait. */
  readonly #lines: Watch<Account>
  /** Running requests whose handler has the signal, and what asks each of them to stop. */
  readonly #signalled: Watch<readonly [hold: Hold, stop: () => void]>
  /** How many subjects are told apart, as the latest newcomer was told. */
  #mostSubjects = 0
  #closing: Promise<void> | undefined
  #isClosed = false

  constructor(
    readonly name: string,
    { shown = '', ...terms }: BudgetTerms,
    clock: Clock,
    readonly shared?: SharedStore,
  ) {
    this.terms = shown
    this.#clock = clock
    this.#usage = new UsageLog(name, shared?.store, clock)
    this.#terms = {
      ...terms,
      policy: name,
      process: shared?.processName(name) ?? '',
      total: (ends, before, after) => void (this.#isClosed || this.#usage.moved(ends, before, after)),
    }
    const memory = memoryServer(new WindowClock(wallOffsetUs(clock), 0))
    const serverOf = (id: string) => (shared === undefined || this.#isClosed ? memory : shared.linkOf(id))
    const isActive = (account: Account) => linkOf(account)?.isActive(account) ?? false
    this.#subjects = new Subjects(this.#terms, serverOf, clock, isActive, shared?.store.digest)
    this.#lines = new Watch(clock, LINE_MS, this.#lookAtLine.bind(this))
    this.#signalled = new Watch(clock, WATCH_MS, this.#lookAtSignalled.bind(this))
    shared?.join(this)
  }

  get accounts(): Iterable<Account> {
    return this.#subjects
  }

  get windowMs(): number {
    return this.#terms.windowUs / 1_000
  }

  /** How many subjects are known. */
  get subjects(): number {
    return this.#subjects.size
  }

  /** Whether these are the same budgets, perhaps over another store that keeps the same accounts: a subject is charged once. */
  isSameAs(other: Budgets): boolean {
    if (this === other) return true
    const keeps = this.shared?.store.keeps
    const isOneStore = keeps !== undefined && keeps === other.shared?.store.keeps
    return isOneStore && this.name === other.name && this.windowMs === other.windowMs
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
    this.#mostSubjects = most
    const { size } = this.#subjects
    if (size < most) return this.#subjects.open(subject, now)
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
    if (of.isForgotten) return this.#subjects.of(of.subject, now)
    of.enter(now)
    return of
  }

  // --- requests

  /** Decides about a request. Where it says `ask` or `wait`, the request stands in line, and its `heard` is to be set. */
  admit(hold: Hold, now: number): Decision | 'gone' {
    const { account } = hold
    account.ask(hold, now)
    const decision = decide(account, hold, now)
    linkOf(account)?.activate(account)
    if (decision === 'start') account.begin(hold)
    else if (decision !== 'ask' && decision !== 'wait') account.refuse(hold)
    else if (hold.time.isOver) return 'gone'
    else {
      account.join(hold, now)
      this.#lines.add(account)
      makeRoom(this.#lines)
      if (hold.state !== 'waiting') return 'queue'
      if (decision === 'ask') linkOf(account)?.ask(account)
    }
    return decision
  }

  /**
   * Lets a request of a dry run in at once, whatever the decision, and tells what it would have been where that is certain.
   *
   * @param mayWait requests that do not fit would have waited
   * @param tell called with the reason of the refusal, later where the store was to decide
   */
  rehearse(hold: Hold, mayWait: boolean, now: number, tell: (reason: RefusalReason, now: number) => void): void {
    const { account } = hold
    account.ask(hold, now)
    const decision = decide(account, hold, now)
    const isRefused = decision !== 'start' && decision !== 'ask' && decision !== 'wait'
    if (isRefused && (!mayWait || decision === 'spent' || decision === 'overload')) tell(decision, now)
    account.begin(hold, isRefused ? 0 : undefined)
    linkOf(account)?.activate(account)
    if (decision !== 'ask') return
    void this.refresh(account.subject).then((newest) => {
      const later = nowUs(this.#clock)
      const reason = decideAfterwards(newest, hold, mayWait, later)
      if (reason !== undefined) tell(reason, later)
    })
  }

  /**
   * A request of the subject asks another window of the same server now, and will ask this one next: both are asked in one
   * command. What it does not take after all is given back at the next tick.
   */
  expect(subject: string, { route, limitUs, concurrency }: NextWindow, now: number): void {
    const isRoom = this.#subjects.size < this.#mostSubjects
    const account = isRoom ? this.#subjects.of(subject, now) : this.#subjects.find(subject, now)
    const link = account && linkOf(account)
    if (account === undefined || link === undefined || account.sent !== undefined) return
    const priceUs = Math.min(priceOf(route, account.histories, limitUs), limitUs)
    account.expect({ priceUs, limitUs, concurrency })
    link.activate(account)
    link.ask(account)
  }

  /** Lets a request in that was refused, whatever the figures say. It reserves nothing. */
  letIn(hold: Hold): void {
    hold.account.begin(hold, 0)
    linkOf(hold.account)?.activate(hold.account)
  }

  /** A request has ended: it pays for what it took. */
  finish(hold: Hold, now: number): void {
    const { account } = hold
    if (hold.state === 'ended') return
    account.finish(hold, now)
    hold.window.load?.took(hold.time, account.subject, hold.takenUs(now))
    if (account.line.length > 0) serveLine(account, now)
    linkOf(account)?.ended(account, now)
  }

  /** Charges a request for time that is seen only after it has ended. */
  chargeLate(hold: Hold, us: number, now: number): void {
    const account = this.current(hold.account, now)
    account.charge(hold, us, now)
    linkOf(account)?.activate(account)
  }

  /** A request was written off unseen. */
  writeOff({ account, limitUs }: Hold, now: number): void {
    this.current(account, now).writeOff(limitUs, now)
  }

  /** A request was refused. */
  refused({ account }: Hold): void {
    this.#usage.refused(account.end)
  }

  /** Looks at the request now and then. @param stop called whenever its subject has used two limits */
  watch(hold: Hold, stop: () => void): void {
    this.#signalled.add([hold, stop])
  }

  #lookAtSignalled([{ account, limitUs, state }, stop]: readonly [Hold, () => void]): boolean {
    if (state === 'ended') return false
    const now = nowUs(this.#clock)
    account.enter(now)
    if (account.workUs(now) > OVERRUN_LIMITS * limitUs) stop()
    return true
  }

  #lookAtLine(account: Account): boolean {
    if (account.line.length === 0) return false // most lines end with the store's answer
    const now = nowUs(this.#clock)
    account.enter(now)
    serveLine(account, now)
    if (account.line.length > 0 && now >= account.askAt) linkOf(account)?.ask(account)
    return account.line.length > 0
  }

  // --- figures

  /** Charges a request, and reports it at once. Resolves when the store has it, or does not answer. */
  charge(hold: Hold, us: number, isRehearsal = false): Promise<void> {
    const now = nowUs(this.#clock)
    const account = this.current(hold.account, now)
    if (isRehearsal) account.rehearse(us, now)
    else account.charge(hold, us, now)
    linkOf(account)?.activate(account) // refresh() reports nothing during an outage: a tick does after it
    return this.#refresh(account)
  }

  /** The subject's account with the other processes' newest figures, if the store answers within the deadline. */
  async refresh(subject: string): Promise<Account> {
    const account = this.account(subject)
    await this.#refresh(account)
    return this.current(account)
  }

  async #refresh(account: Account, isLast = false): Promise<void> {
    await linkOf(account)?.refresh(account, isLast)
  }

  /** Takes back all use of the window, the other processes' too, as far as it is known. Resolves as {@link charge}. */
  reset(of: Account): Promise<void> {
    const now = nowUs(this.#clock)
    const account = this.current(of, now)
    account.reset(now)
    serveLine(account, now)
    return this.#refresh(account)
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
    await this.#tellAll()
  }

  /** Reports all accounts that the store does not know as they are, or where it has granted time ahead: nothing is any more. */
  async #tellAll(isLast = false): Promise<Account[]> {
    const now = nowUs(this.#clock)
    const told: Account[] = []
    for (const account of this.#subjects) {
      account.enter(now)
      account.grant.calm()
      if (account.sent !== undefined || !isReported(account, now)) told.push(account)
    }
    await Promise.all(told.map((account) => this.#refresh(account, isLast)))
    return told
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
      account.enter(now)
      account.own.endAll(now) // what runs pays so far
      account.grant.drop()
    }
    if (this.shared !== undefined) await this.#tellLast()
    this.#isClosed = true
    for (const account of this.#subjects) account.moveTo(memoryServer(account.server.clock))
    await this.#usage.close()
    await this.shared?.leave(this)
  }

  /** Reports the last figures, again where no answer comes. */
  async #tellLast(): Promise<void> {
    for (const until = this.#clock.now() + CLOSING_MS; this.#clock.now() < until;) {
      const told = await this.#tellAll(true)
      if (told.length === 0) return
      if (told.some(({ isTold }) => !isTold))
        await new Promise<void>((resolve) => this.#clock.after(CLOSING_PAUSE_MS, resolve))
    }
  }
}

/** The link to the server that keeps the account; undefined where this process does. */
function linkOf({ server }: Account): Link | undefined {
  return server instanceof Link ? server : undefined
}
