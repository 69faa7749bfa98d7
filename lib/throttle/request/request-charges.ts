import { inspect } from 'node:util'
import type { Request } from 'express'
import { nowUs } from '../../http/clock'
import type { HeaderFields } from '../../http/given-fields'
import type { Meter, MeterObserver } from '../../http/meter'
import { shown } from '../../http/options'
import { type ChargedMessage, channels } from '../diagnostics'
import type { SharedWindow } from '../sync/shared-window'
import { isTwin } from '../warnings'
import { type BudgetJson, budgetJson } from './budget-json'
import type { WindowPlace } from './several-windows'
import type { Ticket } from '../window/decision'
import type { SubjectWindow } from '../window/subject-window'
import type { StallSharing } from './stall-sharing'
import { type ThrottleHeaders, type WindowUse, rateLimitFields, throttleFields } from './response-headers'

/** A handler whose client has gone counts as running for a part of the limit, at least, and at most for so long. */
const UNSEEN_PART = 1 / 32
const UNSEEN_MOST_US = 3_000_000
/** The longest charge in one call: a day. */
export const MOST_CHARGE_MS = 86_400_000

/** `req.throttle`: what the subject of this request has used and has left, in the window with the least time left. */
export interface RequestBudget {
  /** Who pays, such as `user:25:https://ident.example.org:ada`; what `usage()` and `reset()` take. */
  readonly subject: string
  /** The window's name. */
  readonly window: string
  /** Processing time used in this window over all processes, as far as is known here, this request's included. */
  readonly spentMs: number
  /** What is left, never below 0. */
  readonly leftMs: number
  /** Until the window ends, at the latest. */
  readonly endsInMs: number
  /**
   * Charges time that the meter does not see, such as another service's, to every window of this request, at once.
   *
   * @param ms 0 to 86,400,000, fractions allowed
   * @throws {RangeError} for anything else, and charges nothing
   */
  charge(ms: number): void
  /**
   * Ends the measuring of this request now, for a response that ends when its client likes: a stream of pictures, a
   * multipart subscription. What its handler works from then on is to be charged with `charge()`.
   */
  settle(): void
  /** The figures, for `JSON.stringify()` and loggers: `{ subject, window, spentMs, leftMs, endsInMs }`. */
  toJSON(): BudgetJson
  /** Aborted when the client goes away before the response was ended. */
  readonly signal: AbortSignal
}

/** What a window's charge leads back to. */
export interface ChargedAdmission extends WindowPlace {
  /** Takes in what the request took, in microseconds. */
  learn(of: SubjectWindow, us: number, now: number): void
}

/** One window that a request is charged to. */
export interface ChargedWindow {
  readonly subject: string
  /** Called when the response has ended. */
  readonly checkOrder: (() => void) | undefined
  readonly window: SharedWindow
  readonly limitUs: number
  /** What admitted it: asks again, and learns what the request took. */
  readonly admission: ChargedAdmission
  readonly headers: ThrottleHeaders
  readonly subjectWindow: SubjectWindow
  /** While the request is in flight, and its hold set aside. */
  ticket: Ticket | undefined
  /** What is still to be told as set aside no more. */
  heldUs: number
  tookUs: number
}

const NONE: readonly never[] = []

/** All windows that a request is charged to. It hears from the meter, and the app sees it as `req.throttle`. */
export class RequestCharges implements RequestBudget, MeterObserver {
  readonly #meter: Meter
  readonly #req: Request
  #windows: readonly ChargedWindow[] = NONE
  #givenBack: readonly WindowPlace[] = NONE
  #isRefused = false
  #stalls: StallSharing | undefined
  #abort: AbortController | undefined
  #isAborted = false
  #isWrittenOff = false

  constructor(meter: Meter, req: Request) {
    this.#meter = meter
    this.#req = req
    meter.observe(this)
  }

  /** The charges of the request that is measured so; undefined where no throttle has come to it. */
  static of(meter: Meter | undefined): RequestCharges | undefined {
    return meter?.observer as RequestCharges | undefined // of whichever copy of this package: nobody else observes
  }

