import type { Request } from 'express'
import { UsageLog } from '../../advisor/usage-log'
import { type Clock, nowUs, wallOffsetUs } from '../../http/clock'
import { TimeLimit } from '../../http/deadline'
import { Account, type AccountTerms, Lines, type Server, memoryServer } from '../budget/account'
import { endLine, lookAtLine } from '../budget/decide'
import { type NextWindow, priceOf } from '../budget/price'
import { subjectId } from '../budget/subjects'
import { WindowClock } from '../budget/window-clock'
import { blockOfSubject, networkSubject } from '../subject'
import type { SharedStore, StoredPolicy } from './shared-store'
import { CLOSING_MS } from './store'

/** Networks that newcomers share an account by, once there is no room for more subjects. */
const MOST_NETWORKS = 4_096
const EVERYBODY_ELSE = 'network:*'
/** A block of networks may have so many times the accounts that are left. */
const BLOCK_PART = 8
/** How often waiting requests are looked at, beside whenever a request of their subject ends here. */
const LINE_MS = 25
/** How often some of the accounts are looked at, to let go of those that are over, and in what time all are. */
const SWEEP_MS = 100
const SWEEP_ROUND_MS = 5_000
const SWEEP_LEAST = 20
/** On close, the pause after each report without an answer. */
const CLOSING_PAUSE_MS = 100

/** Terms of a policy, as its accounts follow them. */
export interface PolicyTerms {
  /** In words, for messages: `18000 ms in 60000 ms`. */
  readonly shown?: string
  readonly windowUs: number
  /** Time used beyond the limit is the next window's first use. */
  readonly carryOvershoot: boolean
}

/** The table of subjects: the accounts of one policy in this process. Without a store they are this process's own. */
export class Accounts implements StoredPolicy {
  /** In words: `18000 ms in 60000 ms`. */
  readonly terms: string
  /** For `advise()`. */
  readonly usage: UsageLog
  readonly #clock: Clock
  readonly #terms: AccountTerms
  readonly #memory: Server
  readonly #accounts = new Map<string, Account>()
  /** How many of them each block of networks has. */
  readonly #byBlock = new Map<string, { readonly block: string; accounts: number }>()
  /** How many subjects are told apart, as the latest newcomer was told. */
  #mostSubjects = 0
  #sweep: Iterator<Account, undefined> | undefined
  #isSweeping = false
  #closing: Promise<void> | undefined
  /** Nothing is let go of any more; and no store is told anything. */
  #isClosing = false
  #isClosed = false

  constructor(
    readonly name: string,
    { shown = '', ...terms }: PolicyTerms,
    clock: Clock,
    readonly shared?: SharedStore,
  ) {
    this.terms = shown
    this.#clock = clock
    this.usage = new UsageLog(name, shared?.store, clock)
    this.#terms = {
      ...terms,
      policy: name,
      process: shared?.processName(name) ?? '',
      total: (ends, before, after) => void (this.#isClosed || this.usage.moved(ends, before, after)),
      of: (subject, now) => this.account(subject, now),
      lines: new Lines(clock, LINE_MS, (account) => lookAtLine(account, nowUs(clock))),
    }
    this.#memory = memoryServer(new WindowClock(wallOffsetUs(clock), 0))
    shared?.join(this)
  }

  [Symbol.iterator](): Iterator<Account> {
    return this.#accounts.values()
  }

  get windowMs(): number {
    return this.#terms.windowUs / 1_000
  }

  /** How many subjects are known. */
  get size(): number {
    return this.#accounts.size
  }

  /** Whether these are the same accounts, perhaps over another store that keeps the same: a subject is charged once. */
  isSameAs(other: Accounts): boolean {
    if (this === other) return true
    const keeps = this.shared?.store.keeps
    const isOneStore = keeps !== undefined && keeps === other.shared?.store.keeps
    return isOneStore && this.name === other.name && this.windowMs === other.windowMs
  }

  // --- whose account

