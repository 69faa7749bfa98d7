import type { Clock } from '../http/clock'
import { warn } from '../http/warn-once'
import type { LoadShare } from './budget/hold'
import { type OverloadMessage, channels } from './events'
import { type OverloadRule, guardedOverload } from './options'

/** How far a process sheds load: both are 1 when all is well. */
export interface Shedding {
  /** A subject that has used more than this part of its limit is refused. */
  readonly share: number
  /** Of the other requests this part passes, at random. Less than 1 only where the share is at its least. */
  readonly admitted: number
}

const ALL_WELL: Shedding = { share: 1, admitted: 1 }
const [LEAST, FALL, RISE] = [0.02, 0.8, 1.1]
const STEP_MS = 250
/** At a time: a process that was stopped for minutes was not overloaded for as long. */
const MOST_STEPS = 4
const LOOK_MS = 25
/** The end is told after so many steps without overload. */
const CALM_STEPS = 40

/**
 * Whether a request is refused. The later this turn of the event loop is, the smaller is the share: at twice the capacity
 * each turn would take twice as long as the one before, and a step would come too late.
 *
 * @param usedPart of its subject's limit
 * @param lateness of this turn: 1 is overload
 * @param chance a random number from 0 to 1
 */
export function isShed(usedPart: number, { share, admitted }: Shedding, lateness: number, chance: number): boolean {
  return share < 1 && (usedPart > Math.max(LEAST, share / (1 + lateness)) || chance > admitted)
}

/**
 * What holds for the next step. Those who used most are the first to be refused, and the last to be let in again.
 *
 * @param load `eases`: it is overload, and what has piled up becomes less
 */
export function nextShedding(shedding: Shedding, load: 'over' | 'eases' | 'well'): Shedding {
  const { share, admitted } = shedding
  if (load === 'eases') return shedding
  if (load === 'well') return admitted < 1 ? { share, admitted: raised(admitted) } : { share: raised(share), admitted }
  return share > LEAST ? { share: lowered(share), admitted } : { share, admitted: lowered(admitted) }
}

const lowered = (part: number) => Math.max(LEAST, part * FALL)
const raised = (part: number) => Math.min(1, part * RISE)

/** Looks at the event loop of a process, and says which requests it sheds: one for all throttles that go by one clock. */
export class Overload implements LoadShare {
  static readonly #byClock = new WeakMap<Clock, Overload>()
  watched = 1
  #shedding = ALL_WELL
  #delayMs = 0
  #refused = 0
  /** What throttles call overload. */
  readonly #rules = new Set<{ readonly loopDelayMs: number; readonly isOverloaded: () => boolean }>()
  #cancel: (() => void) | undefined
  #lookedAt = 0
  /** Since the last step: how long it is ago, and the sum of all delays, each times how long it lasted. */
  #passedMs = 0
  #delays = 0
  #isTold = false
  #calmSteps = 0

  private constructor(private readonly clock: Clock) {}

  static of(clock: Clock): Overload {
    const known = this.#byClock.get(clock) ?? new Overload(clock)
    this.#byClock.set(clock, known)
    return known
  }

  /** What is shed now; undefined when all is well. */
  get message(): OverloadMessage | undefined {
    const { share } = this.#shedding
    return share < 1 ? { share, delayMs: this.#delayMs, refused: this.#refused } : undefined
  }

  /** Looks at the event loop from now on, for a throttle with these options. Returns what ends that. */
  join({ loopDelayMs, isOverloaded }: OverloadRule): () => void {
    const rule = { loopDelayMs, isOverloaded: guardedOverload(isOverloaded, this.clock) }
    this.#rules.add(rule)
    if (this.#cancel === undefined) this.#lookLater(this.clock.now())
    return () => {
      this.#rules.delete(rule)
      if (this.#rules.size > 0) return
      this.#cancel?.()
      this.#cancel = undefined
      this.#shed(ALL_WELL)
    }
  }

  refuses(usedPart: number, isNew: boolean): boolean {
    const lateMs = this.clock.now() - this.#lookedAt - LOOK_MS
    const lateness = lateMs / Math.min(...[...this.#rules].map(({ loopDelayMs }) => loopDelayMs))
    const isRefused = isShed(usedPart, this.#shedding, Math.max(0, lateness), isNew ? Math.random() : 0)
    if (isRefused) this.#refused++
    return isRefused
  }

  #lookLater(now: number): void {
    this.#lookedAt = now
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
    const steps = Math.min(MOST_STEPS, Math.floor(this.#passedMs / STEP_MS))
    const delayMs = this.#delays / this.#passedMs
    const isEasing = delayMs < this.#delayMs
    this.#delayMs = delayMs
    this.#passedMs = this.#delays = 0
    const isSaid = [...this.#rules].filter(({ isOverloaded }) => isOverloaded()).length > 0
    const isLate = [...this.#rules].some(({ loopDelayMs }) => delayMs > loopDelayMs)
    const load = isSaid || (isLate && !isEasing) ? 'over' : isLate ? 'eases' : 'well'
    const before = this.message
    for (let n = 0; n < steps; n++) this.#shed(nextShedding(this.#shedding, load))
    const message = this.message ?? { share: 1, delayMs, refused: this.#refused }
    if (before !== undefined || message.share < 1) channels.overload.publish(message)
    this.#calmSteps = message.share < 1 ? 0 : this.#calmSteps + 1
    this.#warn(message)
  }

  #shed(shedding: Shedding): void {
    const { share, admitted } = (this.#shedding = shedding)
    this.watched = admitted < 1 ? -Infinity : share < 1 ? LEAST : 1
  }

  /** Says when the first request is refused, and when the overload is over. */
  #warn({ delayMs, refused }: OverloadMessage): void {
    if (refused === 0 || (this.#isTold && this.#calmSteps < CALM_STEPS)) return
    this.#isTold = !this.#isTold
    if (!this.#isTold) this.#refused = 0
    const begins = `users who used most of their limits get 503; the event loop is ${Math.round(delayMs)} ms late`
    warn('TOLLGATE_OVERLOAD', this.#isTold ? `overload: ${begins}` : `overload is over: ${refused} requests refused`)
  }
}
