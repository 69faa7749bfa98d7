import { inspect } from 'node:util'
import type { NextFunction, Request, Response } from 'express'
import type { Denial } from '../../errors'
import { isOver } from '../../http/measure/client-gone'
import { type Clock, nowUs } from '../../http/clock'
import { type DenyOptions, deny } from '../../http/answer/deny'
import type { HeaderFields } from '../../http/measure/given-fields'
import { optionError } from '../../http/help'
import type { Meter } from '../../http/measure/meter'
import type { MeterObserver } from '../../http/measure/meter-observer'
import { shown } from '../../http/options'
import { type Account, PLACES } from '../budget/account'
import type { Decision } from '../budget/decide'
import { HoldRecord, type HoldOwner, type LoadShedding, type WaitEnd, type WaitRule } from '../budget/hold'
import { type RoutePrice, priceOf } from '../budget/price'
import { NO_STRAIN } from '../budget/rollover'
import type { RouteTable } from '../budget/route-table'
import type { Budgets } from '../budgets'
import { type AdmittedMessage, type ChargedMessage, type RefusedMessage, channels } from '../events'
import { type OrderCheck, checkOrder } from '../warnings'
import { type RequestBudget, budgetJson } from './budget'
import { type Refusal, refusalOf, spentError, tooMany, unavailable, wholeSeconds } from './refusal'
import { CLOSED_RETRY_SEC, OUTAGE_RETRY_SEC } from './refusal'
import type { HeaderRule } from '../options'
import { rateLimitFields, throttleFields } from './response-headers'
import type { StallSharing, StalledRequest } from './stalls'

/** The longest charge in one call: a day. */
export const MOST_CHARGE_MS = 86_400_000
/** A request whose client has gone is written off unseen after at most this, unless its learned price is higher. */
const UNSEEN_MOST_US = 3_000_000

/** What is the same for all requests of a throttle. */
export interface ThrottleRules {
  readonly wait: WaitRule
  /** What the process sheds while it is overloaded. */
  readonly load: LoadShedding | undefined
  /** A request that does not fit beside running ones is refused, and does not wait. */
  readonly isWaitRefused: boolean
  readonly onOutage: 'local' | 'closed'
  readonly dryRun: boolean
  readonly stalls: StallSharing
  readonly headers: HeaderRule
  readonly deny: DenyOptions
  readonly clock: Clock
}

/** Whether a throttle may refuse a request that another one of the same window has let in. */
export function isStricter(rules: ThrottleRules, than: ThrottleRules): boolean {
  return !rules.dryRun && (than.dryRun || (rules.onOutage === 'closed' && than.onOutage === 'local'))
}

/** What a request asks of one policy, and what the account of its subject keeps of it. */
export class RequestHold extends HoldRecord {
  /** The request's hold in another account. */
  next: RequestHold | undefined = undefined

  /** @param subject as `req.throttle.subject` */
  constructor(
    account: Account,
    owner: ThrottledRequest,
    limitUs: number,
    concurrency: number,
    clientWaitUs: number,
    readonly rules: ThrottleRules,
    readonly budgets: Budgets,
    readonly routes: RouteTable,
    readonly route: RoutePrice,
    readonly subject: string,
    readonly orderCheck: OrderCheck | undefined,
  ) {
    super(account, owner, limitUs, clientWaitUs, rules.wait, rules.load, concurrency)
  }

  /** The same request in the same window, from now on. */
  anew(owner: ThrottledRequest, now: number): RequestHold {
    const { limitUs, concurrency, clientWaitUs, rules, budgets, routes, route, subject, orderCheck } = this
    const account = this.accountAt(now)
    const terms = [limitUs, concurrency, clientWaitUs] as const
    return new RequestHold(account, owner, ...terms, rules, budgets, routes, route, subject, orderCheck)
  }

  /** The subject's account, in the window open now: another one where it was let go of since. */
  accountAt(now: number): Account {
    const { account } = this
    if (account.isForgotten) return this.budgets.current(account, now)
    account.enter(now)
    return account
  }
}

/**
 * One request in all the windows that it is charged to: asks for time, or is refused; is charged when it has ended. It
 * hears from the meter, and the app sees it as `req.throttle`.
 */