  /**
   * The account that pays for a request, in the window that is open: the subject's own where it is known or its block
   * has room, else its block's, else one for all. No throttled subject is forgotten for a newcomer.
   *
   * @param most how many subjects are told apart
   */
  payer(subject: string, most: number, req: Request, now: number): Account {
    const known = this.#find(subject, now)
    if (known !== undefined) return known
    this.#mostSubjects = most
    const network = networkSubject(req)
    if (this.#hasRoom(network, most)) return this.#open(subject, now, network)
    const isRoom = this.size < most + MOST_NETWORKS || this.#accounts.has(network)
    return this.account(isRoom ? network : EVERYBODY_ELSE, now)
  }

  /** The subject's account in the window that is open now. */
  account(subject: string, now = nowUs(this.#clock)): Account {
    return this.#find(subject, now) ?? this.#open(subject, now)
  }

  /** The subject's account with the other processes' newest figures, if the store answers within the deadline. */
  async refresh(subject: string, time?: TimeLimit): Promise<Account> {
    const account = this.account(subject)
    await account.server.refresh(account, time)
    return account.current(nowUs(this.#clock))
  }

  /**
   * A request of the subject asks another window of the same server now, and will ask this one next: both are asked in one
   * command. What it does not take after all is given back at the next tick.
   */
  expect({ subject, block }: Account, { route, limitUs, concurrency }: NextWindow, now: number): void {
    const isRoom = this.#hasRoom(block, this.#mostSubjects)
    const account = this.#find(subject, now) ?? (isRoom ? this.#open(subject, now, block) : undefined)
    if (account === undefined || account.server.isMemory || account.sent !== undefined) return
    const priceUs = Math.min(priceOf(route, account.histories, limitUs), limitUs)
    account.expect({ priceUs, limitUs, concurrency })
    account.server.activate(account)
    account.server.ask(account)
  }

  #find(subject: string, now: number): Account | undefined {
    const account = this.#accounts.get(subject)
    account?.enter(now)
    return account
  }

  /** Whether a newcomer is told apart: a block has at most eight times what is left, so that some is left for others. */
  #hasRoom(block: string, most: number): boolean {
    return (this.#byBlock.get(block)?.accounts ?? 0) < BLOCK_PART * (most - this.size)
  }

  #open(subject: string, now: number, block = blockOfSubject(subject)): Account {
    const { shared } = this
    const { id, phase } = subjectId(subject, this.#terms.windowUs, shared?.store.digest)
    const server = shared === undefined || this.#isClosed ? this.#memory : shared.linkOf(id)
    const known = this.#byBlock.get(block) ?? { block, accounts: 0 }
    const account = new Account(subject, known.block, id, phase, this.#terms, server, now)
    this.#accounts.set(subject, account)
    if (known.accounts++ === 0) this.#byBlock.set(block, known)
    if (!this.#isSweeping) this.#sweepLater()
    return account
  }

  /** A few accounts at a time: many of them must not stop the process. */
  #sweepLater(): void {
    this.#isSweeping = this.size > 0 && !this.#isClosing
    if (!this.#isSweeping) return
    this.#clock.after(SWEEP_MS, () => {
      if (this.#isClosing) return
      this.#letGo(nowUs(this.#clock), SWEEP_LEAST + Math.ceil((this.size * SWEEP_MS) / SWEEP_ROUND_MS))
      this.#sweepLater()
    })
  }

  /** Lets go of accounts of which nothing matters any more. Looks at no more than `most`, round and round. */
  #letGo(now: number, most: number): void {
    for (let i = 0; i < most; i++) {
      this.#sweep ??= this.#accounts.values()
      const next = this.#sweep.next()
      if (next.done === true) return void (this.#sweep = undefined)
      const account = next.value
      if (!account.hasNothingLeft(now) || account.server.isActive(account)) continue
      account.noteTotal(now)
      account.forget()
      this.#accounts.delete(account.subject)
      const known = this.#byBlock.get(account.block)
      if (known && --known.accounts === 0) this.#byBlock.delete(account.block)
    }
  }

  // --- all of them

  /** For `advise()`: with what open windows have come to. */
  usageUntilNow(): UsageLog {
    const now = nowUs(this.#clock)
    for (const account of this) {
      account.enter(now)
      account.noteTotal(now)
    }
    return this.usage
  }

  /** Publishes what is not published, and gives back what was granted ahead. */
  async flush(time?: TimeLimit): Promise<void> {
    await this.#tellAll(time)
  }

  /** Reports all accounts that the store does not know as they are, or where it has granted time ahead: nothing is any more. */
  async #tellAll(time?: TimeLimit, isLast = false): Promise<Account[]> {
    const now = nowUs(this.#clock)
    const told: Account[] = []
    for (const account of this) {
      account.enter(now)
      account.grant.calm()
      if (account.sent !== undefined || !account.isReported(now)) told.push(account)
    }
    await Promise.all(told.map((account) => account.server.refresh(account, time, isLast)))
    return told
  }

  /**
   * Charges what runs so far, tells those who wait, publishes what is not published, and lets go of the store. Requests
   * that come all the same are decided by what this process knows. Safe to call twice.
   */
  close(time = new TimeLimit(this.#clock, CLOSING_MS)): Promise<void> {
    return (this.#closing ??= this.#end(time))
  }

  async #end(time: TimeLimit): Promise<void> {
    const now = nowUs(this.#clock)
    this.#isClosing = true
    for (const account of this) {
      endLine(account)
      account.enter(now)
      account.own.endAll(now) // what runs pays so far
      account.grant.drop()
    }
    if (this.shared !== undefined) await this.#tellLast(time)
    this.#isClosed = true
    for (const account of this) account.moveTo(memoryServer(account.server.clock))
    await this.usage.close(time)
    await this.shared?.leave(this)
  }

  /** Reports the last figures, again where no answer comes. */
  async #tellLast(time: TimeLimit): Promise<void> {
    while (time.leftMs > 0) {
      const told = await this.#tellAll(time, true)
      if (told.length === 0) return
      if (told.some(({ isTold }) => !isTold)) await time.pause(CLOSING_PAUSE_MS)
    }
  }
}
