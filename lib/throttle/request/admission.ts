import type { NextFunction, Request, Response } from 'express'
import { isOver } from '../../http/client-gone'
import { type Clock, nowUs } from '../../http/clock'
import { type DenyOptions, deny } from '../../http/deny'
import type { Account } from '../account/account'
import type { Applicant, Decision, Refusal, WaitRule } from '../account/decide'
import type { Hold } from '../account/hold'
import { type RoutePrice, priceOf } from '../account/price'
import { type AdmittedMessage, type RefusedMessage, channels } from '../diagnostics'
import type { Ledger } from '../ledger'
import type { RequestCharges } from './charges'
import { figuresOf, refusalMessage, wholeSeconds } from './refusal-message'
import type { ThrottleHeaders } from './response-headers'
import type { RouteTable } from './route-table'
import type { StallSharing } from './stalls'

/** Retry-After while the store does not answer and `onOutage` is `closed`. */
const OUTAGE_RETRY_SEC = 5

/** What is the same for all requests of a throttle. */
export interface AdmissionRules {
  readonly wait: WaitRule
  /** A request that does not fit beside the holds is refused, and does not wait. */
  readonly isHoldRefused: boolean
  readonly onOutage: 'local' | 'closed'
  readonly dryRun: boolean
  /** Undefined: every running request pays for all the time in which another one blocks the event loop. */
  readonly stalls: StallSharing | undefined
  readonly deny: DenyOptions
  readonly clock: Clock
}

/** What one request asks of one policy. */
export interface AdmissionRequest {
  readonly ledger: Ledger
  readonly route: RoutePrice
  readonly routes: RouteTable
  readonly limitUs: number
  /** Client waits of the subject are excused up to this. */
  readonly clientWaitUs: number
  /** As `req.throttle.subject`. */
  readonly subject: string
  /** What the ledger keeps the subject as. */
  readonly keptAs: string
  /** Looks, when the response has ended, whether an address paid for a user. */
  readonly checkOrder: (() => void) | undefined
  readonly headers: ThrottleHeaders
}

/** Admits one request to one policy: lets it pass, or answers it. */
export class RequestAdmission implements Applicant {
  readonly #rules: AdmissionRules
  readonly #asks: AdmissionRequest
  readonly #charges: RequestCharges
  readonly #req: Request
  readonly #res: Response
  readonly #next: NextFunction
  #askedAt = 0
  #decide: ((decision: Decision) => void) | undefined

  constructor(
    rules: AdmissionRules,
    asks: AdmissionRequest,
    charges: RequestCharges,
    req: Request,
    res: Response,
    next: NextFunction,
  ) {
    this.#rules = rules
    this.#asks = asks
    this.#charges = charges
    this.#req = req
    this.#res = res
    this.#next = next
  }

