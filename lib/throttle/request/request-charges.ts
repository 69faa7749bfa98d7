import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import { nowUs } from '../../http/clock'
import type { Meter, MeterObserver } from '../../http/meter'
import { shown } from '../../http/options'
import { type ChargedMessage, channels } from '../diagnostics'
import { type Estimate, learn } from './estimates'
import { type ThrottleHeaders, type WindowUse, rateLimitFields, throttleFields } from './response-headers'
import type { SharedWindow } from '../sync/shared-window'
import { type SubjectWindow, type Ticket, used } from '../window/subject-window'
import { warnIfSignedIn } from '../warnings'

/** The longest charge in one call: a day. */
export const MOST_CHARGE_MS = 86_400_000

/** `req.throttle`: how the subject of this request stands in the window with the least time left. */
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
  /** Aborted when the client goes away before the response was ended. */
  readonly signal: AbortSignal
}

/** One window of a request. */
export interface Part {
  readonly subject: string
  /** Nobody said who pays: it was read from the session, or from its lack. */
  readonly assumed: boolean
  readonly window: SharedWindow
  readonly limitUs: number
  readonly estimate: Estimate
  readonly headers: ThrottleHeaders
  standing: SubjectWindow
  /** While the request is in flight; not while it waits for a slow reader. */
  ticket: Ticket | undefined
  tookUs: number
}

/** A request's way through its windows: it looks on as the meter runs, and is what the app sees as `req.throttle`. */
export class RequestCharges implements RequestBudget, MeterObserver {
  readonly #meter: Meter
  readonly #req: Request
  readonly #parts: Part[] = []
  #refused = false
  #abort: AbortController | undefined
  #aborted = false

  constructor(meter: Meter, req: Request) {
    this.#meter = meter
    this.#req = req
    meter.observe(this)
  }

  /** The request enters a window. Its processing time begins with the first. */
  enter(part: Part): void {
    if (this.#parts.length === 0) this.#meter.restart()
    this.#join(part)
  }

  /** From now on the app is shown how the request stands. */
  #join(part: Part): void {
    this.#parts.push(part)
    this.#req.throttle = this
  }

  has(window: SharedWindow): boolean {
    for (const part of this.#parts) if (part.window === window) return true
    return false
  }

  /** What was waited for the store is not the user's time, in none of the windows. */
  waited(us: number): void {
    this.#meter.exclude(us)
    for (const { ticket, window } of this.#parts) if (ticket) window.excuse(ticket, us)
  }

  /** A window does not let the request in: see {@link refuse}. */
  refuseBy(part: Part): number {
    this.#join(part)
    return this.refuse()
  }

  /** Gives back what was held: a refused request costs nothing. Returns when the windows that are spent will be over. */
  refuse(): number {
    let longestUs = 0
    this.#refused = true
    for (const part of this.#parts) {
      if (part.ticket) {
        part.window.release(part.ticket)
        this.#tellCharged(part, 0, part.ticket.cost, 'request')
      }
      part.ticket = undefined
      const now = nowUs(this.#meter.clock)
      if (used(part.standing, now) > part.limitUs) longestUs = Math.max(longestUs, part.window.endsInUs(part.standing))
    }
    return longestUs
  }

  // --- MeterObserver

  paused(now: number): void {
    for (const part of this.#parts) this.#stop(part, now)
  }

  resumed(): void {
    if (!this.#refused) for (const part of this.#parts) part.ticket = part.window.begin(part.standing)
  }

  ended(now: number): void {
    for (const part of this.#parts) {
      this.#stop(part, now)
      if (!this.#refused) learn(part.estimate, part.tookUs)
      if (part.assumed && part.subject.startsWith('address:')) warnIfSignedIn(this.#req)
    }
  }

  late(us: number): void {
    if (!this.#refused) for (const part of this.#parts) this.#charge(part, us, 'request')
  }

  aborted(): void {
    this.#aborted = true
    this.#abort?.abort()
  }

  headers(res: ServerResponse, now: number): void {
    if (this.#refused || this.#parts.length === 0) return
    const least = this.#least(now)
    if (least.headers.throttle !== false) throttleFields(res, least.limitUs, usedUs(least, now))
    if (!this.#parts.some(statesRateLimit)) return
    const stated = this.#parts.filter(statesRateLimit)
    rateLimitFields(
      res,
      stated.map((part) => useOf(part, now)),
    )
  }

  // --- ThrottleStanding

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
    const { window, standing } = this.#least(nowUs(this.#meter.clock))
    return window.endsInUs(standing) / 1_000
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController()
      if (this.#aborted) this.#abort.abort()
    }
    return this.#abort.signal
  }

  charge(ms: number): void {
    if (!(typeof ms === 'number' && ms >= 0 && ms <= MOST_CHARGE_MS)) {
      throw new RangeError(`charge(ms) takes a number from 0 to 86,400,000; received ${shown(ms)}`)
    }
    for (const part of this.#parts) this.#charge(part, Math.round(ms * 1_000), 'charge')
  }

  #stop(part: Part, now: number): void {
    const { ticket } = part
    if (ticket === undefined) return
    part.ticket = undefined
    const us = now - ticket.start
    part.tookUs += us
    part.window.settle(ticket, now)
    this.#tellCharged(part, us, ticket.cost, 'request')
  }

  #charge(part: Part, us: number, by: ChargedMessage['by']): void {
    part.window.charge(part.standing, us)
    this.#tellCharged(part, us, 0, by)
  }

  #tellCharged({ subject, window }: Part, us: number, holdUs: number, by: ChargedMessage['by']): void {
    if (!channels.charged.hasSubscribers) return
    const told = { req: this.#req, subject, window: window.name, ms: us / 1_000, holdMs: holdUs / 1_000, by }
    channels.charged.publish(told satisfies ChargedMessage)
  }

  /** The part with the least time left. */
  #least(now: number): Part {
    let [least] = this.#parts as [Part, ...Part[]]
    if (this.#parts.length === 1) return least
    for (const part of this.#parts) if (leftUs(part, now) < leftUs(least, now)) least = part
    return least
  }
}

function statesRateLimit({ headers }: Part): boolean {
  return headers.rateLimit === true
}

function leftUs(part: Part, now: number): number {
  return part.limitUs - usedUs(part, now)
}

function usedUs({ window, standing }: Part, now: number): number {
  return window.usedUs(standing, now)
}

function useOf(part: Part, now: number): WindowUse {
  const { window, standing, limitUs } = part
  const { name, windowMs } = window
  return { name, windowMs, limitUs, usedUs: usedUs(part, now), endsInUs: window.endsInUs(standing) }
}
