import type { Clock } from '../../http/clock'
import { warn } from '../../http/warn-once'
import { AskedWork } from './asked-work'
import type { LoadShedding } from '../budget/hold'
import { type OverloadMessage, channels } from '../events'
import { type OverloadRule, guardedOverload } from '../options'

/** The event loop is looked at this often, and the share changes this often. */
const [LOOK_MS, STEP_MS] = [25, 100]
/** The share is never less, so that some requests are answered always. */
const LEAST_SHARE = 0.02
/** One step: by a tenth for each `loopDelayMs` beyond the first, by 30 % at most; up by a tenth where there is no delay. */
const [PACE, MOST_FALL] = [0.1, 0.3]
/** An overload that the app tells of is as late as this many `loopDelayMs`. */
const TOLD_LATENESS = 2
/** The loop is idle after two steps in turn with a delay below this part of `loopDelayMs`. */
const [CALM, CALM_STEPS] = [0.1, 2]
/** How much less is let in during a turn that is late already. */
const LATE_TURN = 8
/** A request counts as this at least. */
const LEAST_US = 100
const REMEDY = 'The dashboard shows who uses most; find handlers that block the event loop, or add processes'
/** The end of an overload is told when the share has been 1 for this long. */
const OVER_MS = 10_000

/**
 * The part of all work that is let in during the next step.
 *
 * @param lateness how late the event loop is, in `loopDelayMs`: above 1 is overload
 * @param isEasing what has piled up becomes less
 */
export function nextShare(share: number, lateness: number, isEasing: boolean): number {
  if (lateness > 1 && isEasing) return share
  const change = Math.max(-MOST_FALL, PACE * (1 - lateness))
  return Math.min(1, Math.max(LEAST_SHARE, share * (1 + change)))
}

interface Rule {
  readonly loopDelayMs: number
  readonly isOverloaded: (() => boolean) | undefined
}

/**
 * Looks at the event loop of a process, and says which requests it sheds: one for all throttles that go by one clock.
 * While it is overloaded, each user may ask for the same amount of work: see {@link AskedWork.level}.
 */
export class Overload implements LoadShedding {
  static readonly #byClock = new WeakMap<Clock, Overload>()
  readonly #asked = new AskedWork()
  /** Requests that were judged: each once, also where several throttles see it. */
  readonly #seen = new WeakMap<object, { readonly isRefused: boolean; countedUs: number }>()
  #share = 1
  /** What each user may ask for, in µs; Infinity when all is well. */
  #levelUs = Infinity
  #delayMs = 0
  /** The app says that it is overloaded. */
  #isSaid = false
  #refused = 0
  /** What throttles call overload, and the shortest of their delays. */
  readonly #rules = new Set<Rule>()
  #loopDelayMs = Infinity
  #cancel: (() => void) | undefined
  #lookedAt = 0
  /** Since then: who was judged last and when; for how long each user's requests ran at once, and the most of that. In ms. */
  #judged = { subject: '', at: 0 }
  readonly #ranMs = new Map<string, number>()
  #mostMs = 0
  /** Since the last step: how long it is ago, and the sum of all delays, each times how long it lasted. */
  #passedMs = 0
  #delays = 0
  #calmSteps = 0
  /** When load was shed last, and whether that was told. */
  #shedAt = 0
  #isTold = false

  /** @param chance a random number from 0 to 1 */
  constructor(
    private readonly clock: Clock,
    private readonly chance: () => number = Math.random,
  ) {}

  static of(clock: Clock): Overload {
    const known = this.#byClock.get(clock) ?? new Overload(clock)
    this.#byClock.set(clock, known)
    return known
  }

  /** What is shed now; undefined when all is well. */
  get message(): OverloadMessage | undefined {
    return this.#share < 1 ? this.#message : undefined
  }

  get #message(): OverloadMessage {
    return { share: this.#share, delayMs: this.#delayMs, refusedRequests: this.#refused }
  }