  ask(now: number): void {
    const { ledger, keptAs } = this.#asks
    const verdict = ledger.admit(keptAs, this, now)
    if (!('waiter' in verdict)) return this.#proceed(verdict, now)
    this.#askedAt = now
    this.#charges.park(now)
    // Decided in another request's turn or a timer's: the promise restores this request's AsyncLocalStorage.
    void new Promise<Decision>((resolve) => (this.#decide = resolve)).then((decision) => this.#decidedLater(decision))
  }

  // --- Applicant

  get limitUs(): number {
    return this.#asks.limitUs
  }

  get wait(): WaitRule {
    return this.#rules.wait
  }

  price({ histories }: Account): number {
    return priceOf(this.#asks.route, histories, this.#asks.limitUs)
  }

  get isGone(): boolean {
    return isOver(this.#res)
  }

  decided(decision: Decision): void {
    this.#decide?.(decision)
  }

  /** The request waited for the store, or for room. */
  #decidedLater(decision: Decision): void {
    try {
      const now = nowUs(this.#rules.clock)
      if ('gone' in decision) return void this.#charges.refuse()
      if ('hold' in decision && this.isGone) {
        this.#asks.ledger.release(decision.hold, now) // nobody waits any more: nothing runs, and nothing is charged
        return void this.#charges.refuse()
      }
      this.#charges.goOn(now, now - this.#askedAt)
      this.#proceed(decision, now)
    } catch (err) {
      this.#next(err) // an app's handler that throws would be caught nowhere else
    }
  }

  #proceed(decision: Decision, now: number): void {
    const { ledger, limitUs } = this.#asks
    const { onOutage, dryRun } = this.#rules
    if ('gone' in decision) return void this.#charges.refuse()
    if (onOutage === 'closed' && accountOf(decision).server.isDown) return this.#unavailable(decision)
    if ('hold' in decision) return this.#pass(decision.hold, now)
    const { refusal } = decision
    if (!dryRun) return this.#refuse(refusal)
    // A dry run does not wait: whether a request that does not fit now would have been refused is not known.
    if (refusal.reason === 'spent' || this.#rules.isHoldRefused)
      this.#emitRefused(429, wholeSeconds(refusal.retryAfterUs), refusal)
    this.#pass(ledger.begin(refusal.account, limitUs), now)
  }

  #pass(hold: Hold, now: number): void {
    hold.clientWaitUs = this.#asks.clientWaitUs
    this.#emitAdmitted(hold)
    this.#charges.enter({ asks: this.#asks, hold }, now)
    const { stalls } = this.#rules
    if (stalls === undefined) return this.#next()
    this.#charges.shareStalls(stalls, now)
    stalls.run(this.#charges, this.#next)
  }

  #refuse(refusal: Refusal): void {
    const { account, retryAfterUs, reason } = refusal
    this.#asks.ledger.refused(account)
    const longestUs = Math.max(retryAfterUs, this.#charges.refuseBy(this.#asks, account))
    this.#deny(429, 'throttled', refusalMessage(reason, this.#asks.ledger.name), wholeSeconds(longestUs), refusal)
  }

  #unavailable(decision: Decision): void {
    if ('hold' in decision) this.#asks.ledger.release(decision.hold)
    this.#charges.refuseBy(this.#asks, accountOf(decision))
    this.#deny(503, 'unavailable', 'Service Unavailable', OUTAGE_RETRY_SEC)
  }

  #deny(status: 429 | 503, code: string, message: string, retryAfterSec: number, refusal?: Refusal): void {
    this.#emitRefused(status, retryAfterSec, refusal)
    const headers = { 'Retry-After': String(retryAfterSec) }
    const why = refusal && { reason: refusal.reason, figures: figuresOf(this.#asks.ledger.name, refusal) }
    deny({ status, code, message, headers, ...why }, this.#rules.deny, this.#req, this.#res, this.#next)
  }

  #emitAdmitted({ account, priceUs }: Hold): void {
    if (!channels.admitted.hasSubscribers) return
    const { subject, ledger } = this.#asks
    const degraded = account.server.isDown
    const message = { req: this.#req, subject, window: ledger.name, holdMs: priceUs / 1_000, degraded }
    channels.admitted.publish(message satisfies AdmittedMessage)
  }

  #emitRefused(status: 429 | 503, retryAfterSec: number, refusal?: Refusal): void {
    if (!channels.refused.hasSubscribers) return
    const { subject, ledger } = this.#asks
    const { dryRun } = this.#rules
    const reason = refusal?.reason ?? ('outage' as const)
    const figures = refusal && figuresOf(ledger.name, refusal)
    const message = { req: this.#req, subject, window: ledger.name, status, reason, figures, retryAfterSec, dryRun }
    channels.refused.publish(message satisfies RefusedMessage)
  }
}

function accountOf(decision: Decision): Account {
  if ('hold' in decision) return decision.hold.account
  return 'refusal' in decision ? decision.refusal.account : decision.account
}