  /** Charges the request to a window, too, from `now` on. Its processing time begins with the first. */
  enter(window: ChargedWindow, now: number): void {
    const isFirst = this.#windows.length === 0
    this.#add(window)
    if (this.#meter.stopped) this.#release(window)
    else if (isFirst) this.#meter.begin(now)
  }

  #add(window: ChargedWindow): void {
    this.#windows = [...this.#windows, window]
    this.#req.throttle = this
  }

  /** Time in which another request blocks the event loop is shared out from now on. */
  shareStalls(stalls: StallSharing): void {
    if (this.#stalls !== undefined) return
    this.#stalls = stalls
    stalls.begins(this, nowUs(this.#meter.clock))
  }

  /** The request is charged to this window already, or to one that another store keeps as the same. */
  has(window: SharedWindow): boolean {
    return this.#windows.some((charged) => charged.window === window || isTwin(charged.window, window))
  }

  /** Leaves out, in every window, time that is not the user's: the request waited for the store, or for another's. */
  excuse(us: number): void {
    this.#meter.exclude(us)
    for (const { ticket, window } of this.#windows) if (ticket) window.excuse(ticket, us)
  }

  /** Gives back what is held in every window: the request waits for another. */
  giveBack(): void {
    for (const charged of this.#windows) {
      if (!this.#release(charged)) continue
      this.#givenBack = [...this.#givenBack, charged.admission]
    }
  }

  /** The windows in which the request held something before it waited. */
  get givenBack(): readonly WindowPlace[] {
    return this.#givenBack
  }

  /** Goes on with the tickets that were had again. Their time begins now, when the request goes on. */
  takeBack(tickets: ReadonlyMap<WindowPlace, Ticket>, now: number): void {
    for (const charged of this.#windows) {
      const ticket = tickets.get(charged.admission)
      if (ticket === undefined) continue
      charged.ticket = ticket
      charged.window.excuse(ticket, now - ticket.start)
      this.#emitCharged(charged, 0, -ticket.cost)
    }
    this.#givenBack = NONE
  }

  /** A window does not let the request in: see {@link refuse}. */
  refuseBy(window: ChargedWindow): number {
    this.#add(window)
    return this.refuse()
  }

  /** Gives back what was held: a refused request costs nothing. Returns in how many µs all spent windows are over. */
  refuse(): number {
    let longestUs = 0
    this.#isRefused = true
    for (const charged of this.#windows) {
      const { window, subjectWindow, limitUs } = charged
      this.#release(charged)
      const isSpent = subjectWindow.used(nowUs(this.#meter.clock)) > limitUs
      if (isSpent) longestUs = Math.max(longestUs, window.endsInUs(subjectWindow))
    }
    return longestUs
  }

  // --- MeterObserver

  paused(now: number): void {
    this.#stalls?.stops(this, now)
    for (const charged of this.#windows) this.#pause(charged, now)
  }

  resumed(now: number): void {
    if (this.#isRefused) return
    this.#stalls?.begins(this, now)
    for (const { window, ticket } of this.#windows) if (ticket) window.resume(ticket, now)
  }

  ended(now: number): void {
    this.#stalls?.stops(this, now)
    for (const charged of this.#windows) {
      this.#stop(charged, now)
      if (!this.#isWrittenOff) this.#learn(charged, now)
      charged.checkOrder?.()
    }
  }

  /** Nobody may ever see the handler end: it counts as running for as long as it was expected to take. */
  aborted(now: number): number {
    this.#isAborted = true
    this.#abort?.abort()
    let waitUs: number | undefined
    for (const { ticket, limitUs, tookUs } of this.#windows) {
      if (ticket === undefined) continue
      const expectedUs = Math.max(ticket.cost, Math.min(limitUs * UNSEEN_PART, UNSEEN_MOST_US))
      const soFarUs = tookUs + (ticket.isPaused ? 0 : now - ticket.start)
      waitUs = Math.max(waitUs ?? 0, expectedUs - soFarUs)
    }
    return waitUs ?? Infinity
  }

  writtenOff(): void {
    this.#isWrittenOff = true
  }

  late(us: number): void {
    if (this.#isRefused) return
    for (const charged of this.#windows) {
      charged.tookUs += us
      this.#charge(charged, us, 'request')
    }
  }

  finished(now: number): void {
    for (const charged of this.#windows) this.#learn(charged, now)
  }

  headers(res: HeaderFields, now: number): void {
    this.#stalls?.look(now)
    if (this.#windows.length === 0 || (this.#isRefused && res.statusCode !== 429)) return
    const least = this.#least(now)
    const { throttle = true, throttleOnRefusal = false } = least.headers
    if (this.#isRefused ? throttleOnRefusal : throttle) throttleFields(res, least.limitUs, shownUs(least, now))
    if (!this.#windows.some(statesRateLimit)) return
    const stated = this.#windows.filter(statesRateLimit)
    rateLimitFields(
      res,
      stated.map((charged) => useOf(charged, now)),
    )
  }

  // --- RequestBudget

  get subject(): string {
    return this.#least(nowUs(this.#meter.clock)).subject
  }

  get window(): string {
    return this.#least(nowUs(this.#meter.clock)).window.name
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
    const { window, subjectWindow } = this.#least(nowUs(this.#meter.clock))
    return window.endsInUs(subjectWindow) / 1_000
  }

  get signal(): AbortSignal {
    this.#meter.handlerSeen()
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#isAborted) this.#abort.abort()
    }
    return this.#abort.signal
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

  charge(ms: number): void {
    if (!(typeof ms === 'number' && ms >= 0 && ms <= MOST_CHARGE_MS)) {
      throw new RangeError(`charge(ms) takes a number from 0 to 86,400,000; received ${shown(ms)}`)
    }
    this.#meter.handlerSeen()
    for (const charged of this.#windows) this.#charge(charged, Math.round(ms * 1_000), 'charge')
  }

  #learn(charged: ChargedWindow, now: number): void {
    if (!this.#isRefused) charged.admission.learn(charged.subjectWindow, charged.tookUs, now)
  }

  /** True where something was held. */
  #release(charged: ChargedWindow): boolean {
    const { ticket, window } = charged
    if (ticket === undefined) return false
    window.release(ticket)
    charged.ticket = undefined
    this.#emitCharged(charged, 0, charged.heldUs)
    return true
  }

  #pause(charged: ChargedWindow, now: number): void {
    const { ticket, window } = charged
    if (ticket === undefined || ticket.isPaused) return
    const us = now - ticket.start
    charged.tookUs += us
    window.pause(ticket, now)
    this.#emitCharged(charged, us, Math.min(us, charged.heldUs))
  }

  #stop(charged: ChargedWindow, now: number): void {
    const { ticket, window } = charged
    if (ticket === undefined) return
    const us = ticket.isPaused ? 0 : now - ticket.start
    charged.ticket = undefined
    charged.tookUs += us
    window.settle(ticket, now)
    this.#emitCharged(charged, us, charged.heldUs)
  }

  #charge(charged: ChargedWindow, us: number, by: ChargedMessage['by']): void {
    charged.window.charge(charged.subjectWindow, us)
    this.#emitCharged(charged, us, 0, by)
  }

  #emitCharged(charged: ChargedWindow, us: number, holdUs: number, by: ChargedMessage['by'] = 'request'): void {
    charged.heldUs -= holdUs
    if (!channels.charged.hasSubscribers) return
    const { subject, window } = charged
    const message = { req: this.#req, subject, window: window.name, ms: us / 1_000, holdMs: holdUs / 1_000, by }
    channels.charged.publish(message satisfies ChargedMessage)
  }

  /** The window with the least time left. */
  #least(now: number): ChargedWindow {
    let [least] = this.#windows as [ChargedWindow, ...ChargedWindow[]]
    if (this.#windows.length === 1) return least
    for (const each of this.#windows) if (leftUs(each, now) < leftUs(least, now)) least = each
    return least
  }
}

function statesRateLimit({ headers }: ChargedWindow): boolean {
  return headers.rateLimit === true
}

function leftUs(charged: ChargedWindow, now: number): number {
  return charged.limitUs - usedUs(charged, now)
}

function usedUs({ window, subjectWindow }: ChargedWindow, now: number): number {
  return window.usedUs(subjectWindow, now)
}

function shownUs({ window, subjectWindow }: ChargedWindow, now: number): number {
  return window.shownUs(subjectWindow, now)
}

function useOf(charged: ChargedWindow, now: number): WindowUse {
  const { window, subjectWindow, limitUs } = charged
  const { name, windowMs } = window
  return { name, windowMs, limitUs, usedUs: shownUs(charged, now), endsInUs: window.endsInUs(subjectWindow) }
}