export class ThrottledRequest implements RequestBudget, MeterObserver, HoldOwner, StalledRequest {
  readonly time: Meter
  readonly #req: Request
  readonly #res: Response
  /** Its holds, one for each account. Those of a request that was refused have ended. */
  #first: RequestHold | undefined = undefined
  #isRefused = false
  /** The process was overloaded: the budget has not refused it, and is shown. */
  #isShed = false
  /** A throttle of it sets the `RateLimit` fields. */
  #isStated = false
  /** Seen after a write-off, in µs. */
  #lateUs = 0
  #stalls: StallSharing | undefined = undefined
  inFlightAt = -1
  inFlightSince = 0
  #abort: AbortController | undefined = undefined
  #isAborted = false
  #next: NextFunction
  /** It has left the line that it waited in, and asks again for places that it gave back. */
  #isReturning = false
  /** Ends its wait for an answer of the store, or for room. */
  #wake: ((end: WaitEnd) => void) | undefined = undefined

  constructor(meter: Meter, req: Request, res: Response, next: NextFunction) {
    this.time = meter
    this.#req = req
    this.#res = res
    this.#next = next
    meter.observe(this)
  }

  /** The request that is measured so; undefined where no throttle has come to it. */
  static of(meter: Meter | undefined): ThrottledRequest | undefined {
    return meter?.observer as ThrottledRequest | undefined // of whichever copy of this package: nobody else observes
  }

  /** The hold that this request has already in an account: of these budgets, or of the same over another store. */
  heldIn({ subject }: Account, budgets: Budgets): RequestHold | undefined {
    let hold = this.#first
    while (hold !== undefined && !(hold.account.subject === subject && hold.budgets.isSameAs(budgets))) hold = hold.next
    return hold
  }

  // --- admission

  /**
   * Asks for time in one more window: lets the request pass, has it wait, or answers it.
   *
   * @param lax the request's hold in the same account by a throttle of looser rules: it pays for what it took, and this
   *   one decides about the rest
   */
  admit(hold: RequestHold, next: NextFunction, now: number, lax?: RequestHold): void {
    this.#next = next
    if (lax !== undefined) this.#drop(lax, now)
    if (hold.rules.dryRun) return this.#rehearse(hold, now)
    const decision = hold.budgets.admit(hold, now)
    if (decision === 'ask') askForNext(hold, now)
    this.#took(hold, decision, now)
  }

  #drop(lax: RequestHold, now: number): void {
    this.#end(lax, now, true)
    if (this.#first === lax) this.#first = lax.next
    for (let hold = this.#first; hold !== undefined; hold = hold.next) if (hold.next === lax) hold.next = lax.next
  }

  #took(hold: RequestHold, decision: Decision | 'gone', now: number): void {
    if (decision !== 'ask' && decision !== 'wait') return this.#proceed(hold, decision, now)
    this.#stalls?.stops(this, now)
    this.#enterWindows(now)
    this.time.park(now)
    // Decided in another request's turn or a timer's: the promise restores this request's AsyncLocalStorage.
    void new Promise<WaitEnd>((resolve) => (this.#wake = resolve)).then((end) => this.#goOn(hold, end))
    this.#isReturning = this.#isAdded(hold)
    if (decision === 'wait') this.waits()
  }

  /** Its client has gone, and with it the address that this throttle would charge: nothing runs any more. */
  leave(now: number): void {
    if (!this.#isRefused) this.#release(now)
  }

  #goOn(asked: RequestHold, end: WaitEnd): void {
    try {
      const now = nowUs(this.time.clock)
      this.#enterWindows(now)
      this.time.unpark(now)
      this.#stalls?.begins(this, now)
      if (end !== 'start' || !this.isGone) return this.#proceed(asked, end, now)
      asked.budgets.finish(asked, now) // nobody waits any more: nothing runs, and nothing is charged
      this.#release(now)
    } catch (err) {
      this.#next(err) // an app's handler that throws would be caught nowhere else
    }
  }

  #proceed(hold: RequestHold, end: Decision | WaitEnd, now: number): void {
    if (end === 'start') return this.#entered(hold, now)
    if (end === 'gone') return void this.#release(now)
    if (end === 'closed') return this.#deny(hold, unavailable(CLOSED_RETRY_SEC), CLOSED_RETRY_SEC, undefined, now)
    if (end === 'outage' && hold.rules.onOutage === 'closed') {
      hold.budgets.finish(hold, now)
      return this.#deny(hold, unavailable(OUTAGE_RETRY_SEC), OUTAGE_RETRY_SEC, undefined, now)
    }
    this.#refuse(hold, refusalOf(hold, end as Refusal['reason'], hold.budgets.name, now), now)
  }

  /** A dry run: its clients see nothing of it, and wait for nothing. */
  #rehearse(hold: RequestHold, now: number): void {
    const { account, budgets, rules } = hold
    const isUnavailable = rules.onOutage === 'closed' && account.server.isDown
    if (isUnavailable) this.#emitRefused(hold, 503, OUTAGE_RETRY_SEC)
    budgets.rehearse(hold, !rules.isWaitRefused, now, (reason, at) => {
      const refusal = refusalOf(hold, reason, budgets.name, at)
      if (!isUnavailable)
        this.#emitRefused(hold, reason === 'overload' ? 503 : 429, wholeSeconds(refusal.retryAfterUs), refusal)
    })
    this.#entered(hold, now)
  }

