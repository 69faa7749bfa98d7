import { inspect } from 'node:util'
import type { Request } from 'express'
import { denialError } from '../../errors'
import { nowUs } from '../../http/clock'
import type { HeaderFields } from '../../http/given-fields'
import { optionError } from '../../http/help'
import type { Meter, MeterObserver } from '../../http/meter'
import { shown } from '../../http/options'
import { type Account, PLACES } from '../account/account'
import type { Hold, HoldOwner } from '../account/hold'
import { type RoutePrice, learnPrice } from '../account/price'
import { type ChargedMessage, channels } from '../diagnostics'
import type { Ledger } from '../ledger'
import { isTwin } from '../warnings'
import { type BudgetJson, type RequestBudget, budgetJson } from './budget'
import { figuresOf, refusalMessage } from './refusal-message'
import { type ThrottleHeaders, type WindowUse, rateLimitFields, throttleFields } from './response-headers'
import type { RouteTable } from './route-table'
import type { StallSharing } from './stalls'

/** The longest charge in one call: a day. */
export const MOST_CHARGE_MS = 86_400_000
/** A request whose client has gone is written off unseen after at most this, unless its price is higher. */
const UNSEEN_MOST_US = 3_000_000

/** One account that a request is charged to. */
export interface Charged {
  readonly subject: string
  /** Looks, when the response has ended, whether an address paid for a user. */
  readonly checkOrder: (() => void) | undefined
  readonly ledger: Ledger
  readonly account: Account
  readonly limitUs: number
  readonly headers: ThrottleHeaders
  readonly route: RoutePrice
  readonly routes: RouteTable
  /** While the request runs; undefined where it was refused. */
  readonly hold: Hold | undefined
}

const NONE: readonly never[] = []

/** All accounts that a request is charged to. It hears from the meter, and the app sees it as `req.throttle`. */
export class RequestCharges implements RequestBudget, MeterObserver, HoldOwner {
  readonly #meter: Meter
  readonly #req: Request
  #charged: readonly Charged[] = NONE
  #isRefused = false
  #isWrittenOff = false
  /** Seen after a write-off, in µs. */
  #lateUs = 0
  #stalls: StallSharing | undefined
  #abort: AbortController | undefined
  #isAborted = false

  constructor(meter: Meter, req: Request) {
    this.#meter = meter
    this.#req = req
    meter.observe(this)
  }

  /** The charges of the request that is measured so; undefined where no throttle has come to it. */
  static of(meter: Meter | undefined): RequestCharges | undefined {
    return meter?.observer as RequestCharges | undefined // of whichever copy of this package: nobody else observes
  }

