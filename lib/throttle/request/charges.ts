import { inspect } from 'node:util'
import type { Request } from 'express'
import { nowUs } from '../../http/clock'
import type { HeaderFields } from '../../http/given-fields'
import { optionError } from '../../http/help'
import type { Meter, MeterObserver } from '../../http/meter'
import { shown } from '../../http/options'
import { type Account, PLACES } from '../account/account'
import { Hold, type HoldOwner } from '../account/hold'
import { learnPrice } from '../account/price'
import { NO_STRAIN } from '../account/rollover'
import { type ChargedMessage, channels } from '../diagnostics'
import type { Ledger } from '../ledger'
import { isTwin } from '../warnings'
import type { AdmissionRequest } from './admission'
import { type BudgetJson, type RequestBudget, budgetJson } from './budget'
import { spentError } from './refusal-message'
import { isStated, rateLimitFields, throttleFields } from './response-headers'
import type { StallSharing } from './stalls'

/** The longest charge in one call: a day. */
export const MOST_CHARGE_MS = 86_400_000
/** A request whose client has gone is written off unseen after at most this, unless its price is higher. */
const UNSEEN_MOST_US = 3_000_000

/** One account that a request is charged to. */
export interface Charged {
  readonly asks: AdmissionRequest
  /** It has ended where the request was refused. */
  readonly hold: Hold
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
    const { hold, asks } = charged
    const isFirst = this.#charged.length === 0
    this.#add(charged)
    hold.owner = this
    asks.ledger.start(hold, now)
    if (this.#abort !== undefined) asks.ledger.watch(hold)
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
    return this.#charged.some(({ asks: { ledger: known }, hold }) => {
      return hold.account.subject === keptAs && (known === ledger || isTwin(known, ledger))
    })
  }

  /** The request waits for another throttle: its time stands still in every account, and its holds stay. */
  park(now: number): void {
    this.#stalls?.stops(this, now)
    for (const { asks, hold } of this.#charged) asks.ledger.park(hold, now)
  }

  /** It goes on after a wait of so many µs. */
  goOn(now: number, waitedUs: number): void {
    this.#meter.exclude(waitedUs)
    this.resumed(now)
  }

  /** Leaves out time that another request blocked the event loop for. */
  excuse(us: number): void {
    this.#meter.exclude(us)
    const now = this.#now
    for (const { asks, hold } of this.#charged) asks.ledger.excuse(hold, us, now)
  }

  /** This account does not let the request in: see {@link refuse}. */
  refuseBy(asks: AdmissionRequest, account: Account): number {
    this.#add({ asks, hold: Hold.refused(account, asks.limitUs) })
    return this.refuse()
  }

  /** Gives back what was held: a refused request costs nothing. Returns in how many µs all spent windows are over. */
  refuse(): number {
    const now = this.#now
    let longestUs = 0
    this.#isRefused = true
    for (const charged of this.#charged) {
      const { asks, hold } = charged
      if (hold.state !== 'ended') this.#emitCharged(asks, 0, hold.priceUs, 'request')
      asks.ledger.release(hold, now)
      if (leftUs(charged, now) < 0) longestUs = Math.max(longestUs, currentOf(charged, now).endsInUs(now))
    }
    return longestUs
  }

  // --- MeterObserver

  paused(now: number): void {
    if (this.#isRefused) return
    this.#stalls?.stops(this, now)
    for (const { asks, hold } of this.#charged) asks.ledger.waitForClient(hold, now)
  }

  resumed(now: number): void {
    if (this.#isRefused) return
    this.#stalls?.begins(this, now)
    for (const { asks, hold } of this.#charged) asks.ledger.start(hold, now)
  }

  aborted(now: number): number {
    this.#isAborted = true
    this.#abort?.abort()
    let waitUs = -Infinity
    for (const { hold } of this.#charged) {
      if (hold.state === 'ended') continue
      const unseenUs = Math.min((hold.limitUs / PLACES) * (hold.account.strain / NO_STRAIN), UNSEEN_MOST_US)
      waitUs = Math.max(waitUs, Math.max(hold.priceUs, unseenUs) - hold.takenUs(now))
    }
    return waitUs === -Infinity ? Infinity : Math.max(0, waitUs)
  }

  writtenOff(): void {
    this.#isWrittenOff = true
    for (const { asks, hold } of this.#charged) asks.ledger.writeOff(hold)
  }

  ended(now: number): void {
    this.#stalls?.stops(this, now)
    for (const charged of this.#charged) {
      this.#end(charged, now)
      charged.asks.checkOrder?.()
    }
  }

  #end(charged: Charged, now: number): void {
    const { asks, hold } = charged
    if (hold.state === 'ended') return
    if (!this.#isWrittenOff) this.#learn(charged, now) // before those who wait are priced
    asks.ledger.end(hold, now)
    this.#emitCharged(asks, hold.tookUs, hold.priceUs, 'request')
  }

  late(us: number): void {
    if (this.#isRefused) return
    this.#lateUs += us
    for (const { asks, hold } of this.#charged) {
      asks.ledger.late(hold, us)
      this.#emitCharged(asks, us, 0, 'request')
    }
  }

  finished(now: number): void {
    if (this.#isRefused) return
    for (const charged of this.#charged) this.#learn(charged, now)
  }

  /** Made-up paths teach nothing, nor do charged waits for the client: a slow one would raise its own prices. */
  #learn(charged: Charged, now: number): void {
    if (this.#meter.res.statusCode === 404) return
    const { route, routes } = charged.asks
    routes.keep(route)
    const account = currentOf(charged, now)
    const workUs = Math.max(0, charged.hold.takenUs(now) + this.#lateUs - this.chargedWaitsUs(now))
    account.histories = learnPrice(route, account.subject, account.histories, workUs)
  }

  headers(res: HeaderFields, now: number): void {
    this.#stalls?.look(now)
    if (this.#charged.length === 0 || (this.#isRefused && res.statusCode !== 429)) return
    const least = this.#least(now)
    const { throttle = true, throttleOnRefusal = false } = least.asks.headers
    if (this.#isRefused ? throttleOnRefusal : throttle)
      throttleFields(res, least.hold.limitUs, currentOf(least, now).shown(now))
    if (this.#charged.some(isStated)) rateLimitFields(res, this.#charged.filter(isStated), now)
  }

  // --- HoldOwner

  waitCounts(at: number): void {
    this.#meter.countFrom(at)
    for (const { asks, hold } of this.#charged) if (hold.state === 'awaitingClient') asks.ledger.start(hold, at)
  }

  windowBegan(at: number): void {
    if (!this.#meter.pauseFrom(at)) return
    for (const { asks, hold } of this.#charged)
      if (hold.state === 'running') asks.ledger.waitForClient(hold, Math.max(at, hold.from))
  }

  chargedWaitsUs(now: number): number {
    return this.#meter.chargedWaitsUs(now)
  }

  overrun(): void {
    if (this.#abort === undefined || this.#abort.signal.aborted) return
    const now = this.#now
    const { asks, hold } = this.#least(now)
    this.#abort.abort(spentError(asks.ledger.name, hold.limitUs, asks.ledger.current(hold.account, now).used(now)))
  }

  // --- RequestBudget

  get subject(): string {
    return this.#least().asks.subject
  }

  get window(): string {
    return this.#least().asks.ledger.name
  }

  get spentMs(): number {
    return currentOf(this.#least(), this.#now).used(this.#now) / 1_000
  }

  get leftMs(): number {
    return Math.max(0, leftUs(this.#least(), this.#now)) / 1_000
  }

  get endsInMs(): number {
    return currentOf(this.#least(), this.#now).endsInUs(this.#now) / 1_000
  }

  get signal(): AbortSignal {
    this.#meter.handlerSeen()
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#isAborted) this.#abort.abort()
      for (const { asks, hold } of this.#charged) asks.ledger.watch(hold)
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
      this.#charged.map(({ asks, hold }) => {
        this.#emitCharged(asks, us, 0, 'charge')
        return asks.ledger.charge(hold.account, us)
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

  #emitCharged({ ledger, subject }: AdmissionRequest, us: number, holdUs: number, by: ChargedMessage['by']): void {
    if (!channels.charged.hasSubscribers) return
    const { name: window } = ledger
    const message = { req: this.#req, subject, window, ms: us / 1_000, holdMs: holdUs / 1_000, by }
    channels.charged.publish(message satisfies ChargedMessage)
  }

  get #now(): number {
    return nowUs(this.#meter.clock)
  }

  /** The account with the least time left. */
  #least(now = this.#now): Charged {
    let [least] = this.#charged as [Charged, ...Charged[]]
    if (this.#charged.length === 1) return least
    for (const each of this.#charged) if (leftUs(each, now) < leftUs(least, now)) least = each
    return least
  }
}

/** The account in the window open now. */
function currentOf({ asks, hold }: Charged, now: number): Account {
  return asks.ledger.current(hold.account, now)
}

function leftUs(charged: Charged, now: number): number {
  return charged.hold.limitUs - currentOf(charged, now).used(now)
}
