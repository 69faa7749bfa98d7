import type { ClientClock } from './clock'
import { type ToldWindow } from './response-fields'
import { ClientWindow } from './window'

/** Routes with a remembered cost. One more, and all are forgotten. */
const MOST_ROUTES = 1_000
/** Windows told apart by name; the one known longest makes room. */
const MOST_WINDOWS = 64
/** The weight of the last request in the moving averages. */
const WEIGHT = 0.2
/** What is left must suffice twice for everybody's requests. */
const MARGIN = 2

/** At or below this rate of other clients (ms of processing per ms), waiting for them to slow down frees no time. */
const FADED_RATE = 0.05
const LEAST_WAIT_MS = 5

/** A request that was let through: how it went is to be told to `Pacer.left()`. */
export interface Passage {
  readonly route: string
  readonly sentAt: number
}

/** What came of a request. */
export interface Outcome {
  /** `X-PROCESSING-TIME`. A service that measures its answers measures its refusals, too. */
  readonly tookMs: number | undefined
  readonly windows: readonly ToldWindow[]
  /** The request was refused with 429: this is its `Retry-After`. */
  readonly refusedForMs: number | undefined
}

interface Waiting {
  readonly route: string
  /** From then on it is sent even if no time is left. */
  readonly until: number
  readonly pass: (passage: Passage) => void
}

/** What requests by one method to one path cost, and which windows they are charged to. */
interface Route {
  costMs: number
  deviationMs: number
  /** From the request to its response's fields, less the processing time. */
  lagMs: number
  windows: readonly ClientWindow[]
}

/**
 * Sends requests in their order while processing time is left for them. The others wait for the window's end. A request
 * in flight counts as what its route took before. Time spent by other clients of the same subject shows in the figures
 * of responses. The less is left of the budget, the fewer requests are sent at once.
 */
export class Pacer {
  readonly #clock: ClientClock
  readonly #concurrency: number
  readonly #windows = new Map<string, ClientWindow>()
  readonly #routes = new Map<string, Route>()
  /** Routes that something beside the throttle refused, such as a counter, and when they may be asked again. */
  readonly #heldUntil = new Map<string, number>()
  readonly #flying = new Set<Passage>()
  readonly #queue = new Set<Waiting>()
  /** The windows of the last response; a route not known yet is taken to have the same. */
  #usual: readonly ClientWindow[] | undefined
  /** What all requests so far took. */
  #spentMs = 0
  #cancelTimer: (() => void) | undefined

  constructor(clock: ClientClock, concurrency: number) {
    this.#clock = clock
    this.#concurrency = concurrency
  }

