import type { NextFunction, Request, Response } from 'express'
import { type Clock, nowUs } from '../../http/clock'
import { type DenyOptions, deny } from '../../http/deny'
import { type AdmittedMessage, type RefusedMessage, channels } from '../diagnostics'
import type { Estimate } from './estimates'
import { type ThrottleHeaders, wholeSeconds } from './response-headers'
import type { Part, RequestCharges } from './request-charges'
import type { SharedWindow } from '../sync/shared-window'
import type { Decision, Listener, Refusal, SubjectWindow, Ticket } from '../window/subject-window'

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
  /** Nobody said who pays: it is read from the session, or from its lack. */
  readonly assumed: boolean
}

/** Who asks for what. */
export interface Asked {
  readonly window: SharedWindow
  readonly estimate: Estimate
  readonly limitUs: number
  /** As `req.throttle.subject` says it, and as the window knows it. */
  readonly subject: string
  readonly payer: string
}

/** One request at one window: asks, and lets the request pass or answers it. */
export class Admission implements Listener {
  readonly #rules: AdmissionRules
  readonly #asked: Asked
  readonly #standing: RequestCharges
  readonly #req: Request
  readonly #res: Response
  readonly #next: NextFunction
  #askedAt = 0
  #decide: ((decision: Decision) => void) | undefined

  constructor(
    rules: AdmissionRules,
    asked: Asked,
    standing: RequestCharges,
    req: Request,
    res: Response,
    next: NextFunction,
  ) {
    this.#rules = rules
    this.#asked = asked
    this.#standing = standing
    this.#req = req
    this.#res = res
    this.#next = next
  }

  ask(): void {
    const { window, payer, estimate, limitUs } = this.#asked
    const { hold, clock } = this.#rules
    this.#askedAt = nowUs(clock)
    const decision = window.admit(payer, hold ? estimate.us : 0, limitUs, this)
    if (decision !== undefined) return this.#proceed(decision)
    // Another request's answer or a timer decides. A promise leads back to what this one has in AsyncLocalStorage.
    void new Promise<Decision>((resolve) => (this.#decide = resolve)).then((decided) => this.#goOn(decided))
  }

  get gone(): boolean {
    return this.#res.closed || this.#res.writableEnded // somebody else may have answered, such as a timeout
  }

  decided(decision: Decision): void {
    this.#decide?.(decision)
  }

  /** The store was asked, and the decision is there. */
  #goOn(decision: Decision): void {
    const now = nowUs(this.#rules.clock)
    this.#standing.waited(now - this.#askedAt)
    // Of many decided by one answer each begins when the handlers before it have returned, and not with the first.
    if ('ticket' in decision) this.#asked.window.excuse(decision.ticket, now - decision.ticket.start)
    try {
      this.#proceed(decision)
    } catch (err) {
      this.#next(err) // nobody else is there to catch what an app's onDenied throws
    }
  }

  #proceed(decision: Decision): void {
    const { window } = this.#asked
    const { onOutage, dryRun } = this.#rules
    if (onOutage === 'closed' && window.degraded(subjectWindowOf(decision))) this.#unavailable(decision)
    else if ('ticket' in decision) this.#pass(decision.ticket)
    else if (!dryRun) this.#refuse(decision.refusal)
    else {
      this.#tellRefused(429, wholeSeconds(decision.refusal.retryAfterUs))
      this.#pass(window.begin(decision.refusal.standing))
    }
  }

  #pass(ticket: Ticket): void {
    this.#standing.enter(this.#part(ticket.standing, ticket))
    // While the store was asked the client may have gone away: then nothing runs, and nothing is charged.
    if (this.gone) return void this.#standing.refuse()
    this.#tellAdmitted(ticket)
    this.#next()
  }

  #refuse({ standing, retryAfterUs }: Refusal): void {
    const longestUs = Math.max(retryAfterUs, this.#standing.refuseBy(this.#part(standing, undefined)))
    this.#deny(429, 'throttled', 'Too Many Requests', wholeSeconds(longestUs))
  }

  #unavailable(decision: Decision): void {
    if ('ticket' in decision) this.#asked.window.release(decision.ticket)
    this.#standing.refuseBy(this.#part(subjectWindowOf(decision), undefined))
    this.#deny(503, 'unavailable', 'Service Unavailable', OUTAGE_RETRY_SEC)
  }

  #part(standing: SubjectWindow, ticket: Ticket | undefined): Part {
    const { window, subject, limitUs, estimate } = this.#asked
    const { assumed, headers } = this.#rules
    return { subject, assumed, window, limitUs, estimate, headers, standing, ticket, tookUs: 0 }
  }

  #deny(status: 429 | 503, code: string, message: string, retryAfterSec: number): void {
    this.#tellRefused(status, retryAfterSec)
    const headers = { 'Retry-After': String(retryAfterSec) }
    deny({ status, code, message, headers }, this.#rules.deny, this.#req, this.#res, this.#next)
  }

  #tellAdmitted({ cost, standing }: Ticket): void {
    if (!channels.admitted.hasSubscribers) return
    const { subject, window } = this.#asked
    const degraded = window.degraded(standing)
    const told = { req: this.#req, subject, window: window.name, holdMs: cost / 1_000, degraded }
    channels.admitted.publish(told satisfies AdmittedMessage)
  }

  #tellRefused(status: 429 | 503, retryAfterSec: number): void {
    if (!channels.refused.hasSubscribers) return
    const { subject, window } = this.#asked
    const { dryRun } = this.#rules
    const told = { req: this.#req, subject, window: window.name, status, retryAfterSec, dryRun }
    channels.refused.publish(told satisfies RefusedMessage)
  }
}

function subjectWindowOf(decision: Decision): SubjectWindow {
  return 'ticket' in decision ? decision.ticket.standing : decision.refusal.standing
}