  /** Charges the request to an account, too, from `now` on. Its processing time begins with the first. */
  enter(charged: Charged, now: number): void {
    const { hold, ledger } = charged
    const isFirst = this.#charged.length === 0
    this.#add(charged)
    if (hold === undefined) return
    hold.owner = this
    ledger.start(hold, now)
    if (this.#abort !== undefined) ledger.watch(hold)
    if (isFirst) this.#meter.begin(now)
    if (this.#meter.stopped) this.#end(charged, now) // it was answered meanwhile, by a timeout of the app's
  }

  #add(charged: Charged): void {
    this.#charged = [...this.#charged, charged]
    this.#req.throttle = this
  }

  /** Time in which another request blocks the event loop is shared out from now on. */
  shareStalls(stalls: StallSharing, now: number): void {
    if (this.#stalls !== undefined) return stalls.look(now)
    this.#stalls = stalls
    stalls.begins(this, now)
  }

  /** The request is charged to this subject's account already, or another store keeps the same one. */
  has(ledger: Ledger, keptAs: string): boolean {
    return this.#charged.some(
      ({ ledger: known, account }) => account.subject === keptAs && (known === ledger || isTwin(known, ledger)),
    )
  }

  /** The request waits for another throttle: its time stands still in every account, and its holds stay. */
  park(now: number): void {
    this.#stalls?.stops(this, now)
    for (const { ledger, hold } of this.#charged) if (hold) ledger.park(hold, now)
  }

  /** It goes on after a wait of so many µs. */
  goOn(now: number, waitedUs: number): void {
    this.#meter.exclude(waitedUs)
    this.#stalls?.begins(this, now)
    for (const { ledger, hold } of this.#charged) if (hold) ledger.start(hold, now)
  }

  /** Leaves out time that another request blocked the event loop for. */
  excuse(us: number): void {
    this.#meter.exclude(us)
    const now = nowUs(this.#meter.clock)
    for (const { ledger, hold } of this.#charged) if (hold) ledger.excuse(hold, us, now)
  }

  /** An account does not let the request in: see {@link refuse}. */
  refuseBy(charged: Charged): number {
    this.#add(charged)
    return this.refuse()
  }

  /** Gives back what was held: a refused request costs nothing. Returns in how many µs all spent windows are over. */
  refuse(): number {
    const now = nowUs(this.#meter.clock)
    let longestUs = 0
    this.#isRefused = true
    for (const { ledger, account, hold, limitUs, subject } of this.#charged) {
      if (hold) {
        ledger.release(hold, now)
        this.#emitCharged(ledger, subject, 0, hold.priceUs, 'request')
      }
      if (ledger.usedUs(account, now) > limitUs) longestUs = Math.max(longestUs, ledger.endsInUs(account))
    }
    return longestUs
  }

  // --- MeterObserver

  paused(now: number): void {
    if (this.#isRefused) return
    this.#stalls?.stops(this, now)
    for (const { ledger, hold } of this.#charged) if (hold) ledger.waitForClient(hold, now)
  }

  resumed(now: number): void {
    if (this.#isRefused) return
    this.#stalls?.begins(this, now)
    for (const { ledger, hold } of this.#charged) if (hold) ledger.start(hold, now)
  }

  aborted(now: number): number {
    this.#isAborted = true
    this.#abort?.abort()
    let waitUs = -Infinity
    for (const { hold, limitUs, account } of this.#charged) {
      if (hold === undefined || hold.state === 'ended') continue
      const unseenUs = Math.min((limitUs / PLACES) * account.strain, UNSEEN_MOST_US)
      waitUs = Math.max(waitUs, Math.max(hold.priceUs, unseenUs) - hold.takenUs(now))
    }
    return waitUs === -Infinity ? Infinity : Math.max(0, waitUs)
  }

  writtenOff(): void {
    this.#isWrittenOff = true
    for (const { ledger, hold } of this.#charged) if (hold) ledger.writeOff(hold)
  }

  ended(now: number): void {
    this.#stalls?.stops(this, now)
    for (const charged of this.#charged) {
      this.#end(charged, now)
      charged.checkOrder?.()
    }
  }

  #end(charged: Charged, now: number): void {
    const { ledger, hold, subject } = charged
    if (hold === undefined || hold.state === 'ended') return
    ledger.end(hold, now, this.#isWrittenOff ? undefined : (account, us) => this.#learn(charged, account, us))
    this.#emitCharged(ledger, subject, hold.tookUs, hold.priceUs, 'request')
  }

  late(us: number): void {
    if (this.#isRefused) return
    this.#lateUs += us
    for (const { ledger, account, subject } of this.#charged) {
      ledger.late(account, us)
      this.#emitCharged(ledger, subject, us, 0, 'request')
    }
  }

  finished(): void {
    for (const charged of this.#charged) {
      const { ledger, account, hold } = charged
      if (hold && !this.#isRefused) this.#learn(charged, ledger.current(account), hold.tookUs + this.#lateUs)
    }
  }

  /** Made-up paths teach nothing, nor do charged waits for the client: a slow one would raise its own prices. */
  #learn({ route, routes }: Charged, account: Account, us: number): void {
    if (this.#meter.res.statusCode === 404) return
    routes.keep(route)
    const workUs = Math.max(0, us - this.chargedWaitsUs(nowUs(this.#meter.clock)))
    account.histories = learnPrice(route, account.subject, account.histories, workUs)
  }

  headers(res: HeaderFields, now: number): void {
    this.#stalls?.look(now)
    if (this.#charged.length === 0 || (this.#isRefused && res.statusCode !== 429)) return
    const least = this.#least(now)
    const { throttle = true, throttleOnRefusal = false } = least.headers
    const usedUs = least.ledger.shownUs(least.account, now)
    if (this.#isRefused ? throttleOnRefusal : throttle) throttleFields(res, least.limitUs, usedUs)
    const stated = this.#charged.filter(({ headers }) => headers.rateLimit === true)
    if (stated.length > 0)
      rateLimitFields(
        res,
        stated.map((charged) => useOf(charged, now)),
      )
  }

  // --- HoldOwner

  waitCounts(at: number): void {
    this.#meter.countFrom(at)
    for (const { ledger, hold } of this.#charged) if (hold?.state === 'waiting') ledger.start(hold, at)
  }

  windowBegan(at: number): void {
    if (!this.#meter.pauseFrom(at)) return
    for (const { ledger, hold } of this.#charged)
      if (hold?.state === 'running') ledger.waitForClient(hold, Math.max(at, hold.from))
  }

  chargedWaitsUs(now: number): number {
    return this.#meter.chargedWaitsUs(now)
  }

  overrun(): void {
    if (this.#abort === undefined || this.#abort.signal.aborted) return
    const { ledger, account, limitUs } = this.#least(nowUs(this.#meter.clock))
    const usedUs = ledger.usedUs(account, nowUs(this.#meter.clock))
    const figures = figuresOf(ledger.name, { limitUs, usedUs, heldUs: 0, othersAgeUs: null })
    const message = refusalMessage('spent', ledger.name)
    const denial = { status: 429, code: 'throttled', message, headers: {}, reason: 'spent', figures } as const
    this.#abort.abort(denialError(denial))
  }

  // --- RequestBudget

  get subject(): string {
    return this.#least(nowUs(this.#meter.clock)).subject
  }

  get window(): string {
    return this.#least(nowUs(this.#meter.clock)).ledger.name
  }

  get spentMs(): number {
    const now = nowUs(this.#meter.clock)
    return usedUs(this.#least(now), now) / 1_000
  }

  get leftMs(): number {
    const now = nowUs(this.#meter.clock)
    return Math.max(0, leftUs(this.#least(now), now)) / 1_000
  }

  get endsInMs(): number {
    const { ledger, account } = this.#least(nowUs(this.#meter.clock))
    return ledger.endsInUs(account) / 1_000
  }

  get signal(): AbortSignal {
    this.#meter.handlerSeen()
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#isAborted) this.#abort.abort()
      for (const { ledger, hold } of this.#charged) if (hold) ledger.watch(hold)
    }
    return this.#abort.signal
  }

  charge(ms: number): void {
    void this.chargeAndReport(ms)
  }

  /** Charges as {@link charge} does. Resolves when the store has it, or does not answer. */
  chargeAndReport(ms: number): Promise<unknown> {
    if (!(typeof ms === 'number' && ms >= 0 && ms <= MOST_CHARGE_MS)) {
      throw optionError(`charge(ms) takes a number from 0 to 86,400,000; received ${shown(ms)}`, RangeError)
    }
    this.#meter.handlerSeen()
    const us = Math.round(ms * 1_000)
    return Promise.all(
      this.#charged.map(({ ledger, account, subject }) => {
        this.#emitCharged(ledger, subject, us, 0, 'charge')
        return ledger.charge(account, us)
      }),
    )
  }

  settle(): void {
    this.#meter.settle()
  }

  toJSON(): BudgetJson {
    return budgetJson(this)
  }

  [inspect.custom](): BudgetJson {
    return this.toJSON()
  }

  #emitCharged({ name: window }: Ledger, subject: string, us: number, holdUs: number, by: ChargedMessage['by']): void {
    if (!channels.charged.hasSubscribers) return
    const message = { req: this.#req, subject, window, ms: us / 1_000, holdMs: holdUs / 1_000, by }
    channels.charged.publish(message satisfies ChargedMessage)
  }

  /** The account with the least time left. */
  #least(now: number): Charged {
    let [least] = this.#charged as [Charged, ...Charged[]]
    if (this.#charged.length === 1) return least
    for (const each of this.#charged) if (leftUs(each, now) < leftUs(least, now)) least = each
    return least
  }
}

function leftUs(charged: Charged, now: number): number {
  return charged.limitUs - usedUs(charged, now)
}

function usedUs({ ledger, account }: Charged, now: number): number {
  return ledger.usedUs(account, now)
}

function useOf({ ledger, account, limitUs }: Charged, now: number): WindowUse {
  const { name, windowMs } = ledger
  return { name, windowMs, limitUs, usedUs: ledger.shownUs(account, now), endsInUs: ledger.endsInUs(account) }
}
