import type { AnswerFigures, Report } from './report'

/** Strain falls to half in eight windows. */
const STRAIN_KEPT = 2 ** (-1 / 8)
/** Strain is counted in hundredths of a limit. This is none. */
export const NO_STRAIN = 100
/** Strain below this ends with its window. */
const STRAIN_FORGOTTEN = 105
/** Largest number of windows in which strain and debt of an earlier window count. */
const MOST_WINDOWS = 32
/** Strain and debt are kept for a week at most. Microseconds. */
const MOST_US = 7 * 86_400_000_000

/** Totals of a window over all processes. Whole microseconds unless stated otherwise. */
export interface WindowTotals {
  readonly usedUs: number
  /** Counts beside it, though nobody saw it: a part of a limit for each request that was written off. May be negative. */
  readonly unseenUs: number
  /** Part of it that earlier windows left. */
  readonly carriedUs: number
  /** Hundredths of a limit, at least 100. */
  readonly strain: number
  /** The highest limit that a request was admitted under; 0 where none was. */
  readonly limitUs: number
}

/**
 * Strain of the window that opens next, by the overshoot of earlier ones. A strain of 300 leaves a subject a third of its
 * places.
 *
 * @param missed windows that passed since without the subject
 * @returns whole hundredths of a limit, at least 100
 */
export function strainAfter(totals: WindowTotals, missed: number): number {
  return Math.max(NO_STRAIN, Math.floor(nextStrain(totals) * STRAIN_KEPT ** missed + 0.5))
}

function nextStrain({ usedUs, unseenUs, carriedUs, strain, limitUs }: WindowTotals): number {
  const workUs = usedUs + unseenUs - carriedUs
  return Math.max(strain * STRAIN_KEPT, limitUs > 0 ? (100 * workUs) / limitUs : 0)
}

/** Time used beyond the limit, with `carryOvershoot` the next window's first use. Each window pays for a limit of it. */
export function debtAfter({ usedUs, unseenUs, limitUs }: WindowTotals, missed: number): number {
  return limitUs > 0 ? Math.max(0, usedUs + unseenUs - limitUs * (missed + 1)) : 0
}

/**
 * How long an account is kept after its window's end, for strain, a debt or running requests. Microseconds.
 *
 * @param runsUntil when the last running request should have ended, on the clock of `ends`
 */
export function keptAfter(
  totals: WindowTotals,
  ends: number,
  windowUs: number,
  carryOvershoot: boolean,
  runsUntil: number,
): number {
  const { usedUs, unseenUs, limitUs } = totals
  const strain = nextStrain(totals)
  let windows = Math.ceil((runsUntil - ends) / windowUs)
  if (strain > STRAIN_FORGOTTEN) windows = Math.max(windows, Math.ceil(8 * Math.log2(strain / STRAIN_FORGOTTEN)))
  if (carryOvershoot && limitUs > 0) windows = Math.max(windows, Math.ceil((usedUs + unseenUs) / limitUs) - 1)
  return Math.min(Math.max(0, Math.min(windows, MOST_WINDOWS)) * windowUs, MOST_US)
}

/**
 * Whether a limit is used up: a request starts while less than its limit is used. sync.lua has the same rule. Displays
 * round the rest up.
 */
export function isSpent(limit: number, used: number): boolean {
  return used >= limit
}

/** A subject's requests that run at once on a fresh budget, where the policy states no `concurrency`. */
export const PLACES = 32

/** Whether 32 parallel requests cannot use up the limit. Such a limit counts as Infinity and has no overshoot. */
export function isUnlimited(limitUs: number, windowUs: number): boolean {
  return limitUs >= PLACES * windowUs
}

/** What a request's policy grants its subject. */
export interface Terms {
  readonly limitUs: number
  /** Requests of the subject that run at once, over all processes. */
  readonly concurrency: number
}

