import type { NextFunction, Request, Response } from 'express'
import { isOver } from '../../http/client-gone'
import { type Clock, nowUs } from '../../http/clock'
import type { RefusalFigures } from '../../errors'
import { type DenyOptions, deny } from '../../http/deny'
import { type AdmittedMessage, type RefusedMessage, channels } from '../diagnostics'
import type { SharedWindow } from '../sync/shared-window'
import type { Applicant, Decision, ThrottleRefusal, Ticket, WaitRule } from '../window/decision'
import { type RoutePrice, holdPrice, learnPrice } from '../window/hold-prices'
import { wholeSeconds } from '../window/retry-after'
import type { SubjectWindow } from '../window/subject-window'
import type { ChargedWindow, RequestCharges } from './request-charges'
import { refusalMessage } from './refusal-message'
import type { ThrottleHeaders } from './response-headers'
import { type WindowPlace, admitToAll } from './several-windows'
import type { StallSharing } from './stall-sharing'

/** Retry-After while the store does not answer and `onOutage` is `closed`. */
const OUTAGE_RETRY_SEC = 5

/** What is the same for all requests of a throttle. */
export interface AdmissionRules {
  readonly hold: boolean
  readonly wait: WaitRule
  /** A request that does not fit beside the holds is refused, and does not wait. */
  readonly isHoldRefused: boolean
  readonly onOutage: 'local' | 'closed'
  readonly dryRun: boolean
  /** Undefined: who is in flight pays for all the time in which another request blocks the event loop. */
  readonly stalls: StallSharing | undefined
  readonly headers: ThrottleHeaders
  readonly deny: DenyOptions
  readonly clock: Clock
}

/** What one request asks of one window. */
export interface AdmissionRequest {
  readonly window: SharedWindow
  readonly route: RoutePrice
  readonly limitUs: number
  /** As `req.throttle.subject`. */
  readonly subject: string
  /** What the window keeps the subject as. */
  readonly keptAs: string
  /** Called when the response has ended. */
  readonly checkOrder: (() => void) | undefined
}

/** Admits one request to one window: lets it pass, or answers it. */
export class RequestAdmission implements Applicant, WindowPlace {
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
    this.#askedAt = now
    const verdict = this.#asks.window.admit(this.#asks.keptAs, this, now)
    if (!('until' in verdict)) return this.#proceed(verdict)
    // Decided in another request's turn or a timer's: the promise restores this request's AsyncLocalStorage.
    void new Promise<Decision>((resolve) => (this.#decide = resolve)).then((decided) => this.#decidedLater(decided))
    if (verdict.isConsidered) this.waits()
  }

  // --- Applicant

  get window(): SharedWindow {
    return this.#asks.window
  }

  get keptAs(): string {
    return this.#asks.keptAs
  }

  get limitUs(): number {
    return this.#asks.limitUs
  }

  get wait(): WaitRule {
    return this.#rules.wait
  }

  price({ histories }: SubjectWindow): number {
    const { route, limitUs } = this.#asks
    return this.#rules.hold ? holdPrice(route, histories, limitUs) : 0
  }

  get gone(): boolean {
    return isOver(this.#res) // a timeout of the app's may have answered
  }

  waits(): void {
    this.#charges.giveBack()
  }

  decided(decision: Decision): void {
    this.#decide?.(decision)
  }

  /** The request waited for the store, or for room. */
  async #decidedLater(decision: Decision): Promise<void> {
    try {
      const again = 'ticket' in decision ? await this.#admitAgain(decision.ticket) : undefined
      const decided =
        again === undefined ? decision : 'refusal' in again ? again : { ticket: again.get(this) as Ticket }
      const now = nowUs(this.#rules.clock)
      this.#charges.excuse(now - this.#askedAt)
      if (again instanceof Map) this.#charges.takeBack(again, now)
      // One answer may decide many: each begins when the handlers before it have returned.
      if ('ticket' in decided) this.window.excuse(decided.ticket, now - decided.ticket.start)
      this.#proceed(decided)
    } catch (err) {
      this.#next(err) // what an app's onDenied throws would be caught nowhere else
    }
  }

  /** Admits the request again to the windows whose holds it gave back while it waited for this one. */
  async #admitAgain(
    ticket: Ticket,
  ): Promise<{ readonly refusal: ThrottleRefusal } | Map<WindowPlace, Ticket> | undefined> {
    const places = this.#charges.givenBack
    if (places.length === 0) return undefined
    const { maxUs, perSubject } = this.wait
    const waitLeft = () => ({ maxUs: this.#askedAt + maxUs - nowUs(this.#rules.clock), perSubject })
    const decision = await admitToAll([...places, this], { place: this, ticket }, waitLeft, () => this.gone)
    return 'refusal' in decision ? { refusal: decision.refusal } : decision.tickets
  }

  #proceed(decision: Decision): void {
    const { window } = this.#asks
    const { onOutage, dryRun } = this.#rules
    if (onOutage === 'closed' && window.isDegraded(subjectWindowOf(decision))) this.#unavailable(decision)
    else if ('ticket' in decision) this.#pass(decision.ticket)
    else if (!dryRun) this.#refuse(decision.refusal)
    else {
      const { refusal } = decision
      // A dry run does not wait: whether a request that does not fit now would have been refused is not known.
      if (refusal.reason === 'spent' || this.#rules.isHoldRefused) {
        this.#emitRefused(429, wholeSeconds(refusal.retryAfterUs), refusal)
      }
      this.#pass(window.begin(refusal.subjectWindow))
    }
  }

  #pass(ticket: Ticket): void {
    // Nobody may wait any more for what had to wait: then nothing runs, and nothing is charged.
    if (this.#decide !== undefined && this.gone) {
      this.#asks.window.release(ticket)
      return void this.#charges.refuse()
    }
    this.#charges.enter(this.#charged(ticket.subjectWindow, ticket), ticket.start)
    this.#emitAdmitted(ticket)
    const { stalls } = this.#rules
    if (stalls === undefined) return this.#next()
    this.#charges.shareStalls(stalls)
    stalls.run(this.#charges, this.#next)
  }

  #refuse(refusal: ThrottleRefusal): void {
    const { subjectWindow, retryAfterUs, reason } = refusal
    const longestUs = Math.max(retryAfterUs, this.#charges.refuseBy(this.#charged(subjectWindow, undefined)))
    this.#deny(429, 'throttled', refusalMessage(reason, this.window.name), wholeSeconds(longestUs), refusal)
  }

  #unavailable(decision: Decision): void {
    if ('ticket' in decision) this.#asks.window.release(decision.ticket)
    this.#charges.refuseBy(this.#charged(subjectWindowOf(decision), undefined))
    this.#deny(503, 'unavailable', 'Service Unavailable', OUTAGE_RETRY_SEC)
  }

  #charged(subjectWindow: SubjectWindow, ticket: Ticket | undefined): ChargedWindow {
    const { window, subject, limitUs, checkOrder } = this.#asks
    const { headers } = this.#rules
    const heldUs = ticket?.cost ?? 0
    return { subject, checkOrder, window, limitUs, admission: this, headers, subjectWindow, ticket, heldUs, tookUs: 0 }
  }

