import type { NextFunction, Request, Response } from 'express'
import { type Clock, nowUs } from '../../http/clock'
import { type DenyOptions, deny } from '../../http/deny'
import { type AdmittedMessage, type RefusedMessage, channels } from '../diagnostics'
import type { SharedWindow } from '../sync/shared-window'
import type { Decision, DecisionListener, ThrottleRefusal, Ticket } from '../window/decision'
import type { SubjectWindow } from '../window/subject-window'
import type { Estimate } from './estimates'
import type { ChargedWindow, RequestCharges } from './request-charges'
import { type ThrottleHeaders, wholeSeconds } from './response-headers'

/** Retry-After while the store does not answer and `onOutage` is `closed`. */
const OUTAGE_RETRY_SEC = 5

/** What is the same for all requests of a throttle. */
export interface AdmissionRules {
  readonly hold: boolean
  readonly onOutage: 'local' | 'closed'
  readonly dryRun: boolean
  readonly headers: ThrottleHeaders
  readonly deny: DenyOptions
  readonly clock: Clock
  /** The app does not say who pays: it is read from the session, or is the address where there is none. */
  readonly isAssumed: boolean
}

/** What one request asks of one window. */
export interface AdmissionRequest {
  readonly window: SharedWindow
  readonly estimate: Estimate
  readonly limitUs: number
  /** As `req.throttle.subject`. */
  readonly subject: string
  /** What the window keeps the subject as. */
  readonly keptAs: string
}

/** Admits one request to one window: lets it pass, or answers it. */
export class RequestAdmission implements DecisionListener {
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

  ask(): void {
    const { window, keptAs, estimate, limitUs } = this.#asks
    const { hold, clock } = this.#rules
    this.#askedAt = nowUs(clock)
    const decision = window.admit(keptAs, hold ? estimate.us : 0, limitUs, this)
    if (decision !== undefined) return this.#proceed(decision)
    // Decided in another request's turn or a timer's: the promise restores this request's AsyncLocalStorage.
    void new Promise<Decision>((resolve) => (this.#decide = resolve)).then((decided) => this.#decidedLater(decided))
  }

  get gone(): boolean {
    return this.#res.closed || this.#res.writableEnded // a timeout of the app's may have answered
  }

  decided(decision: Decision): void {
    this.#decide?.(decision)
  }

  /** The store was asked first. */
  #decidedLater(decision: Decision): void {
    const now = nowUs(this.#rules.clock)
    this.#charges.excuse(now - this.#askedAt)
    // One answer may decide many: each begins when the handlers before it have returned.
    if ('ticket' in decision) this.#asks.window.excuse(decision.ticket, now - decision.ticket.start)
    try {
      this.#proceed(decision)
    } catch (err) {
      this.#next(err) // what an app's onDenied throws would be caught nowhere else
    }
  }

  #proceed(decision: Decision): void {
    const { window } = this.#asks
    const { onOutage, dryRun } = this.#rules
    if (onOutage === 'closed' && window.isDegraded(subjectWindowOf(decision))) this.#unavailable(decision)
    else if ('ticket' in decision) this.#pass(decision.ticket)
    else if (!dryRun) this.#refuse(decision.refusal)
    else {
      this.#emitRefused(429, wholeSeconds(decision.refusal.retryAfterUs))
      this.#pass(window.begin(decision.refusal.subjectWindow))
    }
  }

  #pass(ticket: Ticket): void {
    this.#charges.enter(this.#charged(ticket.subjectWindow, ticket))
    // The client may have gone while the store was asked: then nothing runs, and nothing is charged.
    if (this.gone) return void this.#charges.refuse()
    this.#emitAdmitted(ticket)
    this.#next()
  }

  #refuse({ subjectWindow, retryAfterUs }: ThrottleRefusal): void {
    const longestUs = Math.max(retryAfterUs, this.#charges.refuseBy(this.#charged(subjectWindow, undefined)))
    const { name } = this.#asks.window
    this.#deny(
      429,
      'throttled',
      `No processing time is left in the window "${name}" for this request`,
      wholeSeconds(longestUs),
    )
  }

  #unavailable(decision: Decision): void {
    if ('ticket' in decision) this.#asks.window.release(decision.ticket)
    this.#charges.refuseBy(this.#charged(subjectWindowOf(decision), undefined))
    this.#deny(503, 'unavailable', 'Service Unavailable', OUTAGE_RETRY_SEC)
  }

  #charged(subjectWindow: SubjectWindow, ticket: Ticket | undefined): ChargedWindow {
    const { window, subject, limitUs, estimate } = this.#asks
    const { isAssumed, headers } = this.#rules
    return { subject, isAssumed, window, limitUs, estimate, headers, subjectWindow, ticket, tookUs: 0 }
  }

  #deny(status: 429 | 503, code: string, message: string, retryAfterSec: number): void {
    this.#emitRefused(status, retryAfterSec)
    const headers = { 'Retry-After': String(retryAfterSec) }
    deny({ status, code, message, headers }, this.#rules.deny, this.#req, this.#res, this.#next)
  }

  #emitAdmitted({ cost, subjectWindow }: Ticket): void {
    if (!channels.admitted.hasSubscribers) return
    const { subject, window } = this.#asks
    const degraded = window.isDegraded(subjectWindow)
    const message = { req: this.#req, subject, window: window.name, holdMs: cost / 1_000, degraded }
    channels.admitted.publish(message satisfies AdmittedMessage)
  }

  #emitRefused(status: 429 | 503, retryAfterSec: number): void {
    if (!channels.refused.hasSubscribers) return
    const { subject, window } = this.#asks
    const { dryRun } = this.#rules
    const message = { req: this.#req, subject, window: window.name, status, retryAfterSec, dryRun }
    channels.refused.publish(message satisfies RefusedMessage)
  }
}

function subjectWindowOf(decision: Decision): SubjectWindow {
  return 'ticket' in decision ? decision.ticket.subjectWindow : decision.refusal.subjectWindow
}