  /** It has a place in one window: those that it was set aside in are asked again, the innermost first. */
  #entered(entered: RequestHold, now: number): void {
    this.#add(entered)
    for (let hold = this.#first; hold !== undefined; hold = hold.next)
      if (hold.state === 'waiting') return this.#took(hold, hold.budgets.admit(hold, now), now)
    this.#pass(this.#first as RequestHold, now)
  }

  #pass(hold: RequestHold, now: number): void {
    const isFirst = this.#stalls === undefined
    if (hold.next !== undefined) learnNext(hold.next, hold)
    if (channels.admitted.hasSubscribers) this.#emitAdmitted(hold)
    if (isFirst) this.time.begin(now)
    hold.account.run(hold, now)
    if (this.#abort !== undefined) this.#watch(hold)
    if (isFirst) this.time.begun(now)
    if (this.time.hasStopped) this.#end(hold, now) // it was answered meanwhile, by a timeout of the app's
    const { stalls } = hold.rules
    if (this.#stalls === undefined) {
      this.#stalls = stalls
      stalls.begins(this, now)
    } else stalls.look(now)
    stalls.run(this, this.#next)
  }

  #isAdded(of: RequestHold): boolean {
    let hold = this.#first
    while (hold !== undefined && hold !== of) hold = hold.next
    return hold !== undefined
  }

  #add(hold: RequestHold): void {
    if (this.#isAdded(hold)) return
    hold.next = this.#first
    this.#first = hold
    if (hold.rules.headers.rateLimit) this.#isStated = true
    this.#req.throttle = this
  }

  #refuse(hold: RequestHold, refusal: Refusal, now: number): void {
    this.#isShed = refusal.reason === 'overload'
    if (!this.#isShed) hold.budgets.refused(hold)
    this.#add(hold)
    const retryAfterSec = wholeSeconds(Math.max(refusal.retryAfterUs, this.#release(now)))
    this.#deny(hold, tooMany(refusal, retryAfterSec), retryAfterSec, refusal, now)
  }

  /** Gives back what is reserved: what the app's own middleware worked is charged. Returns in how many µs all spent windows are over. */
  #release(now: number): number {
    let longestUs = 0
    this.#isRefused = true
    this.#stalls?.stops(this, now)
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      this.#end(hold, now, true)
      const account = hold.accountAt(now)
      if (!hold.rules.dryRun && account.usedUs(now) > hold.limitUs)
        longestUs = Math.max(longestUs, account.endsInUs(now))
    }
    return longestUs
  }

