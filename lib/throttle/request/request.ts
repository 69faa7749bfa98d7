import type { NextFunction, Request, Response } from 'express'
import type { Denial } from '../../errors'
import { deny } from '../../http/answer/deny'
import { nowUs } from '../../http/clock'
import { optionError } from '../../http/help'
import type { HeaderFields } from '../../http/measure/given-fields'
import type { Meter } from '../../http/measure/meter'
import type { MeterObserver } from '../../http/measure/meter-observer'
import { shown } from '../../http/options'
import type { Account } from '../budget/account'
import { Hold, type RefusalReason, type WaitEnd } from '../budget/hold'
import { admit, charge, decideAfterwards, finish, letIn, rehearse } from '../budget/decide'
import { PLACES, isSpent } from '../budget/past'
import type { Accounts } from '../store/accounts'
import { type AdmittedMessage, type ChargedMessage, type RefusedMessage, channels } from '../events'
import { type OrderCheck, checkOrder, warnOfLeft, warnOfSharedPayer } from '../setup/warnings'
import { type Refusal, refusalOf, spentError, tooMany, unavailable, wholeSeconds } from './refusal'
import { CLOSED_RETRY_SEC, OUTAGE_RETRY_SEC } from './refusal'
import { setFields } from './response-headers'
import type { StallSharing } from './stalls'
import { ShownBudget } from './shown-budget'
import { type RequestHold, askForNext, isEnforced, learnNext, tightest } from './window'

/** The longest charge in one call: a day. */
export const MOST_CHARGE_MS = 86_400_000
/** How often a running request is looked at whose handler has the signal. */
const WATCH_MS = 125
/** The signal asks a request to stop when its subject has used twice its limit. */
const OVERRUN_LIMITS = 2
/** The longest time of a timer of Node. */
const MOST_TIMER_MS = 2 ** 31 - 1

/**
 * One request in all the windows that it is charged to: asks for time, or is refused; is charged when it has ended. It
 * hears from the meter, and the app sees it as `req.throttle`.
 */
export class ThrottledRequest implements MeterObserver {
  readonly time: Meter
  readonly #req: Request
  readonly #res: Response
  /** Its holds, one for each account. Those of a request that was refused have ended. */
  #first: RequestHold | undefined = undefined
  #isRefused = false
  /** The process was overloaded: the budget has not refused it, and is shown. */
  #isShed = false
  /** An address pays for it: whether somebody was signed in when it ends. */
  orderCheck: OrderCheck | undefined = undefined
  /** While its time is measured. */
  #stalls: StallSharing | undefined = undefined
  #abort: AbortController | undefined = undefined
  #isAborted = false
  #next: NextFunction

  constructor(meter: Meter, req: Request, res: Response, next: NextFunction) {
    this.time = meter
    this.#req = req
    this.#res = res
    this.#next = next
    meter.observer = this
  }

  /** The request that is measured so; undefined where no throttle has come to it. */
  static of(meter: Meter | undefined): ThrottledRequest | undefined {
    return meter?.observer as ThrottledRequest | undefined // of whichever copy of this package: nobody else observes
  }

  /** The hold that this request has already in an account: of this table, or of the same over another store. */
  heldIn({ subject }: Account, accounts: Accounts): RequestHold | undefined {
    let hold = this.#first
    while (hold !== undefined && !(hold.account.subject === subject && hold.window.accounts.isSameAs(accounts)))
      hold = hold.next
    return hold
  }

  get firstHold(): RequestHold | undefined {
    return this.#first
  }

  // --- admission

  /**
   * Asks for time in one more window: lets the request pass, has it wait, or answers it.
   *
   * @param lax the request's hold in the same account by a throttle of looser rules: it pays for what it took, and this
   *   one decides about the rest
   */
  askWindow(hold: RequestHold, next: NextFunction, now: number, lax?: RequestHold): void {
    this.#next = next
    if (lax !== undefined) this.#drop(lax, now)
    if (hold.window.dryRun) return this.#rehearse(hold, now)
    const decision = admit(hold, now)
    if (decision === 'start') this.#pass(hold, now)
    else if (decision === 'ask' || decision === 'wait') {
      if (decision === 'ask') askForNext(hold, now)
      this.#wait(hold, now)
    } else this.#turnAway(hold, decision, now)
  }