  /**
   * Calls `pass` when the request may be sent, at once where it may.
   *
   * @param maxWaitMs longest wait. Then the request is sent as soon as fewer than `concurrency` are in flight: the
   *   service may refuse it
   * @returns what takes it out of the queue
   */
  enter(route: string, maxWaitMs: number, pass: (passage: Passage) => void): () => void {
    const waiting = { route, until: this.#clock.now() + maxWaitMs, pass }
    this.#queue.add(waiting)
    this.#pump()
    return () => {
      if (this.#queue.delete(waiting)) this.#pump()
    }
  }

  /** Nothing is in flight, and nothing waits. */
  get isIdle(): boolean {
    return this.#flying.size === 0 && this.#queue.size === 0
  }

  /** The request is over, or came to nothing where `outcome` is undefined. */
  left(passage: Passage, outcome: Outcome | undefined): void {
    const now = this.#clock.now()
    this.#flying.delete(passage)
    if (outcome !== undefined) this.#learn(passage, outcome, now)
    this.#pump()
  }

  #learn({ route: name, sentAt }: Passage, outcome: Outcome, now: number): void {
    const { tookMs, windows: told, refusedForMs } = outcome
    if (refusedForMs !== undefined) return this.#refused(name, outcome, refusedForMs, sentAt, now)
    const route = tookMs === undefined ? undefined : this.#price(name, tookMs, now - sentAt)
    const windows = this.#tell(told, sentAt, now)
    if (windows.length === 0 && this.#usual?.some(({ isTold }) => isTold)) return // such as a 401: it says nothing of them
    if (route !== undefined) route.windows = windows
    this.#usual = windows
  }

  /** Returns what the route costs, with the last request in it. */
  #price(name: string, tookMs: number, passedMs: number): Route {
    this.#spentMs += tookMs
    const lagMs = Math.max(0, passedMs - tookMs)
    let route = this.#routes.get(name)
    if (route === undefined) {
      if (this.#routes.size >= MOST_ROUTES) this.#routes.clear()
      route = { costMs: tookMs, deviationMs: tookMs / 2, lagMs, windows: [] }
      this.#routes.set(name, route)
    } else {
      route.deviationMs += WEIGHT * (Math.abs(tookMs - route.costMs) - route.deviationMs)
      route.costMs += WEIGHT * (tookMs - route.costMs)
      route.lagMs += WEIGHT * (lagMs - route.lagMs)
    }
    return route
  }

  #tell(told: readonly ToldWindow[], sentAt: number, now: number): ClientWindow[] {
    const ownMs = this.#spentMs + this.#flyingMs(now)
    return told.map((one) => {
      const window = this.#window(one.name)
      window.tell(one, sentAt, now, ownMs)
      return window
    })
  }

  /** A refusal by the throttle holds its windows; one by something else, such as a counter, holds its route. */
  #refused(name: string, { tookMs, windows }: Outcome, forMs: number, sentAt: number, now: number): void {
    const until = now + forMs
    this.#tell(windows, sentAt, now)
    const known = this.#windowsOf(name)
    const isMeasured = tookMs !== undefined || this.#routes.size === 0
    let spent: ClientWindow[] = []
    if (windows.length > 0) spent = windows.filter(({ leftMs }) => leftMs <= 0).map((one) => this.#window(one.name))
    else if (isMeasured) spent = known?.length ? [...known] : [this.#window('')]
    for (const window of spent) window.exhaust(until, now)
    if (spent.length > 0) {
      if (!this.#usual?.length) this.#usual = spent
      return
    }
    if (this.#heldUntil.size >= MOST_ROUTES) this.#heldUntil.clear()
    this.#heldUntil.set(name, until)
  }

  #window(name: string): ClientWindow {
    const known = this.#windows.get(name)
    if (known !== undefined) return known
    if (this.#windows.size >= MOST_WINDOWS) this.#windows.delete(this.#windows.keys().next().value as string)
    const window = new ClientWindow()
    this.#windows.set(name, window)
    return window
  }

  #windowsOf(route: string): readonly ClientWindow[] | undefined {
    return this.#routes.get(route)?.windows ?? this.#usual
  }

  /** What requests in flight are taken to have spent until now. */
  #flyingMs(now: number): number {
    let ms = 0
    for (const { sentAt } of this.#flying) ms += now - sentAt
    return ms
  }

  /** Sends what may be sent, and sets a timer for the rest. */
  #pump(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const now = this.#clock.now()
    let againMs = Infinity
    /** Windows that an earlier request waits for. Later ones wait, too: many small ones would never leave room. */
    const shut = new Set<ClientWindow>()
    for (const waiting of this.#queue) {
      if (this.#flying.size >= this.#concurrency) return
      const waitMs = this.#waitMs(waiting, shut, now)
      if (waitMs > 0) {
        againMs = Math.min(againMs, waitMs)
        continue
      }
      this.#queue.delete(waiting)
      const passage = { route: waiting.route, sentAt: now }
      this.#flying.add(passage)
      waiting.pass(passage)
    }
    if (againMs < Infinity) this.#cancelTimer = this.#clock.after(againMs, () => this.#pump())
  }

  /**
   * How long to wait before this request is looked at again; 0: it may be sent.
   *
   * @param shut windows that others wait for; those that this one waits for are added
   */
  #waitMs({ route: name, until }: Waiting, shut: Set<ClientWindow>, now: number): number {
    const mostMs = Math.max(0, until - now)
    const heldMs = this.#heldMs(name, now)
    if (heldMs > 0) return heldMs > mostMs ? 0 : heldMs // a longer wait is not begun
    const windows = this.#windowsOf(name)
    const isAlone = this.#flying.size === 0
    const isKnown = windows?.every((window) => window.isTold || window.leftMs(now) <= 0)
    if (windows === undefined || !isKnown) return isAlone ? 0 : mostMs // the first finds out
    const route = this.#routes.get(name)
    const { costMs, lagMs } = route ? { costMs: route.costMs + 2 * route.deviationMs, lagMs: route.lagMs } : this.#any()
    let waitMs = 0
    for (const window of windows) {
      const leftMs = window.leftMs(now)
      const othersRate = window.othersRate(now)
      const everybody = this.#flying.size + 1 + othersRate
      const isRoom = isAlone && !window.shared ? leftMs > 0 : leftMs >= MARGIN * everybody * (costMs + lagMs)
      if (shut.has(window)) {
        waitMs = Infinity
        continue
      }
      if (isRoom || (isAlone && window.isFresh(now))) continue // the service lets one in, whatever it takes
      const endsInMs = (window.endsBy ?? Infinity) - now
      if (endsInMs > mostMs && isAlone) continue // the service is to say no, and when
      const othersSlowDown = leftMs > 0 && othersRate > FADED_RATE
      const againMs = Math.max(LEAST_WAIT_MS, costMs + lagMs) * (0.5 + Math.random())
      waitMs = Math.max(waitMs, othersSlowDown ? Math.min(endsInMs, againMs) : endsInMs)
      shut.add(window)
    }
    return Math.min(waitMs, mostMs)
  }

  #heldMs(name: string, now: number): number {
    const until = this.#heldUntil.get(name)
    if (until === undefined || until > now) return (until ?? now) - now
    this.#heldUntil.delete(name)
    return 0
  }

  /** Expected cost of a request to an unknown route: the highest cost of all known routes. */
  #any(): { costMs: number; lagMs: number } {
    let [costMs, lagMs] = [0, 0]
    for (const route of this.#routes.values()) {
      costMs = Math.max(costMs, route.costMs)
      lagMs = Math.max(lagMs, route.lagMs)
    }
    return { costMs, lagMs }
  }
}