  #deny(hold: RequestHold, denial: Denial, retryAfterSec: number, refusal: Refusal | undefined, now: number): void {
    if (!this.#isRefused) {
      this.#add(hold)
      this.#release(now)
    }
    this.#emitRefused(hold, denial.status as 429 | 503, retryAfterSec, refusal)
    const next: NextFunction = (err?: unknown) => {
      if (err !== undefined && err !== null) return this.#next(err)
      for (const name in denial.headers) if (!this.#res.headersSent) this.#res.removeHeader(name)
      this.#letPass()
    }
    deny(denial, hold.rules.deny, this.#req, this.#res, next)
  }

  /** `onDenied` called `next()`: the request goes on, and is charged as any other. */
  #letPass(): void {
    const refused = this.#first
    if (!this.#isRefused || refused === undefined || this.time.hasStopped) return this.#next()
    const now = this.#now
    this.#isRefused = this.#isShed = false
    this.#first = this.#stalls = undefined
    for (let hold = refused.next; hold !== undefined; hold = hold.next) {
      const again = hold.anew(this, now)
      again.budgets.letIn(again)
      this.#add(again)
      again.account.run(again, now)
    }
    const again = refused.anew(this, now)
    again.budgets.letIn(again)
    this.#add(again)
    this.#pass(again, now)
  }

  // --- HoldOwner

  get isGone(): boolean {
    return isOver(this.#res)
  }

  priceUs(hold: RequestHold): number {
    return priceOf(hold.route, hold.account.histories, hold.limitUs)
  }

  /** What it has taken so far of windows that it is let in to stays its own while it asks those outside of them again. */
  waits(): void {
    if (this.#isReturning) return
    const now = this.#now
    for (let hold = this.#first; hold !== undefined; hold = hold.next)
      if (hold.state === 'live' && !hold.rules.dryRun) hold.budgets.setAside(hold, now) // a dry run waits for nothing
  }

  decided(_hold: RequestHold, end: WaitEnd): void {
    this.#wake?.(end)
  }

  waitCounts(at: number): void {
    this.#enterWindows(at)
    this.time.countWait(at)
  }

  windowBegan(at: number): void {
    if (!this.time.isWaitCounted) return
    this.#enterWindows(at)
    this.time.excuseWait(at)
  }

  /** Before its time changes: what it took so far belongs to the windows that it took it in. */
  #enterWindows(at: number): void {
    for (let hold = this.#first; hold !== undefined; hold = hold.next) hold.account.enterWindow(at)
  }

  /** A dry run stops nobody. */
  #watch(hold: RequestHold): void {
    if (isEnforced(hold)) hold.budgets.watch(hold)
  }

  overrun(): void {
    if (this.#abort === undefined || this.#abort.signal.aborted) return
    const now = this.#now
    const hold = this.#tightest(now, isEnforced) as RequestHold
    this.#abort.abort(spentError(hold, hold.budgets.name, now))
  }

  // --- StalledRequest

  excuse(us: number, now: number): void {
    let mostUs = us
    for (let hold = this.#first; hold !== undefined; hold = hold.next)
      mostUs = Math.min(mostUs, hold.accountAt(now).excusableUs(hold.limitUs))
    const excusedUs = this.leaveOut(mostUs, now)
    for (let hold = this.#first; hold !== undefined; hold = hold.next) hold.account.stalled(excusedUs)
  }

  leaveOut(us: number, now: number): number {
    const excludedUs = this.time.exclude(us, now)
    for (let hold = this.#first; hold !== undefined; hold = hold.next) hold.account.leftOut(hold, now)
    return excludedUs
  }

  sharesSubject(other: ThrottledRequest): boolean {
    for (let hold = this.#first; hold !== undefined; hold = hold.next)
      if (other.heldIn(hold.account, hold.budgets) === undefined) return false
    return true
  }

  // --- MeterObserver

  paused(now: number): void {
    if (this.#isRefused) return
    this.#stalls?.stops(this, now)
    for (let hold = this.#first; hold !== undefined; hold = hold.next) hold.account.enter(now)
  }

  resumed(now: number): void {
    if (this.#isRefused) return
    for (let hold = this.#first; hold !== undefined; hold = hold.next) hold.account.enter(now)
    this.#stalls?.begins(this, now)
  }

  aborted(now: number): number {
    this.#isAborted = true
    this.#enterWindows(now)
    this.#abort?.abort()
    let waitUs = -Infinity
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      if (hold.state === 'ended') continue
      const unseenUs = Math.min((hold.limitUs / PLACES) * (hold.account.strain / NO_STRAIN), UNSEEN_MOST_US)
      const learnedUs = hold.route.subjects > 0 ? this.priceUs(hold) : 0 // a guess says nothing of the handler
      waitUs = Math.max(waitUs, Math.max(learnedUs, unseenUs) - hold.takenUs(now))
    }
    return waitUs === -Infinity ? Infinity : Math.max(0, waitUs)
  }

  ended(now: number, isWrittenOff: boolean): void {
    if (this.#first !== undefined && !this.#isRefused) this.#first.route.next = undefined // it was the last window
    this.#stalls?.stops(this, now)
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      if (isWrittenOff && hold.state !== 'ended') hold.budgets.writeOff(hold, now)
      this.#end(hold, now, isWrittenOff)
      if (hold.orderCheck !== undefined) checkOrder(this.#req, hold.orderCheck)
    }
  }

  /** @param isUntypical it teaches no price */
  #end(hold: RequestHold, now: number, isUntypical = false): void {
    if (hold.state === 'ended') return
    if (!isUntypical) this.#learn(hold, now) // before those who wait are priced
    const measuredUs = hold.measuredUs(now)
    hold.budgets.finish(hold, now)
    if (channels.charged.hasSubscribers) this.#emitCharged(hold, measuredUs, hold.priceUs, 'request')
  }

  late(us: number, now: number, isOver: boolean): void {
    if (this.#isRefused) return
    this.#lateUs += us
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      if (us > 0) {
        hold.budgets.chargeLate(hold, us, now)
        if (channels.charged.hasSubscribers) this.#emitCharged(hold, us, 0, 'request')
      }
      if (isOver) this.#learn(hold, now)
    }
  }

  /** Made-up paths teach nothing, nor do charged waits for the client: a slow one would raise its own prices. */
  #learn(hold: RequestHold, now: number): void {
    if (this.#res.statusCode === 404) return
    hold.routes.keep(hold.route)
    const workUs = Math.max(0, hold.takenUs(now) + this.#lateUs - this.time.countedWaitsUs(now))
    hold.account.learn(hold.route, workUs)
  }

  headers(res: HeaderFields, now: number): void {
    if (!this.time.hasStopped) this.#stalls?.look(now)
    const isRefused = this.#isRefused && !this.#isShed
    if (this.#first === undefined || (isRefused && res.statusCode !== 429)) return
    const tightest = this.#tightest(now, isEnforced)
    if (tightest === undefined) return // clients hear nothing of a dry run
    const { throttle } = tightest.rules.headers
    if (isRefused ? throttle === 'always' : throttle)
      throttleFields(res, tightest.limitUs, tightest.accountAt(now).shownUs(now))
    if (this.#isStated) this.#rateLimitFields(res, now)
  }

  #rateLimitFields(res: HeaderFields, now: number): void {
    const windows = []
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      const { rules, budgets, limitUs } = hold
      if (!rules.headers.rateLimit || rules.dryRun) continue
      const account = hold.accountAt(now)
      const [usedUs, endsInUs] = [account.shownUs(now), account.endsInUs(now)]
      windows.unshift({ name: budgets.name, limitUs, usedUs, windowUs: account.terms.windowUs, endsInUs })
    }
    if (windows.length > 0) rateLimitFields(res, windows)
  }

  // --- RequestBudget

  get subject(): string {
    return this.#tightest().subject
  }

  get window(): string {
    return this.#tightest().budgets.name
  }

  get limitMs(): number {
    return this.#tightest().limitUs / 1_000
  }

  get spentMs(): number {
    const now = this.#now
    return this.#tightest(now).accountAt(now).usedUs(now) / 1_000
  }

  get leftMs(): number {
    const now = this.#now
    return Math.max(0, leftUs(this.#tightest(now), now)) / 1_000
  }

  get endsInMs(): number {
    const now = this.#now
    return Math.ceil(this.#tightest(now).accountAt(now).endsInUs(now)) / 1_000
  }

  get signal(): AbortSignal {
    this.time.handlerSeen()
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#isAborted) this.#abort.abort()
      for (let hold = this.#first; hold !== undefined; hold = hold.next) this.#watch(hold)
    }
    return this.#abort.signal
  }

  charge(ms: number): void {
    void this.chargeAndReport(ms)
  }

  /**
   * Charges as {@link charge} does, but a rehearsal leaves no strain and no debt. Resolves when the store has it, or does
   * not answer.
   */
  chargeAndReport(ms: number, isRehearsal = false): Promise<unknown> {
    if (!(typeof ms === 'number' && ms >= 0 && ms <= MOST_CHARGE_MS)) {
      throw optionError(`charge(ms) takes a number from 0 to 86,400,000; received ${shown(ms)}`, RangeError)
    }
    this.time.handlerSeen()
    const us = Math.round(ms * 1_000)
    const reported: Promise<void>[] = []
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      if (channels.charged.hasSubscribers) this.#emitCharged(hold, us, 0, 'charge')
      reported.push(hold.budgets.charge(hold, us, isRehearsal))
    }
    return Promise.all(reported)
  }

  settle(): void {
    this.time.settle()
  }

  toJSON(): ReturnType<RequestBudget['toJSON']> {
    return budgetJson(this)
  }

  [inspect.custom](): ReturnType<RequestBudget['toJSON']> {
    return this.toJSON()
  }

  get #now(): number {
    return nowUs(this.time.clock)
  }

  /** The hold in the account with the least time left. */
  #tightest(now?: number): RequestHold
  #tightest(now: number, counts: (hold: RequestHold) => boolean): RequestHold | undefined
  #tightest(now = this.#now, counts = (_hold: RequestHold) => true): RequestHold | undefined {
    let tightest: RequestHold | undefined
    for (let hold = this.#first; hold !== undefined; hold = hold.next)
      if (counts(hold) && (tightest === undefined || leftUs(hold, now) <= leftUs(tightest, now))) tightest = hold
    return tightest
  }

  // --- events

  #emitAdmitted({ account, priceUs, subject, budgets: { name: window } }: RequestHold): void {
    const message = { req: this.#req, subject, window, holdMs: priceUs / 1_000, degraded: account.server.isDown }
    channels.admitted.publish(message satisfies AdmittedMessage)
  }

  #emitRefused(hold: RequestHold, status: 429 | 503, retryAfterSec: number, refusal?: Refusal): void {
    if (!channels.refused.hasSubscribers) return
    const { subject, budgets, rules } = hold
    const { reason = 'outage' as const, figures } = refusal ?? {}
    const about = { req: this.#req, subject, window: budgets.name, dryRun: rules.dryRun }
    channels.refused.publish({ ...about, status, reason, figures, retryAfterSec } satisfies RefusedMessage)
  }

  #emitCharged(hold: RequestHold, us: number, holdUs: number, by: ChargedMessage['by']): void {
    const { subject, budgets } = hold
    const message = { req: this.#req, subject, window: budgets.name, chargedMs: us / 1_000, holdMs: holdUs / 1_000, by }
    channels.charged.publish(message satisfies ChargedMessage)
  }
}

function isEnforced({ rules }: RequestHold): boolean {
  return !rules.dryRun
}

function leftUs(hold: RequestHold, now: number): number {
  return hold.limitUs - hold.accountAt(now).usedUs(now)
}

/** Windows in a row that are asked in one command. */
const MOST_NEXT = 4

/** Asks for the windows that requests of this route ask next, in the same command. */
function askForNext(hold: RequestHold, now: number): void {
  let { next } = hold.route
  for (let n = 1; n < MOST_NEXT && next !== undefined; n++, next = next.route.next)
    next.budgets.expect(hold.account.subject, next, now)
}

/** A request that was let in to one window has been let in to another one of the same server. */
function learnNext({ account, route }: RequestHold, hold: RequestHold): void {
  const { budgets, limitUs, concurrency } = hold
  if (account.server.isMemory || account.server !== hold.account.server) return
  if (account.subject !== hold.account.subject) return
  const { next } = route
  if (next?.budgets === budgets && next.route === hold.route && next.limitUs === limitUs) return
  route.next = { budgets, route: hold.route, limitUs, concurrency }
}