  #drop(lax: RequestHold, now: number): void {
    this.#end(lax, now, true)
    if (this.#first === lax) this.#first = lax.next
    for (let hold = this.#first; hold !== undefined; hold = hold.next) if (hold.next === lax) hold.next = lax.next
  }

  #wait(hold: RequestHold, now: number): void {
    this.#checkPayers(hold)
    this.time.park(now)
    // Decided in another request's turn or a timer's: the promise restores this request's AsyncLocalStorage.
    void new Promise<WaitEnd>((resolve) => {
      hold.heard = resolve
    }).then((end) => this.#goOn(hold, end))
  }

  /** A request that waits keeps its places in outer windows. A look at the oldest request of each is enough for a warning. */
  #checkPayers({ account, window }: RequestHold): void {
    for (let outer = this.#first; outer !== undefined; outer = outer.next) {
      const oldest = outer.account.own.live[0]?.time as Meter | undefined
      for (let held = ThrottledRequest.of(oldest)?.firstHold; held !== undefined; held = held.next)
        if (held.window.accounts === window.accounts && held.account.subject !== account.subject)
          warnOfSharedPayer(outer.window.accounts.name, window.accounts.name)
    }
  }

  /** Its client has gone, and with it the address that this throttle would charge: nothing runs any more. */
  leave(now: number): void {
    if (!this.#isRefused) this.#release(now)
  }

  #goOn(asked: RequestHold, end: WaitEnd): void {
    try {
      const now = nowUs(this.time.clock)
      this.time.unpark(now)
      if (end !== 'start') return this.#turnAway(asked, end, now)
      if (!this.time.isOver) return this.#pass(asked, now)
      finish(asked, now) // nobody waits any more: nothing runs, and nothing is charged
      this.#release(now)
    } catch (err) {
      this.#next(err) // an app's handler that throws would be caught nowhere else
    }
  }