/** Part of a limit that a written-off request counts towards strain. */
const WRITTEN_OFF = 1 / 4
/** Longest time before the first write-off of a request whose client has left, on a route without history. */
const UNSEEN_MOST_US = 3_000_000

/** What a request that is written off counts towards strain. Microseconds. */
export function unseenOf(limitUs: number): number {
  return Math.round(limitUs * WRITTEN_OFF)
}

/**
 * How long a request whose client has gone counts before it is written off, and so what it pays. On a route that is known
 * it is what the route's requests take, for as many requests of a window as there are places, and fewer after overshoot.
 * For others it is a part of the limit that grows with the strain, their own included.
 *
 * @param knownUs what requests of the route take; undefined where none has ended
 * @param unseenUs what requests that were written off count so far, over all processes
 * @param workUs time of the window's requests, `unseenUs` included
 */
export function writtenOffAfterUs(
  limitUs: number,
  knownUs: number | undefined,
  strain: number,
  unseenUs: number,
  workUs: number,
): number {
  const isFew = unseenUs + unseenOf(limitUs) <= unseenOf(limitUs) * PLACES * (NO_STRAIN / strain) ** 3
  if (isFew && knownUs !== undefined) return knownUs
  const overshoot = isFew ? strain / NO_STRAIN : Math.max(strain / NO_STRAIN, workUs / limitUs)
  return Math.max(knownUs ?? 0, Math.min((limitUs / PLACES) * overshoot, UNSEEN_MOST_US))
}

/**
 * How many requests of a subject may run at once: its `concurrency`, and fewer where little of the limit is left. Each
 * request that was written off in the window takes a place, since it may work on. The same rule is in sync.lua.
 */
export function placesOf({ limitUs, concurrency }: Terms, usedUs: number, unseenUs: number, strain: number): number {
  const goneUs = Math.max(0, unseenUs) / (WRITTEN_OFF * PLACES)
  const byLimit = limitUs > 0 ? (Math.max(concurrency, PLACES) * (limitUs - usedUs - goneUs)) / limitUs : 0
  return (Math.min(concurrency, byLimit) * NO_STRAIN) / strain
}

/** What earlier windows of a subject left to the present one. */
export class Past {
  /** The subject's overshoot in earlier windows, in hundredths of a limit: it divides the number of places. */
  strain = NO_STRAIN
  /** Overshoot of the last window that counts in this one. */
  carriedUs = 0
  /** The highest limit of requests that ran in this window, or left strain or a debt. */
  highestLimitUs = 0
  /** The store lacked reports of this process when the last window ended, so it may know less strain and debt. */
  #hasNews = false
  /** Strain and debt were reset here, and not yet in the store. */
  #isCleared = false

  get isNone(): boolean {
    return this.strain === NO_STRAIN && this.carriedUs === 0
  }

  /** The value in a report. */
  get status(): Report['past'] {
    return this.#isCleared ? 'cleared' : this.#hasNews ? 'news' : 'known'
  }

  /** A request was let in under this limit. */
  ranUnder(limitUs: number): void {
    this.highestLimitUs = Math.max(this.highestLimitUs, limitUs)
  }

  /** A window with these totals is over. @param isUntold the store may lack some of what this process used in it */
  roll(totals: WindowTotals, missed: number, carryOvershoot: boolean, isUntold: boolean): void {
    this.strain = strainAfter(totals, missed)
    this.carriedUs = carryOvershoot ? debtAfter(totals, missed) : 0
    this.#hasNews = !this.isNone && (this.#hasNews || isUntold)
    if (this.isNone) this.highestLimitUs = 0
  }

  reset(): void {
    this.carriedUs = 0
    this.strain = NO_STRAIN
    this.#isCleared = true
    this.#hasNews = false
  }

  /** The store has answered a report. */
  hear({ past }: Report, figures: AnswerFigures): void {
    this.#hasNews = false
    if (past === 'cleared') this.#isCleared = false
    if (this.#isCleared) return
    this.strain = figures.strain
    this.carriedUs = figures.carried
  }
}