  /** Looks at the event loop from now on, for a throttle with these options. Returns what ends that. */
  join({ loopDelayMs, isOverloaded }: OverloadRule): () => void {
    const rule = { loopDelayMs, isOverloaded: isOverloaded && guardedOverload(isOverloaded, this.clock) }
    this.#rules.add(rule)
    this.#loopDelayMs = Math.min(this.#loopDelayMs, loopDelayMs)
    if (this.#cancel === undefined) this.#lookLater(this.clock.now())
    return () => {
      this.#rules.delete(rule)
      this.#loopDelayMs = Math.min(...[...this.#rules].map(({ loopDelayMs }) => loopDelayMs))
      if (this.#rules.size > 0) return
      this.#cancel?.()
      this.#cancel = undefined
      this.#asked.clear()
      this.#shed(1)
    }
  }

  refuses(request: object, subject: string, priceUs: number): boolean {
    const known = this.#seen.get(request)
    if (known !== undefined) return known.isRefused
    const now = this.clock.now()
    const countedUs = Math.max(LEAST_US, priceUs)
    const askedUs = this.#asked.add(subject, countedUs, now)
    const isRefused = this.#share < 1 && this.chance() * askedUs > this.#levelAt(now, subject)
    this.#seen.set(request, { isRefused, countedUs })
    if (isRefused) this.#refused++
    return isRefused
  }

  took(request: object, subject: string, us: number): void {
    const seen = this.#seen.get(request)
    if (seen === undefined) return
    const tookUs = Math.max(LEAST_US, us)
    this.#asked.add(subject, tookUs - seen.countedUs, this.clock.now())
    seen.countedUs = tookUs
  }

  /**
   * At twice the capacity each turn would take twice as long as the one before, and the next step would come too late.
   * For what the one user who blocked this turn for longest has blocked, nobody else has less.
   */
  #levelAt(now: number, subject: string): number {
    const { subject: last, at } = this.#judged
    const ranMs = (this.#ranMs.get(last) ?? 0) + now - at
    this.#ranMs.set(last, ranMs)
    this.#mostMs = Math.max(this.#mostMs, ranMs)
    this.#judged = { subject, at: now }
    const lateMs = Math.max(0, now - this.#lookedAt - Math.max(LOOK_MS, this.#mostMs))
    return this.#levelUs / (1 + (LATE_TURN * lateMs) / this.#loopDelayMs)
  }

  #lookLater(now: number): void {
    this.#lookedAt = now
    this.#judged = { subject: '', at: now }
    this.#ranMs.clear()
    this.#mostMs = 0
    this.#cancel = this.clock.after(LOOK_MS, () => {
      const now = this.clock.now()
      const passedMs = now - this.#lookedAt
      this.#passedMs += passedMs
      this.#delays += passedMs * Math.max(0, passedMs - LOOK_MS)
      this.#lookLater(now)
      if (this.#passedMs >= STEP_MS) this.#step()
    })
  }

  #step(): void {
    const delayMs = this.#delays / this.#passedMs
    this.#passedMs = this.#delays = 0
    const signs = [...this.#rules].flatMap(({ isOverloaded }) => isOverloaded?.() ?? [])
    const isSaid = (this.#isSaid = signs.includes(true))
    const lateness = Math.max(isSaid ? TOLD_LATENESS : 0, delayMs / this.#loopDelayMs)
    const isEasing = !isSaid && delayMs < this.#delayMs
    this.#delayMs = delayMs
    this.#calmSteps = lateness < CALM && signs.length === 0 ? this.#calmSteps + 1 : 0
    const wasShedding = this.#share < 1
    this.#shed(this.#calmSteps >= CALM_STEPS ? 1 : nextShare(this.#share, lateness, isEasing))
    if (wasShedding || this.#share < 1) channels.overload.publish(this.#message)
    this.#warn()
  }

  #shed(share: number): void {
    const now = this.clock.now()
    this.#share = share
    this.#levelUs = share < 1 ? this.#asked.level(share, now) : Infinity
    if (share < 1) this.#shedAt = now
  }

  /** Says when the first request is refused, and when the overload is over. */
  #warn(): void {
    const refused = this.#refused
    if (refused === 0 || (this.#isTold && this.clock.now() - this.#shedAt < OVER_MS)) return
    this.#isTold = !this.#isTold
    if (!this.#isTold) this.#refused = 0
    const cause = this.#isSaid
      ? 'overload.isOverloaded() says so'
      : `the event loop is ${Math.round(this.#delayMs)} ms late`
    const begins = `overload: ${cause}, and users who ask for most get 503. ${REMEDY}`
    warn('TOLLGATE_OVERLOAD', this.#isTold ? begins : `overload is over: ${refused} requests refused`)
  }
}