  #turnAway(hold: RequestHold, end: Exclude<WaitEnd, 'start'>, now: number): void {
    if (end === 'gone') return void this.#release(now)
    if (end === 'closed') return this.#deny(hold, unavailable(CLOSED_RETRY_SEC), CLOSED_RETRY_SEC, undefined, now)
    if (end === 'outage' && hold.window.onOutage === 'closed') {
      finish(hold, now)
      return this.#deny(hold, unavailable(OUTAGE_RETRY_SEC), OUTAGE_RETRY_SEC, undefined, now)
    }
    this.#refuse(hold, refusalOf(hold, end, hold.window.accounts.name, now), now)
  }

  /** A dry run: its clients see nothing of it, and wait for nothing. */
  #rehearse(hold: RequestHold, now: number): void {
    const { account, window } = hold
    const mayWait = !window.isWaitRefused
    const isUnavailable = window.onOutage === 'closed' && account.server.isDown
    if (isUnavailable) emitRefused(this.#req, hold, 503, OUTAGE_RETRY_SEC)
    const tell = (reason: RefusalReason | undefined, at: number) => {
      if (reason === undefined || isUnavailable || !channels.refused.hasSubscribers) return
      const refusal = refusalOf(hold, reason, window.accounts.name, at)
      emitRefused(this.#req, hold, reason === 'overload' ? 503 : 429, wholeSeconds(refusal.retryAfterUs), refusal)
    }
    const reason = rehearse(hold, mayWait, now)
    if (reason !== 'ask') tell(reason, now)
    else
      void account.server.refresh(account).then(() => {
        const later = this.#now
        tell(decideAfterwards(hold.account.current(later), hold, mayWait, later), later)
      })
    this.#pass(hold, now)
  }

  #pass(hold: RequestHold, now: number): void {
    this.#add(hold)
    const { stalls } = hold.window
    const isFirst = this.#stalls === undefined
    if (isFirst) stalls.begins(now)
    else stalls.look(now)
    this.#stalls = stalls
    if (hold.next !== undefined) learnNext(hold.next, hold)
    if (channels.admitted.hasSubscribers) emitAdmitted(this.#req, hold)
    if (isFirst) this.time.begin(now, stalls)
    hold.account.run(hold, now)
    if (isFirst) this.time.begun(now)
    if (this.time.hasStopped) {
      this.#end(hold, now) // it was answered meanwhile, by a timeout of the app's
      this.#leaveFlight(now)
    }
    stalls.run(this.time, this.#next)
  }

  #add(hold: RequestHold): void {
    if (hold === this.#first) return
    hold.next = this.#first
    this.#first = hold
    this.#req.throttle ??= new ShownBudget(this)
  }

  #refuse(hold: RequestHold, refusal: Refusal, now: number): void {
    this.#isShed = refusal.reason === 'overload'
    if (!this.#isShed) hold.window.accounts.usage.refused(hold.account.end)
    this.#add(hold)
    const retryAfterSec = wholeSeconds(Math.max(refusal.retryAfterUs, this.#release(now)))
    this.#deny(hold, tooMany(refusal, retryAfterSec), retryAfterSec, refusal, now)
  }

  /** Gives back what is reserved: what the app's own middleware worked is charged. Returns in how many µs all spent windows are over. */
  #release(now: number): number {
    let longestUs = 0
    this.#isRefused = true
    this.#leaveFlight(now)
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      this.#end(hold, now, true)
      const account = hold.account.current(now)
      if (!hold.window.dryRun && isSpent(hold.limitUs, account.usedUs(now)))
        longestUs = Math.max(longestUs, account.endsInUs(now))
    }
    return longestUs
  }

  /** What others blocked is left out of its time before that is charged. */
  #leaveFlight(now: number): void {
    this.#stalls?.ends(now)
    this.#stalls = undefined
  }

  #deny(hold: RequestHold, denial: Denial, retryAfterSec: number, refusal: Refusal | undefined, now: number): void {
    if (!this.#isRefused) {
      this.#add(hold)
      this.#release(now)
    }
    const { account, window } = hold
    window.accounts.shared?.refusals.add(window.accounts.name, account.id, refusal?.reason ?? 'outage', retryAfterSec)
    emitRefused(this.#req, hold, denial.status as 429 | 503, retryAfterSec, refusal)
    const next: NextFunction = (err?: unknown) => {
      if (err !== undefined && err !== null) return this.#next(err)
      for (const name in denial.headers) if (!this.#res.headersSent) this.#res.removeHeader(name)
      this.#letPass()
    }
    deny(denial, window.deny, this.#req, this.#res, next)
  }

  /** `onDenied` called `next()`: the request goes on, and is charged as any other. */
  #letPass(): void {
    const refused = this.#first
    if (!this.#isRefused || refused === undefined || this.time.hasStopped) return this.#next()
    const now = this.#now
    this.#isRefused = this.#isShed = false
    this.#first = undefined
    for (let hold = refused.next; hold !== undefined; hold = hold.next) {
      const again = this.#letIn(hold, now)
      again.account.run(again, now)
    }
    this.#pass(this.#letIn(refused, now), now)
  }

  /** In the same window, whatever its figures say. */
  #letIn(refused: RequestHold, now: number): RequestHold {
    const { window, time, route, subject, limitUs, clientWaitUs, concurrency } = refused
    const account = refused.account.current(now)
    const again: RequestHold = new Hold(account, window, time, route, subject, limitUs, clientWaitUs, concurrency)
    letIn(again)
    this.#add(again)
    return again
  }

  // --- when its time changes

  /** Before its time changes: what it took so far belongs to the windows that it took it in. */
  changes(at: number): void {
    for (let hold = this.#first; hold !== undefined; hold = hold.next) hold.account.enterWindow(at)
  }

  /** Its handler has the signal: looks now and then whether its subject has used twice a limit. A dry run stops nobody. */
  #watch(abort: AbortController): void {
    this.time.clock.after(WATCH_MS, () => {
      if (this.time.hasStopped || abort.signal.aborted) return
      const now = this.#now
      const hold = tightest(this.#first, now, (hold) => isEnforced(hold) && isOverrun(hold, now))
      if (hold === undefined) return this.#watch(abort)
      abort.abort(spentError(hold, hold.window.accounts.name, now))
    })
  }

  // --- MeterObserver

  paused(now: number): void {
    if (this.#isRefused) return
    this.#stalls?.look(now)
    for (let hold = this.#first; hold !== undefined; hold = hold.next) hold.account.enter(now)
  }

  resumed(now: number): void {
    if (this.#isRefused) return
    for (let hold = this.#first; hold !== undefined; hold = hold.next) hold.account.enter(now)
    this.#stalls?.look(now)
  }

  aborted(now: number): number {
    this.#isAborted = true
    this.#abort?.abort()
    let waitUs = -Infinity
    for (let hold = this.#first; hold !== undefined; hold = hold.next)
      if (hold.state !== 'ended') waitUs = Math.max(waitUs, hold.account.writesOffInUs(hold, now))
    return waitUs === -Infinity ? Infinity : Math.max(0, waitUs)
  }

  ended(now: number, isWrittenOff: boolean): void {
    this.#leaveFlight(now)
    if (this.#first !== undefined && !this.#isRefused) this.#first.route.next = undefined // it was the last window
    if (this.orderCheck !== undefined) checkOrder(this.#req, this.orderCheck)
    const isUntypical = isWrittenOff || (this.#isAborted && this.time.endsWithClient === true)
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      if (isWrittenOff && hold.state !== 'ended') {
        hold.account.current(now).writeOff(hold.limitUs, now)
        if (hold.route.leavesOpen(now)) warnOfLeft(hold.route.route)
        if (hold.concurrency < PLACES) {
          this.#keepPlace(hold)
          continue
        }
      }
      this.#end(hold, now, isUntypical)
    }
  }

  /** A handler of which few may run keeps its place after the write-off, until it ends the response: for a limit at most. */
  #keepPlace(hold: RequestHold): void {
    hold.priceUs = 0
    this.time.clock.after(Math.min(hold.limitUs / 1_000, MOST_TIMER_MS), () => this.#end(hold, this.#now, true))
  }

  /** @param isUntypical it teaches no price */
  #end(hold: RequestHold, now: number, isUntypical = false): void {
    if (hold.state === 'ended') return
    if (!isUntypical) this.#learn(hold, now) // before those who wait are priced
    const measuredUs = channels.charged.hasSubscribers ? hold.measuredUs(now) : -1
    finish(hold, now)
    if (measuredUs >= 0) emitCharged(this.#req, hold, measuredUs, hold.priceUs, 'request')
  }

  late(us: number, now: number): void {
    if (this.#isRefused) return
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      const account = hold.account.current(now)
      account.charge(hold, us, now)
      account.server.activate(account)
      emitCharged(this.#req, hold, us, 0, 'request')
      this.#learn(hold, now, hold.state === 'ended' ? us : 0)
      hold.route.isEnded()
      this.#end(hold, now, true)
    }
  }

  /** Made-up paths teach nothing, nor do charged waits for the client: a slow one would raise its own prices. */
  #learn(hold: RequestHold, now: number, lateUs = 0): void {
    if (this.#res.statusCode === 404) return
    hold.window.routes.keep(hold.route)
    const workUs = Math.max(0, hold.takenUs(now) + lateUs - this.time.countedWaitsUs(now))
    hold.account.learn(hold.route, workUs)
  }

  headers(res: HeaderFields, now: number): void {
    if (!this.time.hasStopped) this.#stalls?.look(now)
    const isRefused = this.#isRefused && !this.#isShed
    if (this.#first === undefined || (isRefused && res.statusCode !== 429)) return
    setFields(res, this.#first, isRefused, now)
  }

  // --- what the handler calls

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#isAborted) this.#abort.abort()
      this.#watch(this.#abort)
    }
    return this.#abort.signal
  }

  /**
   * Charges every window. A rehearsal leaves no strain and no debt. Resolves when the store has it, or does not answer.
   *
   * @throws {RangeError} where `ms` is no number from 0 to 86,400,000
   */
  charge(ms: number, isRehearsal = false): Promise<unknown> {
    if (!(typeof ms === 'number' && ms >= 0 && ms <= MOST_CHARGE_MS)) {
      throw optionError(`charge(ms) takes a number from 0 to 86,400,000; received ${shown(ms)}`, RangeError)
    }
    const us = Math.round(ms * 1_000)
    const now = this.#now
    const reported: Promise<void>[] = []
    for (let hold = this.#first; hold !== undefined; hold = hold.next) {
      emitCharged(this.#req, hold, us, 0, 'charge')
      reported.push(charge(hold, us, now, isRehearsal))
    }
    return Promise.all(reported)
  }

  get #now(): number {
    return nowUs(this.time.clock)
  }
}

/** Whether the subject has used twice its limit, so the handler should stop. */
function isOverrun(hold: RequestHold, now: number): boolean {
  return hold.state === 'live' && hold.account.current(now).workUs(now) > OVERRUN_LIMITS * hold.limitUs
}

// A message is only made where somebody listens.

function emitAdmitted(req: Request, { account, priceUs, subject, window }: RequestHold): void {
  const message = {
    req,
    subject,
    window: window.accounts.name,
    holdMs: priceUs / 1_000,
    degraded: account.server.isDown,
  }
  channels.admitted.publish(message satisfies AdmittedMessage)
}

function emitRefused(
  req: Request,
  { subject, window }: RequestHold,
  status: 429 | 503,
  retryAfterSec: number,
  refusal?: Refusal,
): void {
  if (!channels.refused.hasSubscribers) return
  const { reason = 'outage' as const, figures } = refusal ?? {}
  const about = { req, subject, window: window.accounts.name, dryRun: window.dryRun }
  channels.refused.publish({ ...about, status, reason, figures, retryAfterSec } satisfies RefusedMessage)
}

function emitCharged(
  req: Request,
  { subject, window }: RequestHold,
  us: number,
  holdUs: number,
  by: ChargedMessage['by'],
): void {
  if (!channels.charged.hasSubscribers) return
  const message = { req, subject, window: window.accounts.name, chargedMs: us / 1_000, holdMs: holdUs / 1_000, by }
  channels.charged.publish(message satisfies ChargedMessage)
}