  /** Learns from what the request took. */
  learn(of: SubjectWindow, us: number, now: number): void {
    const s = this.window.current(of, now)
    s.histories = learnPrice(this.#asks.route, s.subject, s.histories, us)
  }

  #deny(status: 429 | 503, code: string, message: string, retryAfterSec: number, refusal?: ThrottleRefusal): void {
    this.#emitRefused(status, retryAfterSec, refusal)
    const headers = { 'Retry-After': String(retryAfterSec) }
    const why = refusal && { reason: refusal.reason, figures: figuresOf(this.window, refusal) }
    deny({ status, code, message, headers, ...why }, this.#rules.deny, this.#req, this.#res, this.#next)
  }

  #emitAdmitted({ cost, subjectWindow }: Ticket): void {
    if (!channels.admitted.hasSubscribers) return
    const { subject, window } = this.#asks
    const degraded = window.isDegraded(subjectWindow)
    const message = { req: this.#req, subject, window: window.name, holdMs: cost / 1_000, degraded }
    channels.admitted.publish(message satisfies AdmittedMessage)
  }

  #emitRefused(status: 429 | 503, retryAfterSec: number, refusal?: ThrottleRefusal): void {
    if (!channels.refused.hasSubscribers) return
    const { subject, window } = this.#asks
    const { dryRun } = this.#rules
    const reason = refusal?.reason ?? ('outage' as const)
    const figures = refusal && figuresOf(window, refusal)
    const message = { req: this.#req, subject, window: window.name, status, reason, figures, retryAfterSec, dryRun }
    channels.refused.publish(message satisfies RefusedMessage)
  }
}

function figuresOf({ name }: SharedWindow, refusal: ThrottleRefusal): RefusalFigures {
  const { limitUs, spentUs, heldUs, othersAgeUs } = refusal
  return {
    window: name,
    limitMs: limitUs / 1_000,
    spentMs: spentUs / 1_000,
    heldMs: heldUs / 1_000,
    othersAgeMs: othersAgeUs === null ? null : othersAgeUs / 1_000,
  }
}

function subjectWindowOf(decision: Decision): SubjectWindow {
  return 'ticket' in decision ? decision.ticket.subjectWindow : decision.refusal.subjectWindow
}
