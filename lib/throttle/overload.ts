import type { Clock } from '../http/clock'
import { warn } from '../http/warn-once'
import type { LoadShare } from './budget/hold'
import { type OverloadMessage, channels } from './events'
import { type OverloadOptions, overloadAnswer } from './options'

/** How far a process sheds load: both are 1 when all is well. */
export interface Shedding {
  /** A subject that has used more than this part of its limit is refused. */
  readonly share: number
  /** Of the other requests this part passes, at random. Less than 1 only where the share is at its least. */
  readonly admitted: number
}

const ALL_WELL: Shedding = { share: 1, admitted: 1 }
const LEAST = 0.02
const FALL = 0.8
const RISE = 0.05
const STEP_MS = 250
/** A process that was stopped for minutes was not overloaded for as long. */
const MOST_STEPS = 4
/** How often the event loop is looked at. */
const LOOK_MS = 25
/** The end is told after so many steps without overload: 10 s. */
const CALM_STEPS = 40
const WARNED_EVERY_MS = 60_000

/**
 * Whether a request is refused.
 *
 * @param usedPart of its subject's limit
 * @param chance a random number from 0 to 1
 */
export function isShed(usedPart: number, { share, admitted }: Shedding, chance: number): boolean {
  return usedPart > share || chance > admitted
}

/** What holds for the next step. Those who used most are the first to be refused, and the last to be let in again. */
export function nextShedding({ share, admitted }: Shedding, isOverloaded: boolean): Shedding {
  if (!isOverloaded) return admitted < 1 ? { share, admitted: raised(admitted) } : { share: raised(share), admitted }
  return share > LEAST ? { share: lowered(share), admitted } : { share, admitted: lowered(admitted) }
}

const lowered = (part: number) => Math.max(LEAST, part * FALL)
const raised = (part: number) => Math.min(1, part + RISE)

/** What one throttle calls overload, and when its callback was last warned of. */
interface Rule extends OverloadOptions {
  warnedAt: number
}

/** Looks at the event loop of a process, and says which requests it sheds: one for all throttles that go by one clock. */
export class Overload implements LoadShare {
  static readonly #byClock = new WeakMap<Clock, Overload>()
  watched = 1
  /** The event loop's mean delay in the last step, as requests that come at any time meet it. */
  delayMs = 0
  /** Requests refused since the overload began, those of a dry run included. */
  refused = 0
  #shedding = ALL_WELL
  readonly #clock: Clock
  readonly #rules = new Set<Rule>()
  #cancel: (() => void) | undefined
  #lookedAt = 0
  /** Since the last step: how long it is ago, and the sum of all delays, each times how long it lasted. */
  #passedMs = 0
  #delays = 0
  #isTold = false
  #calmSteps = 0

  private constructor(clock: Clock) {
    this.#clock = clock
  }

  static of(clock: Clock): Overload {
    const known = this.#byClock.get(clock) ?? new Overload(clock)
    this.#byClock.set(clock, known)
    return known
  }

  /** What is shed now; undefined when all is well. */
  get message(): OverloadMessage | undefined {
    const { delayMs, refused } = this
    const { share } = this.#shedding
    return share < 1 ? { share, delayMs, refused } : undefined
  }

  /** Looks at the event loop from now on, for a throttle with these options. Returns what ends that. */
  join(options: OverloadOptions): () => void {
    const rule = { ...options, warnedAt: -Infinity }
    this.#rules.add(rule)
    if (this.#cancel === undefined) this.#lookLater(this.#clock.now())
    return () => {
      this.#rules.delete(rule)
      if (this.#rules.size > 0) return
      this.#cancel?.()
      this.#cancel = undefined
      this.#shed(ALL_WELL)
    }
  }

  refuses(usedPart: number, isNew: boolean): boolean {
    const isRefused = isShed(usedPart, this.#shedding, isNew ? Math.random() : 0)
    if (isRefused) this.refused++
    return isRefused
  }

  #lookLater(now: number): void {
    this.#lookedAt = now
    this.#cancel = this.#clock.after(LOOK_MS, () => {
      const now = this.#clock.now()
      const passedMs = now - this.#lookedAt
      this.#passedMs += passedMs
      this.#delays += passedMs * Math.max(0, passedMs - LOOK_MS)
      this.#lookLater(now)
      if (this.#passedMs >= STEP_MS) this.#step(now)
    })
  }

  #step(now: number): void {
    const steps = Math.min(MOST_STEPS, Math.floor(this.#passedMs / STEP_MS))
    this.delayMs = this.#delays / this.#passedMs
    this.#passedMs = this.#delays = 0
    const isOverloaded = [...this.#rules].filter((rule) => this.#isOverloaded(rule, now)).length > 0
    const wasWell = this.message === undefined
    for (let n = 0; n < steps; n++) this.#shed(nextShedding(this.#shedding, isOverloaded))
    this.#tell(wasWell && this.message === undefined)
  }

  #shed(shedding: Shedding): void {
    this.#shedding = shedding
    this.watched = shedding.admitted < 1 ? -Infinity : shedding.share
  }

  #isOverloaded(rule: Rule, now: number): boolean {
    const { loopDelayMs = 100, isOverloaded } = rule
    const answer = isOverloaded === undefined ? false : overloadAnswer(isOverloaded)
    if (typeof answer === 'boolean') return answer || this.delayMs > loopDelayMs
    if (now - rule.warnedAt >= WARNED_EVERY_MS) {
      rule.warnedAt = now
      warn('TOLLGATE_OVERLOAD_CALLBACK', answer)
    }
    return this.delayMs > loopDelayMs
  }

  #tell(isWell: boolean): void {
    const { delayMs, refused } = this
    const { share } = this.#shedding
    if (!isWell) channels.overload.publish({ share, delayMs, refused } satisfies OverloadMessage)
    this.#calmSteps = isWell ? this.#calmSteps + 1 : 0
    if (refused === 0 || (this.#isTold && this.#calmSteps < CALM_STEPS)) return
    if (this.#isTold) this.refused = 0
    this.#isTold = !this.#isTold
    const begins = `the process is overloaded, with an event loop delay of ${Math.round(delayMs)} ms: requests of those who used most of their limits get 503`
    warn('TOLLGATE_OVERLOAD', this.#isTold ? begins : `the overload is over: ${refused} requests were refused`)
  }
}
